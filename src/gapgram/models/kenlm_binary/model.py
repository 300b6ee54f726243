"""A model in a binary file of KenLM, mapped: it answers what every model answers, with KenLM's own figures."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from gapgram.arrays import Begins, Floats, Ids, Integers
from gapgram.errors import ModelFileError, ModelNotFoundError, UsageError
from gapgram.kernels import kenlm_scoring as kernels
from gapgram.kernels.jit import entry
from gapgram.kernels.kenlm_arrays import PROBING, TRIE, KenlmFile, handle_of
from gapgram.kernels.kenlm_memory import memory_of
from gapgram.kernels.kenlm_words import find_hash, hash_word
from gapgram.kernels.special_words import END, START
from gapgram.models.kenlm_binary.header import HEAD_BYTES, Header, bad_grams, damaged, describe, read_header
from gapgram.models.kenlm_binary.layout import Layout, read_layout
from gapgram.models.kenlm_binary.words import KenlmVocabulary
from gapgram.queries.by_ids import ByIds
from gapgram.queries.language_model import Sentence
from gapgram.queries.states import REMEMBERED, State
from gapgram.system.parallel import checked_threads, parallel_map

_CHUNK = 1 << 14  # words that one thread scores at a time

_new = tuple.__new__  # a third of the time that State(…) takes


def read_kenlm_binary(path: str | Path) -> KenlmModel:
    """Map a binary file that KenLM's build_binary made: probing or trie, quantised or not, with words or without."""
    return KenlmModel(path)


class KenlmModel(ByIds):
    """A model of KenLM's. It gives the scores, the lengths of grams and the states that KenLM gives, bit for bit."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path).absolute()
        self._memory = memory = _mapped(Path(path))  # kept: kernels know no more than its address
        self._header: Header = read_header(Path(path), memory[:HEAD_BYTES].tobytes(), memory.size)
        self._layout: Layout = read_layout(Path(path), self._header, memory)
        self._file = _file_of(Path(path), self._header, self._layout, memory)
        self._fields = handle_of(self._file)
        self._handle = memory_of(self._fields)
        words_at = self._layout.words_at if self._header.has_words else None
        self._ids = dict[str | int, int]()  # of words that steps were asked for
        self._vocabulary = KenlmVocabulary(Path(path), self._file, memory, words_at)

    def __reduce__(self) -> tuple[Any, ...]:
        return read_kenlm_binary, (str(self._path),)

    @property
    def order(self) -> int:
        """A prediction sees at most order - 1 earlier words."""
        return self._header.order

    @property
    def vocabulary(self) -> KenlmVocabulary:
        """The words the model knows, and their ids."""
        return self._vocabulary

    @property
    def path(self) -> Path:
        """The file of the model."""
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
        """What every figure of this model depends on."""
        grams = ",".join(map(str, self.counts))
        return f"order:{self.order}|model:kenlm|kind:{self.kind}|grams:{grams}|log:10|file:{self._path.name}"

    def score_checked_ids(self, ids: Ids, begins: Begins, threads: int | None = 1) -> Floats:
        """log10 of the probability of each position of sequences of word ids; 0 where `<s>` begins one."""
        return self.located(ids, begins, threads)[0]

    def gram_lengths(self, ids: Ids) -> Integers:
        """For each word of one sequence the length of the longest gram that the model holds; 1 at least."""
        return self.located(ids, np.array([0, ids.size]))[1]

    def located(self, ids: Ids, begins: Begins, threads: int | None = 1) -> tuple[Floats, Integers]:
        """(log10 of the probability, length of the longest gram that was found) of each position."""
        stream, bounds = np.ascontiguousarray(ids, np.int32), np.ascontiguousarray(begins, np.int64)
        out, lengths = np.empty(stream.size), np.empty(stream.size, np.int64)

        def work(part: tuple[int, int]) -> bool:
            first, last = part
            return bool(self._score_positions(stream, bounds[first : last + 1], self._file, out, lengths))

        if not all(parallel_map(work, _runs(bounds), checked_threads(threads))):
            raise bad_grams(self._path)
        return out, lengths

    @cached_property
    def _score_positions(self) -> Callable[..., bool]:
        numbers = np.empty(0, np.int64)
        return entry(kernels.score_positions, np.empty(0, np.int32), numbers, self._file, np.empty(0), numbers)

    def distribution(self, context: Sentence = ()) -> Floats:
        """P(· | context) as an array over the ids of the vocabulary."""
        ids = self._context_ids(context)
        state = self.begin_sentence() if ids.size and ids[0] == 1 else self.null_context()
        for word in ids[int(state != self.null_context()) :].tolist():
            state = self.extend(state, word)[1]
        held, backoffs = np.empty(self.order, np.int64), np.empty(self.order, np.float32)
        n = len(state.key) // 8
        kernels.load(state.key, 0, n, held, backoffs, self._file)
        out: Floats = kernels.distribution(held, backoffs, n, self._file)
        if np.isnan(out).any():
            raise bad_grams(self._path)
        return out

    @cached_property
    def _beginning(self) -> State:
        out = np.empty(2, np.uint32)
        kernels.start_state(self._file, out)
        return State(out.tobytes())

    def begin_sentence(self) -> State:
        """The state at the beginning of a sentence, after `<s>`."""
        return self._beginning

    def extend(self, state: State, word: str | int) -> tuple[float, State]:
        """(log10 P(word | state), the state after the word); the word may be given by its id."""
        found = self._ids.get(word)
        score, _, after = self._step(state, self._id(word) if found is None else found)
        return score, after

    def extend_with_length(self, state: State, word: str | int) -> tuple[float, int, State]:
        """As `extend`, with the length of the longest gram that was found."""
        return self._step(state, self._id(word))

    @cached_property
    def _step(self) -> Callable[[State, int], tuple[float, int, State]]:
        """(log10 P(word | state), length of the gram, the state after it) of an id; with all that it needs at hand."""
        most, handle, path, empty, kind = 2 * (self.order - 1), self._handle, self._path, np.empty, np.uint32
        extend_one = entry(kernels.extend_one, b"", 0, 0, handle, empty(0, kind))

        def step(state: State, word: int) -> tuple[float, int, State]:
            key = state.key
            n, out = len(key) >> 2, empty(most, kind)
            if n > most or len(key) & 7:
                raise _other_model()
            score, length, kept = extend_one(key, n >> 1, word, handle, out)
            if score != score or length == 0:
                raise bad_grams(path) if length else _other_model()
            return score, length, _new(State, (out.tobytes()[: 8 * kept],))

        return step

    def _id(self, word: str | int) -> int:
        """The id of a word, remembered: decoders ask for few words often."""
        found = self._ids.get(word)
        if found is None:
            if len(self._ids) >= REMEMBERED:
                self._ids.clear()
            found = self._ids[word] = self._step_id(word)
        return found

    def extend_many(
        self, states: Sequence[State], words: Sequence[str | int] | Ids, *, threads: int | None = None
    ) -> tuple[Floats, list[State]]:
        """`extend` for many states, a word for each: (scores, states after the words)."""
        added = self._step_ids(states, words)
        sizes = np.array([len(state.key) for state in states], np.int64)
        if (sizes % 8).any() or (sizes > 8 * (self.order - 1)).any():
            raise _other_model()
        keys = np.frombuffer(b"".join([state.key for state in states]), np.uint8)
        scores, lengths, kept = np.empty(len(states)), *np.empty((2, len(states)), np.int64)
        out = np.empty((len(states), 2 * self.order), np.uint32)
        kernels.extend(keys, np.cumsum([0, *sizes]), added, self._file, scores, lengths, out, kept)
        if (lengths == 0).any():
            raise _other_model()
        if np.isnan(scores).any():
            raise bad_grams(self._path)
        return scores, [State(row[: 2 * n].tobytes()) for row, n in zip(out, kept.tolist(), strict=True)]

    def __repr__(self) -> str:
        return f"<KenlmModel {self.signature}>"


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


def _runs(begins: Begins) -> list[tuple[int, int]]:
    """Bounds of runs of sequences, each of about as many words as a thread takes at a time."""
    goals = np.arange(0, int(begins[-1]), _CHUNK)
    cuts = np.unique(np.append(np.searchsorted(begins, goals), begins.size - 1)).tolist()
    return list(pairwise(cuts))


def _other_model() -> UsageError:
    return UsageError("the state is that of another model: states are made by the model that they are for")
