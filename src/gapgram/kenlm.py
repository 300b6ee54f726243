"""KenLM's Python module, with any gapgram model behind it: `from gapgram import kenlm`.

The same names, the same units (log10) and, for `mkn` models, the same figures as KenLM has for the ARPA file
that lmplz makes of the same text. What differs: a model file is gapgram's own, a mixture or ARPA, not
KenLM's binary; states hold the last words, so that two are equal only if these are.
"""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike, fspath
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gapgram.backoff_model import BackoffModel
from gapgram.errors import UsageError
from gapgram.kernels import lookup
from gapgram.kernels.stepping import score_last
from gapgram.mixture import Mixture, Part
from gapgram.model import Model as GapgramModel
from gapgram.opening import AnyModel, open_model
from gapgram.vocabulary import END, SPECIAL, START, Vocabulary

Ids = npt.NDArray[np.int32]

_START, _END = SPECIAL.index(START), SPECIAL.index(END)


class FullScoreReturn(NamedTuple):
    """A score with the length of the longest gram that was found, and whether the word is unknown."""

    log_prob: float
    ngram_length: int
    oov: bool


class State:
    """The words that the next score depends on. Filled by a model; compared, copied and hashed by its words."""

    __slots__ = ("ids",)

    def __init__(self) -> None:
        self.ids: tuple[int, ...] = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, State) and self.ids == other.ids

    def __hash__(self) -> int:
        return hash(self.ids)

    def __copy__(self) -> State:
        copied = State()
        copied.ids = self.ids
        return copied

    def __deepcopy__(self, memo: object) -> State:
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

    def __init__(self, path: str | bytes | PathLike[str] | AnyModel, config: object = None) -> None:
        """Open a model file, or take a model that is open; `config` is accepted and makes no difference."""
        if isinstance(path, str | bytes | PathLike):
            name = fspath(path)
            self._model: AnyModel = open_model(name.decode() if isinstance(name, bytes) else name)
        else:
            self._model = path

    @property
    def path(self) -> bytes:
        """The path of the file, as bytes, as KenLM gives it."""
        return b"" if self._model.path is None else str(self._model.path).encode()

    @property
    def vocabulary(self) -> Vocabulary:
        """The words of the model; KenLM has no such list."""
        return self._model.vocabulary

    @property
    def order(self) -> int:
        """The length of the longest grams."""
        return self._model.order

    def __contains__(self, word: str | bytes) -> bool:
        return self._model.vocabulary.id(_text(word)) != 0

    def score(self, sentence: str | bytes, bos: bool = True, eos: bool = True) -> float:
        """log10 of the probability of a sentence."""
        return sum(score for score, _, _ in self._full_scores(sentence, bos, eos))

    def perplexity(self, sentence: str | bytes) -> float:
        """The perplexity of a sentence, its end counted as a word."""
        words = len(_text(sentence).split()) + 1
        return float(10.0 ** (-self.score(sentence) / words))

    def full_scores(
        self, sentence: str | bytes, bos: bool = True, eos: bool = True
    ) -> Iterator[tuple[float, int, bool]]:
        """For each word (log10 of its probability, length of the longest gram found, whether it is unknown)."""
        yield from self._full_scores(sentence, bos, eos)

    def BeginSentenceWrite(self, state: State) -> None:
        """Make a state that of the beginning of a sentence."""
        state.ids = (_START,)

    def NullContextWrite(self, state: State) -> None:
        """Make a state that of nothing known."""
        state.ids = ()

    def BaseScore(self, in_state: State, word: str | bytes, out_state: State) -> float:
        """log10 P(word | in_state); writes the state after the word."""
        return self._score_last(self._advance(in_state, word, out_state))

    def BaseFullScore(self, in_state: State, word: str | bytes, out_state: State) -> FullScoreReturn:
        """As `BaseScore`, with the length of the longest gram and whether the word is unknown."""
        ids = self._advance(in_state, word, out_state)
        return FullScoreReturn(self._score_last(ids), int(gram_lengths(self._model, ids)[-1]), bool(ids[-1] == 0))

    def _score_last(self, ids: Ids) -> float:
        model = self._model
        if isinstance(model, GapgramModel):
            return float(score_last(ids, model.order, model.uniform, model.arrays))
        return float(model.score_ids(ids, np.array([0, ids.size]), threads=1)[-1])

    def _advance(self, in_state: State, word: str | bytes, out_state: State) -> Ids:
        known = self._model.vocabulary.id(_text(word))
        if known == _START:
            raise UsageError(f"the word {START} starts a sentence and is never predicted")
        ids = (*in_state.ids, known)
        out_state.ids = ids[max(0, len(ids) - self.order + 1) :]
        return np.array(ids, np.int32)

    def _full_scores(self, sentence: str | bytes, bos: bool, eos: bool) -> list[tuple[float, int, bool]]:
        words = self._model.vocabulary.ids(_text(sentence).split())
        ids = np.concatenate([np.array([_START] * bos, np.int32), words, np.array([_END] * eos, np.int32)])
        if not ids.size:
            return []
        scores = self._model.score_ids(ids, np.array([0, ids.size]), threads=1)[int(bos) :]
        lengths = gram_lengths(self._model, ids)[int(bos) :]
        return list(zip(scores.tolist(), lengths.tolist(), (ids[int(bos) :] == 0).tolist(), strict=True))

    def __repr__(self) -> str:
        return f"<Model from {self.path!r}>"


LanguageModel = Model


def gram_lengths(model: Part, ids: Ids) -> npt.NDArray[np.int64]:
    """For each word of a sequence the length of the longest contiguous gram that the model holds; 1 at least."""
    if isinstance(model, BackoffModel):
        return model.located(ids, np.array([0, ids.size]))[1]
    if isinstance(model, GapgramModel):
        entries = lookup.locate_one(ids, model.order, model.arrays)[0]
        spans = np.array([len(p) + 1 if p.is_contiguous else 1 for p in model.counts.patterns])
        longest: npt.NDArray[np.int64] = np.where(entries >= 0, spans[:, None], 1).max(axis=0)
        return longest
    if isinstance(model, Mixture):
        lengths: npt.NDArray[np.int64] = np.max([gram_lengths(m, own) for m, own in model.translated(ids)], axis=0)
        return lengths
    return np.ones(ids.size, np.int64)


def _text(text: str | bytes) -> str:
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else text
