"""What learned weights are fitted to: docs/ideas/mathematics.md, equations (21), (23) and (25).

Each position of a sample of the training text is predicted from the counts of the text without that prediction.

    >>> from gapgram.lattice import Lattice
    >>> whole = ReferenceCounts([["a", "b"], ["a", "b"], ["c", "b"]], Lattice.chain(2))
    >>> second = Prediction(1, ["<s>", "a"], "b")
    >>> counts = LeftOutCounts(whole, second)
    >>> whole.counts[Pattern.of(1)][("a",), "b"], counts.counts[Pattern.of(1)][("a",), "b"]
    (2, 1)
    >>> counts.counts[Pattern.of(1)][("b",), "</s>"]      # b is still there, as a context
    3
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from gapgram.pattern import Pattern
from reference.counts import UNKNOWN, Context, Prediction, ReferenceCounts, predictions
from reference.gate import Fitted
from reference.learned import LearnedModel

LOST_EVERY = 3  # of the words that would be unknown, one in three is predicted
NO_CLASS = ""  # that no context ever held


class LeftOutCounts(ReferenceCounts):
    """Counts of a text in which one prediction did not happen; its words are still there before other words.

    hidden: words that count as unknown, because classes were found without the sentences in which they occur: they
        are never counted, and contexts that hold their classes were never seen.
    """

    def __init__(
        self, whole: ReferenceCounts, left_out: Prediction, hidden: frozenset[str] = frozenset()
    ) -> None:
        self.whole, self.left_out, self.hidden = whole, left_out, hidden
        super().__init__(whole.sentences, whole.lattice, whole.class_of)

    def predictions(self) -> Iterator[Prediction]:
        """All but the one."""
        return (prediction for prediction in super().predictions() if prediction != self.left_out)

    def count(self, pattern: Pattern, context: Context, word: str) -> int:
        """The count of a gram; 0 for a hidden word."""
        return 0 if word in self.hidden else super().count(pattern, context, word)

    def context(self, pattern: Pattern, before: Sequence[str]) -> Context:
        """What a pattern keeps of the words before a prediction; the classes of hidden words are nobody's."""
        if pattern.classes:
            before = [NO_CLASS if word in self.hidden else word for word in before]
        return super().context(pattern, before)

    def given_class(self, clustering: int, word: str) -> float:
        """P(word | its class) without one occurrence of the word; 0 for a hidden word."""
        if word in self.hidden:
            return 0.0
        return max(self.occurrences[word] - 1, 0) / max(self.occurrences_of_class(clustering, word) - 1, 1)

    def counts_of_counts(self, pattern: Pattern) -> tuple[int, int, int, int]:
        """Those of the whole text."""
        return self.whole.counts_of_counts(pattern)


def left_out_losses(
    whole: ReferenceCounts, fitted: Fitted, sample: Iterable[int], hidden: frozenset[str] = frozenset()
) -> Iterator[float]:
    """-ln P of every position of a sample, each left out of its own counts. Equation (21).

    sample: the numbers of its sentences, in its order. Of the words that would be unknown if left out, every third is
        predicted, as an unknown word; words that the text has as unknown are not.
    """
    lost = 0
    for number in sample:
        for prediction in (p for p in whole.predictions() if p.sentence == number and p.word != UNKNOWN):
            if whole.occurrences[prediction.word] == 1 or prediction.word in hidden:
                lost += 1
                if lost % LOST_EVERY:
                    continue
            model = LearnedModel(LeftOutCounts(whole, prediction, hidden), fitted)
            yield -math.log(model.probability(prediction.word, prediction.before))


def held_out_losses(model: LearnedModel, sentences: Iterable[Sequence[str]]) -> Iterator[float]:
    """-ln P of every word of other text that is not unknown. Equation (21)."""
    for _, before, word in predictions(sentences):
        if word != UNKNOWN:
            yield -math.log(model.probability(word, before))
