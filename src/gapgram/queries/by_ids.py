"""The answers of a model that scores sequences of word ids and gives distributions, and has no faster way."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gapgram.arrays import Floats, Ids
from gapgram.kernels.scoring import sum_sequences
from gapgram.kernels.special_words import END_ID, START_ID
from gapgram.queries.language_model import LanguageModel, Sentence
from gapgram.queries.line_scores import ScoredLines
from gapgram.queries.predict import Prediction, predict_by_sorting
from gapgram.queries.states import State
from gapgram.text.corpus import QUERY_RULES, TextRules, encode_block, sentence_begins
from gapgram.text.files import Block


class ByIds(LanguageModel):
    """What is left to say of a kind of model: what it is, `score_checked_ids`, `gram_lengths` and `distribution`.

    A state holds the ids of the words that a prediction can see.
    """

    def log10_prob(self, word: str, context: Sentence = ()) -> float:
        """log10 P(word | context); the context is a list of words, oldest first, `<s>` allowed as its first."""
        ids = np.append(self._context_ids(context), np.int32(self._word_id(word)))
        return float(self.score_checked_ids(ids, np.array([0, ids.size]))[-1])

    def predict(
        self, context: Sentence = (), k: int = 10, *, prefix: str = "", special: bool = False
    ) -> list[Prediction]:
        """The k most probable next words (`gapgram.queries.predict`), found by looking at all words."""
        return predict_by_sorting(self.distribution(context), self.vocabulary, k, prefix=prefix, special=special)

    def begin_sentence(self) -> State:
        """The state at the beginning of a sentence, after `<s>`."""
        return State(np.array([START_ID], np.int32).tobytes())

    def null_context(self) -> State:
        """The state in which nothing is known of what came before."""
        return State(b"")

    def extend(self, state: State, word: str | int) -> tuple[float, State]:
        """(log10 P(word | state), the state after the word); the word may be given by its id."""
        scores, (after,) = self.extend_many([state], [word], threads=1)
        return float(scores[0]), after

    def extend_with_length(self, state: State, word: str | int) -> tuple[float, int, State]:
        """As `extend`, with the length of the longest contiguous gram that was found, second."""
        score, after = self.extend(state, word)
        ids = np.append(np.frombuffer(state.key, np.int32), np.int32(self._step_id(word)))
        return score, int(self.gram_lengths(ids)[-1]), after

    def extend_many(
        self, states: Sequence[State], words: Sequence[str | int] | Ids, *, threads: int | None = None
    ) -> tuple[Floats, list[State]]:
        """`extend` for many states, a word for each: (scores, states after the words)."""
        added = self._step_ids(states, words)
        sequences = [np.append(np.frombuffer(s.key, np.int32), w) for s, w in zip(states, added, strict=True)]
        begins = np.cumsum([0, *(one.size for one in sequences)])
        scores = self.score_ids(np.concatenate([np.empty(0, np.int32), *sequences]), begins, threads=threads)
        after = [State(one[max(0, one.size - self.order + 1) :].tobytes()) for one in sequences]
        return scores[begins[1:] - 1], after

    def score_block(
        self, block: Block, rules: TextRules = QUERY_RULES, *, bos: bool = True, eos: bool = True
    ) -> ScoredLines:
        """Score lines as they are read from a text."""
        ids = encode_block(block, self.vocabulary, rules, keep_empty=True).ids
        begins = sentence_begins(ids)
        lines = np.arange(begins.size)
        if not bos:
            ids, begins = ids[ids != START_ID], begins - lines
        if not eos:
            ids, begins = ids[ids != END_ID], begins - lines
        scores = self.score_checked_ids(ids, begins)
        return ScoredLines(ids, scores, begins, sum_sequences(scores, begins))
