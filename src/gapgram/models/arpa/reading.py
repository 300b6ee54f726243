"""ARPA files of any toolkit, read into a backoff model.

What is read: `\\data\\` with the number of grams of each length, a section for each length with lines of
log10 probability, words, and perhaps log10 backoff, and `\\end\\`; gzip, bzip2, xz or zstd too. Where the
file has no `<unk>`, unknown words get log10 probability -100, as KenLM gives them. Words are split where KenLM splits
them; of two lines with one word the first counts; figures that KenLM refuses are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import TypeAlias

import numpy as np

from gapgram.arrays import Floats, Integers
from gapgram.errors import ModelFileError, ModelNotFoundError, TextError
from gapgram.kernels.text.special_words import SPECIAL, START
from gapgram.models.backoff import BackoffModel
from gapgram.models.grams import NEVER, closed, single_words, warn_of_sums, with_ends, with_longer
from gapgram.sections import MOST_LOG10
from gapgram.system.progress import progress_bar
from gapgram.text.files import display_name, read_blocks
from gapgram.text.vocabulary import Vocabulary

MISSING_UNKNOWN = -100.0
MOST_LENGTHS = 100  # of grams, the longest being of so many words
_ROOM = 1 << 12  # grams that are read at once: the header may name any number
_FIELDS = re.compile(rb"[^\0\t\r ]+")
_CAPITALS = {word.upper().encode(): word.encode() for word in SPECIAL}  # as some toolkits write the special words
_OTHER_FIGURES = (b"iarpa", b"qarpa")  # headers of IRSTLM
Entries: TypeAlias = tuple[Integers, Floats, Floats]  # word ids, log10 probabilities, log10 backoffs


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
    ids, probs, backoffs = reader.unigrams(sizes[0])
    words = list(ids)[: len(probs)]
    grams = single_words(probs, backoffs)
    for length, size in enumerate(sizes[1:], 2):
        longer = with_longer(grams, *reader.section(length, size, ids))
        if longer is None:
            raise reader.fault(f"a {length}-gram before this line has a context that is not there as a gram")
        grams = longer
    reader.end()
    grams = closed(with_ends(grams))
    source = f"order:{grams.order}|model:arpa|grams:{','.join(map(str, grams.sizes()))}|log:10|file:{Path(path).name}"
    vocabulary = Vocabulary.of(words[len(SPECIAL) :])
    warn_of_sums(grams, vocabulary, reader.name)
    return BackoffModel(vocabulary, grams, source, Path(path).resolve())


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
            match = re.fullmatch(rb"ngram\s+(\d{1,18})\s*=\s*(\d{1,18})", line)
            if not match or int(match[1]) != len(sizes) + 1 or len(sizes) >= MOST_LENGTHS:
                raise self.fault(f"expected 'ngram {len(sizes) + 1}=…' or \\1-grams:, found {_shown(line)}")
            sizes.append(int(match[2]))
        if not sizes:
            raise self.fault("the header names no number of grams")
        return sizes

    def _skip_introduction(self) -> None:
        """Some toolkits write about themselves before the data begins."""
        for line in self._lines:
            self.number += 1
            title = line.strip().lower()
            if title == b"\\data\\":
                return
            if title.startswith(_OTHER_FIGURES):
                what = f"{_shown(line.strip())}: IRSTLM's own kind of file, whose figures have another meaning"
                raise self.fault(f"{what}; write an ARPA file with its compile-lm --text=yes")
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
            line = self._next()
            fields = _FIELDS.findall(line) if _has_odd_spaces(line) else line.split()
            if len(fields) not in (length + 1, length + 2):
                wanted = f"a log10 probability, {length} words and perhaps a backoff"
                raise self.fault(f"expected {wanted}, found {_shown(b' '.join(fields))}")
            backoff = self._figure(fields[-1], fields) if len(fields) == length + 2 else 0.0
            prob = self._figure(fields[0], fields)
            if not prob <= 0.0:
                raise self.fault(f"log10 of a probability is at most 0, found {_shown(fields[0])}")
            if not -MOST_LOG10 <= backoff <= MOST_LOG10:
                raise self.fault(f"a backoff is a number, found {_shown(fields[-1])}")
            yield max(prob, -MOST_LOG10), fields[1 : length + 1], backoff

    def _figure(self, field: bytes, fields: list[bytes]) -> float:
        try:
            if b"_" not in field:  # which Python allows in numbers
                return float(field)
        except ValueError:
            pass
        raise self.fault(f"a figure is no number in {_shown(b' '.join(fields))}")

    def unigrams(self, size: int) -> tuple[dict[bytes, int], Floats, Floats]:
        """The ids of words, the special ones first, and the figures of each id."""
        special = [word.encode() for word in SPECIAL]
        figures_of = {word: (NEVER if word == START.encode() else MISSING_UNKNOWN, 0.0) for word in special}
        met: set[bytes] = set()
        for prob, (word,), backoff in self.entries(1, size):
            if word not in met:
                met.add(word)
                figures_of[word] = (prob, backoff)
        others = {}  # other names of special words: <S> is a word of its own where there is <s>
        for capital, small in _CAPITALS.items():
            if capital in met and small not in met:
                figures_of[small], others[capital] = figures_of.pop(capital), small
        ids = {word: i for i, word in enumerate(figures_of)}
        figures = np.array(list(figures_of.values()))
        return {**ids, **{name: ids[word] for name, word in others.items()}}, figures[:, 0].copy(), figures[:, 1].copy()

    def section(self, length: int, size: int, ids: dict[bytes, int]) -> Entries:
        """The entries of all grams of a length."""
        title = f"\\{length}-grams:"
        self._expect(title.encode(), f"expected {title} here: more grams than the header says?")
        parts = [(np.empty((0, length), np.int64), np.empty(0), np.empty(0))]
        for first in range(0, size, _ROOM):
            lines = list(islice(self._lines, min(_ROOM, size - first)))
            part = self._plain(lines, length, ids)
            if part is None:
                self._lines = chain(lines, self._lines)
                part = self._line_by_line(length, min(_ROOM, size - first), ids)
            parts.append(part)
        words, probs, backoffs = (np.concatenate(column) for column in zip(*parts, strict=True))
        return words, probs, backoffs

    def _plain(self, lines: list[bytes], length: int, ids: dict[bytes, int]) -> Entries | None:
        """The entries of lines, column by column; None if one of them is to be looked at by itself."""
        text = b"\n".join(lines)
        rows = [line.split() for line in lines]
        if _has_odd_spaces(text) or not set(map(len, rows)) <= {length + 1, length + 2}:
            return None
        try:
            words = [[ids[row[i]] for row in rows] for i in range(1, length + 1)]
            figures = [row[0] for row in rows], [row[-1] if len(row) > length + 1 else b"0" for row in rows]
            probs, backoffs = (np.array([*map(float, column)]) for column in figures)
        except (KeyError, ValueError):
            return None
        underlined = b"_" in text and any(b"_" in b"".join(column) for column in figures)
        if underlined or not (probs <= 0).all() or not (np.abs(backoffs) <= MOST_LOG10).all():
            return None
        self.number += len(lines)
        return np.array(words, np.int64).T, np.maximum(probs, -MOST_LOG10), backoffs

    def _line_by_line(self, length: int, size: int, ids: dict[bytes, int]) -> Entries:
        """The entries of the next lines; a mistake is named with its line."""
        grams, figures = np.empty((size, length), np.int64), np.empty((size, 2))
        for i, (prob, words, backoff) in enumerate(self.entries(length, size)):
            try:
                grams[i] = [ids[word] for word in words]
            except KeyError as error:
                raise self.fault(f"the word {_shown(error.args[0])} is not among the 1-grams") from None
            figures[i] = prob, backoff
        return grams, figures[:, 0].copy(), figures[:, 1].copy()


def _has_odd_spaces(text: bytes) -> bool:
    """Whether Python splits the text where KenLM does not, or the other way round."""
    return b"\v" in text or b"\f" in text or b"\0" in text


def _shown(line: bytes) -> str:
    return repr(line[:60].decode("utf-8", "replace"))
