"""Probabilities of their own for words that a model does not know."""

from __future__ import annotations

import numpy as np

from gapgram.arrays import Floats
from gapgram.errors import UsageError
from gapgram.estimation.spelling import Spelling
from gapgram.kernels.scores import sum_sequences
from gapgram.kernels.special_words import END_ID, SPECIAL, START_ID, UNKNOWN_ID
from gapgram.queries.line_scores import ScoredLines
from gapgram.queries.raw_text import ReadsText

_SPECIAL = tuple(word.encode() for word in SPECIAL)


class SpellsWords(ReadsText):
    """What a model with an open vocabulary adds to what it is asked for."""

    @property
    def open_vocabulary(self) -> bool:
        """Whether the model can give every word a probability of its own."""
        return self.spelling is not None

    @property
    def spelling(self) -> Spelling | None:
        """How words are spelled that the model does not know, where it was trained with an open vocabulary."""
        return None

    def opened(self, lines: ScoredLines) -> ScoredLines:
        """Lines that were scored, with unknown words by their spelling."""
        if not self.open_vocabulary:
            raise UsageError("open vocabulary: the model has no spelling: train it with one (--open-vocabulary)")
        scores = self._open_scores(lines)
        return lines._replace(scores=scores, sums=sum_sequences(scores, lines.begins))

    def _open_scores(self, lines: ScoredLines) -> Floats:
        """The scores of lines, with unknown words by their spelling."""
        assert self.spelling is not None, "the vocabulary is open"
        return spelled_scores(self.spelling, lines)


def spelled_scores(spelling: Spelling, lines: ScoredLines) -> Floats:
    """The scores of lines in which an unknown word has a probability of its own: equation (46).

    `<unk>` in a text, which stands for any unknown word, keeps that of all.
    """
    places = np.flatnonzero((lines.ids != START_ID) & (lines.ids != END_ID))
    words = lines.block.data.split()
    if len(words) != places.size:  # special words were skipped
        words = [word for word in words if word not in _SPECIAL]
    unknown = [i for i in np.flatnonzero(lines.ids[places] == UNKNOWN_ID).tolist() if words[i] not in _SPECIAL]
    scores = lines.scores.copy()
    scores[places[unknown]] += spelling.log10_probs([words[i].decode("utf-8", "replace") for i in unknown])
    return scores
