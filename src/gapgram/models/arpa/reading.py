"""ARPA files of any toolkit, read into a backoff model.

What is read: `\\data\\` with the number of grams of each length, a section for each length with lines of
log10 probability, words, and perhaps log10 backoff, and `\\end\\`; gzip, bzip2, xz or zstd too. Where the
file has no `<unk>`, unknown words get log10 probability -100, as KenLM gives them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from gapgram.arrays import Floats, Integers
from gapgram.errors import ModelFileError, ModelNotFoundError, TextError
from gapgram.kernels import backoff as kernels
from gapgram.kernels.special_words import SPECIAL, START
from gapgram.models.backoff import NEVER, BackoffModel, Grams
from gapgram.system.progress import progress_bar
from gapgram.text.files import display_name, read_blocks
from gapgram.text.vocabulary import Vocabulary

MISSING_UNKNOWN = -100.0


def read_arpa(path: str | Path, *, progress: bool = False) -> BackoffModel:
    """Read an ARPA file.

    >>> import tempfile
    >>> text = "\\\\data\\\\\\nngram 1=3\\n\\n\\\\1-grams:\\n-0.5\\ta\\n-0.5\\t</s>\\n-99\\t<s>\\n\\n\\\\end\\\\\\n"
    >>> with tempfile.NamedTemporaryFile(suffix=".arpa") as file:
    ...     _ = Path(file.name).write_text(text)
    ...     model = read_arpa(file.name)
    >>> model.score("a a")
    -1.5
    """
    reader = _ArpaReader(path, progress)
    sizes = reader.header()
    words, probs, backoffs = reader.unigrams(sizes[0])
    ids = {word: i for i, word in enumerate(words)}
    grams = Grams(np.array([0, len(words)]), np.arange(len(words)), np.zeros(0, np.int64), probs, backoffs)
    for length, size in enumerate(sizes[1:], 2):
        grams = _with_longer(grams, *reader.section(length, size, ids), reader)
    reader.end()
    grams = _closed(grams)
    source = f"order:{grams.order}|model:arpa|grams:{','.join(map(str, grams.sizes()))}|log:10|file:{Path(path).name}"
    return BackoffModel(Vocabulary.of(words[len(SPECIAL) :]), grams, source, Path(path).resolve())


class _ArpaReader:
    """The lines of an ARPA file, section by section; each mistake is named with its line."""

    def __init__(self, path: str | Path, progress: bool) -> None:
        self.name, self.number = display_name(path), 0
        self._lines = self._read(path, progress)

    def _read(self, path: str | Path, progress: bool) -> Iterator[bytes]:
        try:
            with progress_bar("reading", unit="B", progress=progress) as advance:
                for block in read_blocks(path, advance):
                    yield from block.data.split(b"\n")[:-1]
        except FileNotFoundError as error:
            raise ModelNotFoundError(str(error)) from None
        except TextError as error:
            raise ModelFileError(str(error)) from None

    def _next(self) -> bytes:
        """The next line that is not empty."""
        for line in self._lines:
            self.number += 1
            line = line.strip(b" \t\r")
            if line:
                return line
        raise ModelFileError(f"{self.name}: ends after {self.number} lines without \\end\\: copy it again")

    def fault(self, what: str) -> ModelFileError:
        """An error about the line that was read last."""
        return ModelFileError(f"{self.name}:{self.number}: {what}")

    def header(self) -> list[int]:
        """The number of grams of each length; leaves the line of the first section read."""
        self._skip_introduction()
        sizes: list[int] = []
        while (line := self._next()) != b"\\1-grams:":
            found = re.fullmatch(rb"ngram\s+(\d+)\s*=\s*(\d+)", line)
            if not found or int(found[1]) != len(sizes) + 1:
                raise self.fault(f"expected 'ngram {len(sizes) + 1}=…' or \\1-grams:, found {_shown(line)}")
            sizes.append(int(found[2]))
        if not sizes:
            raise self.fault("the header names no number of grams")
        return sizes

    def _skip_introduction(self) -> None:
        """Some toolkits write about themselves before the data begins."""
        for line in self._lines:
            self.number += 1
            if line.strip().lower() == b"\\data\\":
                return
        raise ModelFileError(f"{self.name}: not an ARPA file: it has no line \\data\\")

    def _expect(self, wanted: bytes, otherwise: str) -> None:
        if self._next().lower() != wanted:
            raise self.fault(otherwise)

    def end(self) -> None:
        """The last line."""
        self._expect(b"\\end\\", "expected \\end\\ here: more grams than the header says?")

    def entries(self, length: int, size: int) -> Iterator[tuple[float, list[bytes], float]]:
        """(log10 probability, words, log10 backoff) of the grams of a section."""
        for _ in range(size):
            fields = self._next().split()
            if len(fields) not in (length + 1, length + 2):
                wanted = f"a log10 probability, {length} words and perhaps a backoff"
                raise self.fault(f"expected {wanted}, found {_shown(b' '.join(fields))}")
            try:
                backoff = float(fields[-1]) if len(fields) == length + 2 else 0.0
                yield float(fields[0]), fields[1 : length + 1], backoff
            except ValueError:
                raise self.fault(f"a figure is no number in {_shown(b' '.join(fields))}") from None

    def unigrams(self, size: int) -> tuple[list[bytes], Floats, Floats]:
        """The words, the special ones first, with their figures."""
        found = {w: (NEVER if w == START.encode() else MISSING_UNKNOWN, 0.0) for w in (s.encode() for s in SPECIAL)}
        met: set[bytes] = set()
        for prob, (word,), backoff in self.entries(1, size):
            word = _standard(word)
            if word in met:
                raise self.fault(f"the word {_shown(word)} has two lines among the 1-grams")
            met.add(word)
            found[word] = (prob, backoff)
        figures = np.array(list(found.values()))
        return list(found), figures[:, 0].copy(), figures[:, 1].copy()

    def section(self, length: int, size: int, ids: dict[bytes, int]) -> tuple[Integers, Floats, Floats]:
        """(word ids, log10 probabilities, log10 backoffs) of all grams of a length."""
        title = f"\\{length}-grams:"
        self._expect(title.encode(), f"expected {title} here: more grams than the header says?")
        grams = np.empty((size, length), np.int64)
        probs, backoffs = np.empty(size), np.empty(size)
        for i, (prob, words, backoff) in enumerate(self.entries(length, size)):
            try:
                grams[i] = [ids[word] for word in words]
            except KeyError:
                grams[i] = [self._id(word, ids) for word in words]
            probs[i], backoffs[i] = prob, backoff
        return grams, probs, backoffs

    def _id(self, word: bytes, ids: dict[bytes, int]) -> int:
        if _standard(word) not in ids:
            raise self.fault(f"the word {_shown(word)} is not among the 1-grams")
        return ids[_standard(word)]


def _standard(word: bytes) -> bytes:
    """Some toolkits write <UNK>, <S> and </S>."""
    return word.lower() if word in (b"<UNK>", b"<S>", b"</S>") else word


def _shown(line: bytes) -> str:
    return repr(line[:60].decode("utf-8", "replace"))


def _with_longer(grams: Grams, ids: Integers, probs: Floats, backoffs: Floats, reader: _ArpaReader) -> Grams:
    """The grams with those of the next length; sorts them under the grams that they extend."""
    first, n = grams.base[-2], len(grams.words)
    parents = kernels.parents_of(ids, grams.words, grams.children)
    if parents.size and parents.min() < 0:
        raise reader.fault(f"a {ids.shape[1]}-gram before this line has a context that is not there as a gram")
    order = np.lexsort((ids[:, -1], parents))
    begins = np.searchsorted(parents[order], np.arange(first, n)) + n
    return Grams(
        np.append(grams.base, n + len(ids)),
        np.concatenate([grams.words, ids[order, -1]]),
        np.concatenate([grams.children[:first], begins, [n + len(ids)]]),
        np.concatenate([grams.log10_probs, probs[order]]),
        np.concatenate([grams.log10_backoffs, backoffs[order]]),
    )


def _closed(grams: Grams) -> Grams:
    """The grams with children for the longest, which have none."""
    missing = len(grams.words) + 1 - len(grams.children)
    children = np.concatenate([grams.children, np.full(missing, len(grams.words))])
    return Grams(grams.base, grams.words, children, grams.log10_probs, grams.log10_backoffs)
