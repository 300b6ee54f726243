"""KenLM's Python module, with any gapgram model behind it: `from gapgram import kenlm`.

The same names, the same units (log10) and, for `mkn` models, the same figures as KenLM has for the ARPA file
that lmplz makes of the same text. A model file is of any kind that `gapgram.load` opens. States are those of
`gapgram.LanguageModel.extend`.
"""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike, fspath
from typing import NamedTuple

import numpy as np

from gapgram.kernels.special_words import END_ID, START_ID, UNKNOWN_ID
from gapgram.models.open import load
from gapgram.queries.language_model import LanguageModel as AnyLanguageModel
from gapgram.queries.states import State as NativeState
from gapgram.text.vocabulary import Vocabulary

__all__ = ["FullScoreReturn", "LanguageModel", "Model", "State"]


class FullScoreReturn(NamedTuple):
    """A score with the length of the longest gram that was found, and whether the word is unknown."""

    log_prob: float
    ngram_length: int
    oov: bool


class State:
    """What the next score depends on. Filled by a model; compared, copied and hashed by what it was filled with.

    One that was never filled stands for nothing known.
    """

    __slots__ = ("filled",)

    def __init__(self) -> None:
        self.filled: NativeState | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, State) and self.filled == other.filled

    def __hash__(self) -> int:
        return hash(self.filled)

    def __copy__(self) -> State:
        copied = State()
        copied.filled = self.filled
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

    def __init__(self, path: str | bytes | PathLike[str] | AnyLanguageModel, config: object = None) -> None:
        """Open a model file, or take a model that is open; `config` is accepted and makes no difference."""
        if isinstance(path, str | bytes | PathLike):
            name = fspath(path)
            self._model: AnyLanguageModel = load(name.decode() if isinstance(name, bytes) else name)
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
        return self._model.vocabulary.id(_text(word)) != UNKNOWN_ID

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
        state.filled = self._model.begin_sentence()

    def NullContextWrite(self, state: State) -> None:
        """Make a state that of nothing known."""
        state.filled = None

    def BaseScore(self, in_state: State, word: str | bytes, out_state: State) -> float:
        """log10 P(word | in_state); writes the state after the word."""
        known = self._model.null_context() if in_state.filled is None else in_state.filled
        score, out_state.filled = self._model.extend(known, word if isinstance(word, str) else _text(word))
        return score

    def BaseFullScore(self, in_state: State, word: str | bytes, out_state: State) -> FullScoreReturn:
        """As `BaseScore`, with the length of the longest gram and whether the word is unknown."""
        model, text = self._model, _text(word)
        known = model.null_context() if in_state.filled is None else in_state.filled
        score, length, out_state.filled = model.extend_with_length(known, text)
        return FullScoreReturn(score, length, model.vocabulary.id(text) == UNKNOWN_ID)

    def _full_scores(self, sentence: str | bytes, bos: bool, eos: bool) -> list[tuple[float, int, bool]]:
        words = self._model.vocabulary.ids(_text(sentence).split())
        ids = np.concatenate([np.array([START_ID] * bos, np.int32), words, np.array([END_ID] * eos, np.int32)])
        if not ids.size:
            return []
        scores = self._model.score_ids(ids, np.array([0, ids.size]), threads=1)[int(bos) :]
        lengths = self._model.gram_lengths(ids)[int(bos) :]
        return list(zip(scores.tolist(), lengths.tolist(), (ids[int(bos) :] == UNKNOWN_ID).tolist(), strict=True))

    def __repr__(self) -> str:
        return f"<Model from {self.path!r}>"


LanguageModel = Model  # KenLM has both names


def _text(text: str | bytes) -> str:
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else text
