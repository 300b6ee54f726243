"""A reader that learns what it reads: docs/ideas/mathematics.md, equations (34) to (38).

One view, words by themselves, each word read counting half of what the next one does:

    >>> view = ReadingView(offsets=(), decay=0.5)
    >>> reader = ReferenceReader([view], logits={}, squares={}, n_known=9, class_of=lambda word: 0)
    >>> for word in (4, 5):
    ...     _ = reader.learn(word, before=[1], of_model=0.1)
    >>> reader.counts(view, [1])
    {4: 0.25, 5: 0.5}

The model gives 5 a tenth, the view two thirds. Both began with the same weight; but the view did not have 5 when it was
read, and the gate learned to trust the model somewhat more:

    >>> round(reader.probability(5, [1], of_model=0.1), 4)
    0.3332
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from reference.gate import word_bucket

RATE, FARTHEST = 0.2, 20.0
SUMS, AGES = 18, 28  # buckets of sums of counts, and of how many words were read
MOST_FOLLOWERS, MOST_SAME, MOST_TIED = 7, 32, 64
UNKNOWN, START, END = 0, 1, 2

Feature = tuple[str, int, int]  # its kind, the view or the distance, its bucket
Table = dict[tuple[Feature, int], float]  # by feature and source


@dataclass(frozen=True)
class ReadingView:
    """The distances of the words that make a context, whether their classes stand for them, decay and boost; longest:
    whether only those words count before which most words were the same."""

    offsets: tuple[int, ...]
    decay: float
    of_classes: bool = False
    boost: float = 0.0
    longest: bool = False


def magnitude(x: float, n: int) -> int:
    """The bucket of a number among n, equation (36).

    >>> [magnitude(x, 18) for x in (0, 0.1, 1, 2, 1e9)]
    [0, 1, 4, 5, 17]
    """
    return 0 if x <= 0 else 1 + min(max(math.floor(math.log(x) / 0.47) + 3, 0), n - 2)


@dataclass
class ReferenceReader:
    """What was read, word by word, and the gate; a word is its id, known to the model below n_known."""

    views: Sequence[ReadingView]
    logits: Table
    squares: Table
    n_known: int
    class_of: Callable[[int], int]
    past: list[tuple[Sequence[int], int]] = field(default_factory=list)  # what stood before each word in its sentence

    def context(self, view: ReadingView, before: Sequence[int]) -> tuple[int, ...] | None:
        """What a view sees; None where the sentence is too short for it."""
        if any(k > len(before) for k in view.offsets):
            return None
        words = tuple(before[-k] for k in view.offsets)
        return tuple(self.class_of(word) for word in words) if view.of_classes else words

    def counts(self, view: ReadingView, before: Sequence[int]) -> dict[int, float]:
        """The decayed counts of the words that followed a context: the left of equation (34)."""
        wanted, counts = self.context(view, before), dict[int, float]()
        if wanted is None:
            return counts
        for ago, (earlier, word) in zip(range(len(self.past), 0, -1), self.past, strict=True):
            if self.context(view, earlier) == wanted:
                boost = 2.0 ** (view.boost * word.bit_length())
                counts[word] = counts.get(word, 0.0) + boost * view.decay**ago
        return counts

    def longest_end(self, view: ReadingView, before: Sequence[int]) -> tuple[int, dict[int, float]]:
        """Of the words that followed a context, by where each did so last, those before which most words were the same:
        how many, and a count of 1 for each; equation (35)."""
        wanted, last = self.context(view, before), dict[int, int]()
        for place, (earlier, word) in enumerate(self.past):
            if wanted is not None and self.context(view, earlier) == wanted:
                last[word] = place
        if not 0 < len(last) <= MOST_TIED:
            return 0, {}
        lengths = {word: self.n_same(before, place) for word, place in last.items()}
        length = max(lengths.values())
        return length, {word: 1.0 for word, own in lengths.items() if own == length >= len(view.offsets)}

    def n_same(self, before: Sequence[int], place: int) -> int:
        """How many last words of a sentence are those before a place of what was read, 32 at most; where it begins
        another ended."""
        read = [END, *(word for _, word in self.past[:place])]
        pairs = zip([END if word == START else word for word in reversed(before)], reversed(read), strict=False)
        return min(next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(before), place + 1)), MOST_SAME)

    def following(self, view: ReadingView, before: Sequence[int]) -> tuple[int, dict[int, float]]:
        """The level of a view before a prediction, equation (37), and the counts of the words that followed."""
        if view.longest:
            length, counts = self.longest_end(view, before)
            return min(length - len(view.offsets) + 1, SUMS - 1) if counts else 0, counts
        counts = self.counts(view, before)
        return magnitude(sum(counts.values()), SUMS), counts

    def given(self, word: int, before: Sequence[int], of_model: float) -> dict[int, float]:
        """What each source that takes part gives a word; of_model: what the model gives it, or `<unk>` for it."""
        was_read = any(word == earlier for _, earlier in self.past)
        given = {0: 0.0 if word >= self.n_known and was_read else of_model}
        for v, view in enumerate(self.views, 1):
            _, counts = self.following(view, before)
            if counts:
                given[v] = counts.get(word, 0.0) / sum(counts.values())
        return given

    def features(self, before: Sequence[int]) -> list[Feature]:
        """What the gate looks at."""
        found: list[Feature] = []
        for v, view in enumerate(self.views):
            level, counts = self.following(view, before)
            found.append(("sum", v, level))
            found.append(("followers", v, min(len(counts), MOST_FOLLOWERS)))
        found.append(("words read", 0, magnitude(len(self.past), AGES)))
        for k in (1, 2):
            word = before[-k] if k <= len(before) and before[-k] < self.n_known else UNKNOWN
            found.append(("word", k, word_bucket(word)))
        return found

    def weights(self, features: Sequence[Feature], sources: Mapping[int, float]) -> dict[int, float]:
        """The weight of each source: the right of equation (35)."""
        sums = {s: sum(self.logits.get((f, s), 0.0) for f in features) for s in sources}
        exponentials = {s: math.exp(max(x - max(sums.values()), -FARTHEST)) for s, x in sums.items()}
        total = sum(exponentials.values())
        return {s: value / total for s, value in exponentials.items()}

    def probability(self, word: int, before: Sequence[int], of_model: float) -> float:
        """The left of equation (35)."""
        given = self.given(word, before, of_model)
        weights = self.weights(self.features(before), given)
        return sum(weights[s] * given[s] for s in given)

    def learn(self, word: int, before: Sequence[int], of_model: float) -> float:
        """Predict a word, move the gate by it, equation (37), and remember it; returns its probability."""
        given, features = self.given(word, before, of_model), self.features(before)
        weights = self.weights(features, given)
        probability = sum(weights[s] * given[s] for s in given)
        if word < self.n_known:
            for s in given:
                slope = weights[s] * (given[s] / probability - 1.0)
                for f in features:
                    self.squares[f, s] = self.squares.get((f, s), 1.0) + slope * slope
                    self.logits[f, s] = self.logits.get((f, s), 0.0) + RATE * slope / math.sqrt(self.squares[f, s])
        self.past.append((list(before), word))
        return probability
