"""The answers of a model that scores sequences of word ids and gives distributions, and has no faster way."""

from __future__ import annotations

import numpy as np

from gapgram.kernels.scores import sum_sequences
from gapgram.kernels.special_words import END_ID, START_ID
from gapgram.queries.language_model import LanguageModel, Sentence
from gapgram.queries.line_scores import ScoredLines
from gapgram.queries.predict import Prediction, predict_by_sorting
from gapgram.text.corpus import QUERY_RULES, TextRules, encode_block, sentence_begins
from gapgram.text.files import Block


class ByIds(LanguageModel):
    """What is left to say of a kind of model: what it is, its steps, `score_checked_ids`, `gram_lengths` and
    `distribution`."""

    def log10_prob(self, word: str, context: Sentence = (), *, open_vocabulary: bool = False) -> float:
        """log10 P(word | context); the context is a list of words, oldest first, `<s>` allowed as its first.

        open_vocabulary: a word that the model does not know has a probability of its own, not that of `<unk>`.
        """
        if open_vocabulary:
            return self._open_log10_prob(word, context)
        ids = np.append(self._context_ids(context), np.int32(self._word_id(word)))
        return float(self.score_checked_ids(ids, np.array([0, ids.size]))[-1])

    def predict(
        self, context: Sentence = (), k: int = 10, *, prefix: str = "", special: bool = False
    ) -> list[Prediction]:
        """The k most probable next words (`gapgram.queries.predict`), found by looking at all words."""
        return predict_by_sorting(self.distribution(context), self.vocabulary, k, prefix=prefix, special=special)

    def score_block(
        self, block: Block, rules: TextRules = QUERY_RULES, *, bos: bool = True, eos: bool = True
    ) -> ScoredLines:
        """Score lines as they are read from a text."""
        block = self.tokenised(block, rules)
        ids = encode_block(block, self.vocabulary, rules, keep_empty=True).ids
        begins = sentence_begins(ids)
        lines = np.arange(begins.size)
        if not bos:
            ids, begins = ids[ids != START_ID], begins - lines
        if not eos:
            ids, begins = ids[ids != END_ID], begins - lines
        scores = self.score_checked_ids(ids, begins)
        return ScoredLines(ids, scores, begins, sum_sequences(scores, begins), block)
