"""KenLM's Python module, with any gapgram model behind it: `from gapgram import kenlm`.

The same names, the same units (log10) and, for `mkn` models, the same figures as KenLM has for the ARPA file
that lmplz makes of the same text. A model file is of any kind that `gapgram.load` opens.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cached_property, total_ordering
from os import PathLike
from typing import Any, NamedTuple

from gapgram.kernels.text.special_words import END, START, UNKNOWN_ID
from gapgram.models.open import load
from gapgram.queries.language_model import LanguageModel as AnyLanguageModel
from gapgram.queries.line_scores import LineKernel, score_of_text
from gapgram.text.vocabulary import REMEMBERED, REMEMBERED_CHARACTERS, Vocabulary

__all__ = ["ARPALoadComplain", "Config", "FullScoreReturn", "LanguageModel", "LoadMethod", "Model", "State"]


NUL = "\0"
_NULLS: set[bytes] = set()  # what models that were opened write where nothing is known; `_key_of` has one name for them
_new = tuple.__new__  # a third of the time that FullScoreReturn(…) takes


class FullScoreReturn(NamedTuple):
    """A score with the length of the longest gram that was found, and whether the word is unknown."""

    log_prob: float
    ngram_length: int
    oov: bool

    def __repr__(self) -> str:
        return f"FullScoreReturn{tuple(self)}"


class LoadMethod:
    """How KenLM reads a file; gapgram maps files whatever is chosen."""

    LAZY, POPULATE_OR_LAZY, POPULATE_OR_READ, READ, PARALLEL_READ = range(5)


class ARPALoadComplain:
    """When KenLM says that an ARPA file takes long to read; gapgram never does."""

    ALL, EXPENSIVE, NONE = range(3)


class Config:
    """Choices for opening a model. `show_progress` counts for ARPA files; the others make no difference."""

    def __init__(self) -> None:
        self.load_method = LoadMethod.POPULATE_OR_READ
        self.arpa_complain = ARPALoadComplain.ALL
        self.show_progress = True


@total_ordering
class State:
    """What the next score depends on. Filled by a model; compared, ordered, copied and hashed by what that was.

    One that was never filled stands for nothing known.
    """

    __slots__ = ("key",)
    key: bytes

    def __eq__(self, other: object) -> bool:
        return _key_of(self) == _key_of(other) if isinstance(other, State) else NotImplemented

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, State):
            return NotImplemented
        one, two = _key_of(self), _key_of(other)
        return (len(one), one) < (len(two), two)

    def __hash__(self) -> int:
        return hash(_key_of(self))

    def __copy__(self) -> State:
        copied = type(self)()
        if hasattr(self, "key"):
            copied.key = self.key
        return copied

    def __deepcopy__(self, memo: object = None) -> State:
        return self.__copy__()


class Model:
    """A language model that is asked as KenLM's is.

    >>> import gapgram, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = f"{folder}/a.model"
    ...     _ = gapgram.train(sentences=["the cat sat", "the dog sat"] * 9, order=3, model="mkn", output=path)
    ...     model = Model(path)
    >>> model.order, "cat" in model, "cow" in model
    (3, True, False)
    >>> before, after = State(), State()
    >>> model.BeginSentenceWrite(before)
    >>> model.BaseScore(before, "the", after) == next(model.full_scores("the"))[0]
    True
    """

    def __init__(self, path: str | bytes | PathLike[str] | AnyLanguageModel, config: Config | None = None) -> None:
        """Open a model file, or take a model that is open."""
        if config is not None and not isinstance(config, Config):
            raise TypeError(f"config: expected a kenlm.Config, found {type(config).__name__}")
        if isinstance(path, AnyLanguageModel):
            self._model = path
            self.path = b"" if path.path is None else os.fsencode(path.path)
        elif isinstance(path, str | bytes | PathLike):
            self.path = os.path.abspath(os.fsencode(path))  # links stay as they are
            self._model = load(os.fsdecode(path), progress=config is not None and config.show_progress)
        else:
            raise TypeError(f"path: expected a path or a model, found {type(path).__name__}")
        self._step = self._model._stepper.one
        _NULLS.add(self._model._stepper.null)
        self._ids: dict[str | bytes, int] = {}  # of words that were asked for; never of <s>

    @cached_property
    def _score_line(self) -> LineKernel | None:
        return self._model._score_line

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (os.fsdecode(self.path) if self.path else self._model,)

    @property
    def vocabulary(self) -> Vocabulary:
        """The words of the model; KenLM has no such list."""
        return self._model.vocabulary

    @property
    def order(self) -> int:
        """The length of the longest grams."""
        return self._model.order

    def __contains__(self, word: str | bytes) -> bool:
        return self._model.vocabulary.id(_text(word)) != UNKNOWN_ID

    def score(self, sentence: str | bytes, bos: bool = True, eos: bool = True) -> float:
        """log10 of the probability of a sentence."""
        kernel = self._score_line
        if kernel is not None and isinstance(sentence, str) and NUL not in sentence:  # most are so
            score = score_of_text(kernel, sentence, bos, eos)
            if score is not None:
                return score
        text = sentence.encode("utf-8", "surrogatepass") if isinstance(sentence, str) else _bytes(sentence)
        if b"\0" in text:  # a string of C ends there: KenLM's sentence if it is taken whole, else each word
            if not (bos and eos):
                return sum([score for score, _, _ in self._full_scores(text, bos, eos)], 0.0)
            text = text.partition(b"\0")[0]
        line = text if b"\n" not in text else text.replace(b"\n", b" ")
        known = self._model.line_score(line + b"\n", bos, eos)
        if known is None:  # special words, or a kind of model that takes steps
            return sum([score for score, _, _ in self._full_scores(text, bos, eos)], 0.0)
        return known

    def perplexity(self, sentence: str | bytes) -> float:
        """The perplexity of a sentence, its end counted as a word."""
        words = len(_bytes(sentence).split()) + 1
        return float(10.0 ** (-self.score(sentence) / words))

    def full_scores(
        self, sentence: str | bytes, bos: bool = True, eos: bool = True
    ) -> Iterator[tuple[float, int, bool]]:
        """For each word (log10 of its probability, length of the longest gram found, whether it is unknown)."""
        yield from map(tuple, self._full_scores(sentence, bos, eos))  # KenLM's are plain tuples

    def BeginSentenceWrite(self, state: State) -> None:
        """Make a state that of the beginning of a sentence."""
        state.key = self._model._stepper.beginning

    def NullContextWrite(self, state: State) -> None:
        """Make a state that of nothing known."""
        state.key = self._model._stepper.null

    def BaseScore(self, in_state: State, word: str | bytes, out_state: State) -> float:
        """log10 P(word | in_state); writes the state after the word.

        After `<s>`, which is never predicted, a sentence begins anew; its score is what falling back takes, and in ARPA
        files and files of KenLM what they say.
        """
        try:
            score, length, key = self._step(in_state.key, self._ids[word])
            if length > 0:
                out_state.key = key
                return score
        except (KeyError, AttributeError):
            pass
        return self._first_step(in_state, word, out_state)[0]

    def BaseFullScore(self, in_state: State, word: str | bytes, out_state: State) -> FullScoreReturn:
        """As `BaseScore`, with the length of the longest gram and whether the word is unknown."""
        try:
            word_id = self._ids[word]
            score, length, key = self._step(in_state.key, word_id)
            if length > 0:
                out_state.key = key
                return _new(FullScoreReturn, (score, length, word_id == UNKNOWN_ID))
        except (KeyError, AttributeError):
            pass
        return self._first_step(in_state, word, out_state)

    def _first_step(self, in_state: State, word: str | bytes, out_state: State) -> FullScoreReturn:
        """A step with a word that was not asked for before, or after a state that was never filled."""
        for state in (in_state, out_state):
            if not isinstance(state, State):
                raise TypeError(f"state: expected a kenlm.State, found {type(state).__name__}")
        text = _text(word)
        key = _key_of(in_state) or self._model._stepper.null
        if text == START:
            score = self._model._stepper.start_score(key)
            out_state.key = self._model._stepper.beginning
            return FullScoreReturn(score, 1, False)
        word_id = self._word_id(word)
        score, length, out_state.key = self._model._stepper.checked(key, word_id)
        return FullScoreReturn(score, length, word_id == UNKNOWN_ID)

    def _word_id(self, word: str | bytes) -> int:
        """The id of a word, remembered: decoders ask for few words often."""
        word_id = self._model.vocabulary.id(_text(word))
        if len(word) <= REMEMBERED_CHARACTERS:
            if len(self._ids) >= REMEMBERED:
                self._ids.clear()
            self._ids[word] = word_id
        return word_id

    def _full_scores(self, sentence: str | bytes, bos: bool, eos: bool) -> list[FullScoreReturn]:
        state, out = State(), []
        if bos:
            self.BeginSentenceWrite(state)
        for word in _bytes(sentence).split():
            out.append(self.BaseFullScore(state, word, state))
        if eos:
            out.append(self.BaseFullScore(state, END, state))
        return out

    def __repr__(self) -> str:
        return f"<Model from {os.path.basename(self.path)!r}>"


class LanguageModel(Model):
    """The name that KenLM's `Model` had before."""


def _key_of(state: State) -> bytes:
    """What a state holds; nothing where it was never filled, and where nothing is known."""
    key: bytes = getattr(state, "key", b"")
    return b"" if key in _NULLS else key


def _text(word: str | bytes) -> str:
    """A word as KenLM takes it: up to a NUL, at which strings of C end."""
    if isinstance(word, bytes):
        word = word.decode("utf-8", "replace")
    if isinstance(word, str):
        return word.partition(NUL)[0] if NUL in word else word
    raise TypeError(f"expected a string, found {type(word).__name__}")


def _bytes(text: str | bytes) -> bytes:
    if isinstance(text, bytes):
        return text
    if isinstance(text, str):
        return text.encode("utf-8", "surrogatepass")
    raise TypeError(f"expected a string, found {type(text).__name__}")
