"""The library for C, called from Python for tests and benchmarks."""

from __future__ import annotations

import ctypes as c
import os
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Doubles = npt.NDArray[np.float64]


class LibraryError(Exception):
    """What the library says."""


class _Error(c.Structure):
    _fields_ = [("code", c.c_int32), ("sentence", c.c_char * 508)]


class _Guess(c.Structure):
    _fields_ = [("word", c.c_int32), ("probability", c.c_double)]


class _Wanted(c.Structure):
    _fields_ = [
        ("prefix", c.c_char_p), ("prefix_bytes", c.c_size_t), ("letters", c.c_char_p), ("letters_bytes", c.c_size_t),
        ("special", c.c_int),
    ]  # fmt: skip


class _Share(c.Structure):
    _fields_ = [
        ("mask", c.c_uint32), ("classes", c.c_int32), ("total", c.c_int64), ("count", c.c_int64),
        *((name, c.c_double) for name in ("discounted", "backoff", "share", "given_class", "contribution")),
    ]  # fmt: skip


@cache
def built_library() -> Path:
    """The shared library of this machine, built where it is out of date."""
    named = os.environ.get("GAPGRAM_LIBRARY")
    if named:
        return Path(named)
    from compiler.library import build_library
    from compiler.platforms import library_name, this_platform

    return build_library(this_platform(), native=True) / library_name(this_platform())


class Library:
    """The functions of a shared library."""

    def __init__(self, path: Path) -> None:
        self.functions = c.CDLL(str(path))
        for name in ("gapgram_word", "gapgram_session_word", "gapgram_about"):
            getattr(self.functions, name).restype = c.c_void_p
        self.functions.gapgram_state_bytes.restype = c.c_size_t

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function that returns a code; its sentence is raised."""
        error = _Error()
        if getattr(self.functions, name)(*arguments, c.byref(error)):
            raise LibraryError(error.sentence.decode("utf-8", "replace"))

    def open(self, path: Path) -> CModel:
        """A model of a file."""
        model = c.c_void_p()
        self.call("gapgram_open", str(path).encode(), c.byref(model))
        return CModel(self, model)

    def open_memory(self, data: bytes) -> CModel:
        """A model of bytes."""
        held, model = np.frombuffer(data + bytes(-len(data) % 8), np.uint64), c.c_void_p()
        address = held.ctypes.data_as(c.c_void_p) if held.size else c.c_void_p(64)
        self.call("gapgram_open_memory", address, c.c_size_t(len(data)), c.byref(model))
        return CModel(self, model, held)

    def with_nulls(self) -> Iterator[tuple[str, list[Any]]]:
        """Every function that returns a code, and nulls for it."""
        names = (
            "open open_memory encode score score_words begin extend extend_many distribution predict next_characters "
            "explain class"
        )
        of_sessions = "open score forget distribution trust predict save restore"
        for name in [*names.split(), *(f"session_{name}" for name in of_sessions.split())]:
            yield f"gapgram_{name}", [None] * 12


class _Asked:
    """What models and sessions are both asked."""

    prefix: str
    library: Library
    handle: Any

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        getattr(self.library.functions, f"{self.prefix}close")(self.handle)

    def _call(self, name: str, *arguments: Any) -> None:
        self.library.call(self.prefix + name, self.handle, *arguments)

    def __len__(self) -> int:
        return int(getattr(self.library.functions, f"{self.prefix}n_words")(self.handle))

    def word(self, number: int) -> str:
        """A word."""
        n = c.c_size_t()
        return _text(getattr(self.library.functions, f"{self.prefix}word")(self.handle, number, c.byref(n)), n.value)

    def find(self, word: str) -> int:
        """The number of a word."""
        data = word.encode()
        return int(getattr(self.library.functions, f"{self.prefix}find")(self.handle, data, c.c_size_t(len(data))))

    def distribution(self, context: Sequence[int]) -> Doubles:
        """The probability of every word."""
        ids, out = np.array(context, np.int32), np.empty(len(self))
        self._call("distribution", _at(ids), c.c_size_t(ids.size), _at(out))
        return out

    def predict(self, context: Sequence[int], k: int, prefix: str = "", letters: str = "") -> list[tuple[str, float]]:
        """Words and their probabilities."""
        ids, guesses, n = np.array(context, np.int32), (_Guess * max(k, 1))(), c.c_size_t()
        own = [text.encode() or None for text in (prefix, letters)]
        wanted = _Wanted(own[0], len(own[0] or b""), own[1], len(own[1] or b""), 0)
        self._call("predict", _at(ids), c.c_size_t(ids.size), c.c_size_t(k), c.byref(wanted), guesses, c.byref(n))
        return [(self.word(guess.word), guess.probability) for guess in guesses[: n.value]]


class CModel(_Asked):
    """A model."""

    prefix = "gapgram_"

    def __init__(self, library: Library, handle: c.c_void_p, held: object = None) -> None:
        self.library, self.handle, self.held = library, handle, held
        self.order = int(library.functions.gapgram_order(handle))
        self._bytes = int(library.functions.gapgram_state_bytes(handle))

    @property
    def is_backoff(self) -> bool:
        """Whether it is a backoff model, which explains nothing."""
        try:
            self.explain([], 0)
        except LibraryError as error:
            return "backoff" in str(error)
        return False

    def about(self) -> str:
        """What the file says beside its tables."""
        n = c.c_size_t()
        return _text(self.library.functions.gapgram_about(self.handle, c.byref(n)), n.value)

    def score(self, line: str, *, bos: bool = True, eos: bool = True) -> float:
        """log10 of the probability of a line."""
        data, out = line.encode(), c.c_double()
        self._call("score", data, c.c_size_t(len(data)), int(bos), int(eos), c.byref(out))
        return out.value

    def score_words(self, words: Sequence[int]) -> Doubles:
        """log10 of the probability of each word."""
        ids, out = np.array(words, np.int32), np.empty(len(words))
        self._call("score_words", _at(ids), c.c_size_t(ids.size), _at(out))
        return out

    def begin(self) -> bytes:
        """The state after `<s>`."""
        state = c.create_string_buffer(self._bytes)
        self._call("begin", 1, state)
        return state.raw

    def extend(self, state: bytes, word: int) -> tuple[float, bytes]:
        """log10 of the probability of a word, and the state after it."""
        after, score = c.create_string_buffer(self._bytes), c.c_double()
        self._call("extend", state, word, after, c.byref(score), None)
        return score.value, after.raw

    def extend_many(self, states: Sequence[bytes], words: npt.NDArray[np.int32]) -> tuple[Doubles, list[bytes]]:
        """The same of many states."""
        held, scores, size = c.create_string_buffer(b"".join(states)), np.empty(words.size), self._bytes
        self._call("extend_many", c.c_size_t(words.size), held, _at(words), held, _at(scores))
        return scores, [held.raw[i : i + size] for i in range(0, size * words.size, size)]

    def next_characters(self, context: Sequence[int], typed: str) -> list[tuple[str, float]]:
        """Characters that may follow, "" where a word ends."""
        ids, found, n, data = np.array(context, np.int32), (_Guess * 64)(), c.c_size_t(), typed.encode()
        self._call(
            "next_characters", _at(ids), c.c_size_t(ids.size), data, c.c_size_t(len(data)), c.c_size_t(64), found,
            c.byref(n),
        )  # fmt: skip
        return [(chr(one.word) if one.word else "", one.probability) for one in found[: n.value]]

    def explain(self, context: Sequence[int], word: int) -> tuple[list[Any], float]:
        """What each pattern says, and what every word gets."""
        ids, shares, n, rest = np.array(context, np.int32), (_Share * 1024)(), c.c_size_t(), c.c_double()
        self._call("explain", _at(ids), c.c_size_t(ids.size), word, shares, c.c_size_t(1024), c.byref(n), c.byref(rest))
        return list(shares[: n.value]), rest.value

    def class_of(self, clustering: int, word: int) -> list[int]:
        """The words of its class."""
        n = c.c_size_t()
        self._call("class", clustering, word, None, c.c_size_t(0), c.byref(n))
        words = np.empty(n.value, np.int32)
        self._call("class", clustering, word, _at(words), n, c.byref(n))
        return [int(each) for each in words]

    def session(self, most_words: int) -> CSession:
        """A reader of it."""
        session = c.c_void_p()
        self._call("session_open", c.c_size_t(most_words), c.byref(session))
        return CSession(self.library, session)


class CSession(_Asked):
    """A session."""

    prefix = "gapgram_session_"

    def __init__(self, library: Library, handle: c.c_void_p) -> None:
        self.library, self.handle = library, handle

    def score(self, line: str, *, learn: bool = False) -> float:
        """log10 of the probability of a sentence."""
        data, out = line.encode(), c.c_double()
        self._call("score", data, c.c_size_t(len(data)), int(learn), c.byref(out))
        return out.value

    def trust(self, context: Sequence[int]) -> float:
        """Which part of the model's probabilities it has after a context."""
        ids, out = np.array(context, np.int32), c.c_double()
        self._call("trust", _at(ids), c.c_size_t(ids.size), c.byref(out))
        return out.value

    def forget(self, share: float) -> None:
        """Forget a share of what was learned."""
        self._call("forget", c.c_double(share))

    def save(self) -> bytes:
        """What was learned."""
        n = c.c_size_t()
        self._call("save", None, c.c_size_t(0), c.byref(n))
        out = c.create_string_buffer(n.value)
        self._call("save", out, n, c.byref(n))
        return out.raw

    def restore(self, data: bytes) -> None:
        """What was saved."""
        self._call("restore", data, c.c_size_t(len(data)))


def _at(array: npt.NDArray[Any]) -> c.c_void_p:
    return array.ctypes.data_as(c.c_void_p)


def _text(address: int, n: int) -> str:
    return c.string_at(address, n).decode("utf-8", "replace") if address else ""

