"""A model in a binary file of KenLM, mapped: it answers what every model answers, with KenLM's own figures."""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from gapgram.arrays import Begins, Floats, Ids, Integers
from gapgram.errors import ModelFileError, ModelNotFoundError
from gapgram.kernels.compiled import bind
from gapgram.kernels.kenlm import scoring as kernels
from gapgram.kernels.kenlm.arrays import PROBING, TRIE, KenlmFile, memory_of
from gapgram.kernels.kenlm.words import find_hash, hash_word
from gapgram.kernels.text.special_words import END, START
from gapgram.models.kenlm_binary.header import (
    HEAD_BYTES,
    Header,
    Layout,
    bad_grams,
    damaged,
    describe,
    read_header,
    read_layout,
)
from gapgram.models.kenlm_binary.words import KenlmVocabulary
from gapgram.queries.language_model import LanguageModel, Sentence
from gapgram.queries.line_scores import LineKernel
from gapgram.queries.state_rows import ArrayRows, StateRows
from gapgram.queries.states import Stepper, other_model


class KenlmModel(LanguageModel):
    """A model in a file that KenLM's build_binary made: probing or trie, quantised or not, with words or without.

    It gives the scores, the lengths of grams and the states that KenLM gives, bit for bit.
    """

    _path: Path
    _vocabulary: KenlmVocabulary

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path).absolute()
        self._memory = memory = _mapped(Path(path))  # kept: kernels know no more than its address
        self._header: Header = read_header(Path(path), memory[:HEAD_BYTES].tobytes(), memory.size)
        self._layout: Layout = read_layout(Path(path), self._header, memory)
        self._file = _file_of(Path(path), self._header, self._layout, memory)
        words_at = self._layout.words_at if self._header.has_words else None
        self._vocabulary = KenlmVocabulary(Path(path), self._file, memory, words_at)

    def __reduce__(self) -> tuple[Any, ...]:
        return KenlmModel, (str(self._path),)

    @property
    def order(self) -> int:
        return self._header.order

    @property
    def vocabulary(self) -> KenlmVocabulary:
        return self._vocabulary

    @property
    def path(self) -> Path:
        return self._path

    @property
    def file(self) -> KenlmFile:
        """The mapped file, as kernels take it."""
        return self._file

    @property
    def kind(self) -> str:
        """What build_binary was asked for, such as `probing` or `trie,q=8,b=8`."""
        return describe(self._header, self._layout.bits)

    @property
    def counts(self) -> tuple[int, ...]:
        """How many grams of each length the file says it was made from."""
        return self._header.counts

    @cached_property
    def signature(self) -> str:
        grams = ",".join(map(str, self.counts))
        return f"order:{self.order}|model:kenlm|kind:{self.kind}|grams:{grams}|log:10|file:{self._path.name}"

    def score_checked_ids(self, ids: Ids, begins: Begins, out: Floats | None = None) -> Floats:
        return self.located(ids, begins, out)[0]

    def gram_lengths(self, ids: Ids) -> Integers:
        return self.located(ids, np.array([0, ids.size]))[1]

    def located(self, ids: Ids, begins: Begins, out: Floats | None = None) -> tuple[Floats, Integers]:
        """(log10 of the probability, length of the longest gram that was found) of each position.

        out: where the former is written; without it, a new array.
        """
        stream, bounds = np.ascontiguousarray(ids, np.int32), np.ascontiguousarray(begins, np.int64)
        out, lengths = np.empty(stream.size) if out is None else out, np.empty(stream.size, np.int64)
        if not kernels.score_positions(stream, bounds, self._file, out, lengths):
            raise bad_grams(self._path)
        return out, lengths

    @cached_property
    def _score_line(self) -> LineKernel:
        return bind(kernels.score_line, (self._file,))

    def distribution(self, context: Sentence = ()) -> Floats:
        ids = self._context_ids(context)
        state = self.begin_sentence() if ids.size and ids[0] == 1 else self.null_context()
        for word in ids[int(state != self.null_context()) :].tolist():
            state = self.extend(state, word)[1]
        held, backoffs = np.empty(self.order, np.int64), np.empty(self.order, np.float32)
        n = len(state.key) // KEY_BYTES
        kernels.load(state.key, 0, n, held, backoffs, self._file)
        out: Floats = kernels.distribution(held, backoffs, n, self._file)
        if np.isnan(out).any():
            raise bad_grams(self._path)
        np.minimum(out, 1.0, out=out)  # scores may be above 0, a probability is 1 at most
        return out

    @cached_property
    def _stepper(self) -> KenlmStepper:
        return KenlmStepper(self._path, self._file)


def _mapped(path: Path) -> Any:
    """The bytes of a file."""
    try:
        with path.open("rb") as file:
            mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except FileNotFoundError:
        raise ModelNotFoundError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise ModelFileError(f"{path}: a folder, not a model file") from None
    except ValueError:
        raise ModelFileError(f"{path}: an empty file, not a binary file of KenLM") from None
    except OSError as error:
        raise ModelFileError(f"{path}: cannot be read: {error.strerror}") from None
    return np.frombuffer(mapping, np.uint8)


def _file_of(path: Path, header: Header, layout: Layout, memory: Any) -> KenlmFile:
    """What kernels take, with the ids of `<s>` and `</s>` looked up."""
    file = KenlmFile(
        memory_of(memory), memory_of(layout.tables.view(np.uint8).reshape(-1)), PROBING if header.is_probing else TRIE,
        header.order, layout.n_words, 0, 0, layout.hashes_at, layout.n_hashes,
    )  # fmt: skip
    start, end = (int(find_hash(_hash_of(word), file)) for word in (START, END))
    if min(start, end) < 0 or (start == end and start > 0):
        raise damaged(path, "its table of words has no end, or one place for two words")
    return file._replace(start=start, end=end)


def _hash_of(word: str) -> Any:
    text = np.frombuffer(word.encode(), np.uint8)
    return np.uint64(hash_word(text, 0, text.size))


KEY_BYTES = 8  # of a state, for each of its words: the id and the backoff


class KenlmStepper(Stepper):
    """Steps of one mapped file. A key holds the file's ids of the words that can still matter, and their backoffs."""

    def __init__(self, path: Path, file: KenlmFile) -> None:
        self._path, self._file, self.null = path, file, b""
        out = np.empty(2, np.uint32)
        kernels.start_state(file, out)
        self.beginning, self.one = out.tobytes(), bind(kernels.extend_one, (file,))

    def fault(self, length: int) -> Exception:
        return bad_grams(self._path) if length < 0 else other_model()

    def many(self, keys: Sequence[bytes], words: Ids, threads: int) -> tuple[Floats, list[bytes]]:
        order, n = self._file.order, len(keys)
        sizes = np.array([len(key) for key in keys], np.int64)
        if (sizes % KEY_BYTES).any() or (sizes > KEY_BYTES * (order - 1)).any():
            raise other_model()
        joined = np.frombuffer(b"".join(keys), np.uint8)
        scores, lengths, kept = np.empty(n), *np.empty((2, n), np.int64)
        out = np.empty((n, 2 * order), np.uint32)
        kernels.extend(joined, np.cumsum([0, *sizes]), words, self._file, scores, lengths, out, kept)
        if (lengths == 0).any():
            raise other_model()
        if np.isnan(scores).any():
            raise bad_grams(self._path)
        return scores, [row[: 2 * held].tobytes() for row, held in zip(out, kept.tolist(), strict=True)]

    def rows(self) -> StateRows:
        return ArrayRows(self._extend_rows, 2 * self._file.order, np.dtype(np.uint32), of_any_length=True)

    def _extend_rows(self, states: Any, asked: Ids, n: int, answers: Floats) -> None:
        if not kernels.extend_rows(self._file, states, asked, n, answers):
            raise bad_grams(self._path)
