"""Counts and continuation counts of every pattern: docs/ideas/mathematics.md, equations (1) to (6).

    >>> counts = ReferenceCounts([["a", "b"], ["c", "b"]], Lattice.full(3))
    >>> counts.counts[Pattern.of(1)][("a",), "b"]          # one word, <s>, stands before "a b"
    1
    >>> counts.counts[Pattern.of()][(), "b"]               # "b" follows "a" and "c"
    2
    >>> counts.counts[Pattern.of(2)][("<s>",), "b"]        # the gap of "<s> _ b" is filled by "a" and "c"
    2

With the class of every word, patterns of classes are counted as if classes were words; so they are for each clustering.

    >>> lattice = Lattice.chain(2).with_classes("chain")
    >>> counts = ReferenceCounts([["a", "x"], ["b", "x"]], lattice, [{"a": "L", "b": "L", "x": "R"}])
    >>> counts.counts[Pattern.of(1).of_classes][("L",), "R"], counts.given_class(1, "a")
    (2, 0.5)
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from gapgram.lattice import Lattice
from gapgram.pattern import Pattern

START, END, UNKNOWN = "<s>", "</s>", "<unk>"

Context = tuple[str, ...]
Gram = tuple[Context, str]


class Prediction(NamedTuple):
    """A word of a text, and all that stands before it in its sentence, from `<s>` on."""

    sentence: int
    before: list[str]
    word: str


def predictions(sentences: Iterable[Sequence[str]]) -> Iterator[Prediction]:
    """Every word that is predicted: those of the sentences, and their ends."""
    for number, sentence in enumerate(sentences):
        words = [START, *sentence, END]
        for i in range(1, len(words)):
            yield Prediction(number, words[:i], words[i])


def keep(pattern: Pattern, before: Sequence[str]) -> Context:
    """The words of `before` (oldest first) that the pattern keeps, oldest first: equation (1)."""
    return tuple(before[-offset] for offset in reversed(pattern.offsets))


class ReferenceCounts:
    """For every pattern of a lattice: `counts[pattern][context, word]`, the count that is smoothed.

    class_of: of each clustering the class of every word, where the lattice has patterns of classes; special words are
        their own classes.
    """

    def __init__(
        self, sentences: Iterable[Sequence[str]], lattice: Lattice, class_of: Sequence[Mapping[str, str]] = ()
    ) -> None:
        self.sentences = [list(s) for s in sentences]
        self.lattice, self.class_of = lattice, class_of
        self.vocabulary = [*sorted({w for s in self.sentences for w in s} - {UNKNOWN}), END, UNKNOWN]
        self.occurrences = Counter(word for _, _, word in predictions(self.sentences))
        self.counts = {pattern: self._count(pattern) for pattern in lattice.stored}
        self.following: dict[Pattern, dict[Context, dict[str, int]]] = {p: defaultdict(dict) for p in self.counts}
        for pattern, grams in self.counts.items():
            for (context, word), count in grams.items():
                self.following[pattern][context][word] = count

    # What is counted

    def predictions(self) -> Iterator[Prediction]:
        """The predictions that are counted: those of the text."""
        return predictions(self.sentences)

    def gram(self, pattern: Pattern, prediction: Prediction) -> Gram:
        """The gram of a prediction under a pattern."""
        return keep(pattern, self.names(pattern, prediction.before)), self.name(pattern, prediction.word)

    def name(self, pattern: Pattern, word: str) -> str:
        """What a pattern sees of a word: the word, or its class."""
        return self.class_of[pattern.classes - 1].get(word, word) if pattern.classes else word

    def names(self, pattern: Pattern, words: Sequence[str]) -> list[str]:
        """What a pattern sees of words."""
        return [self.name(pattern, word) for word in words]

    def _count(self, pattern: Pattern) -> dict[Gram, int]:
        """Equations (2) to (4): how many different things make an occurrence of each gram count."""
        seen: dict[Gram, set[object]] = defaultdict(set)
        for prediction in self.predictions():
            if pattern.reach <= len(prediction.before):
                seen[self.gram(pattern, prediction)].add(self._what_counts(pattern, prediction))
        return {gram: len(found) for gram, found in seen.items()}

    def _what_counts(self, pattern: Pattern, prediction: Prediction) -> object:
        """What makes an occurrence of a gram different from another."""
        before = self.names(pattern, prediction.before)
        itself = prediction.sentence, len(before)
        if not pattern.is_contiguous:
            return tuple(before[-k] for k in range(1, pattern.reach) if k not in pattern)  # the filling of its gaps
        if pattern.reach == self.lattice.order - 1:
            return itself  # the longest pattern: every occurrence counts
        if pattern.reach == len(before):
            return itself  # the gram starts with <s>: nothing to its left, every occurrence counts
        return before[-pattern.reach - 1]  # the word to its left

    # What is known of a context: equation (5)

    def context(self, pattern: Pattern, before: Sequence[str]) -> Context:
        """What a pattern keeps of the words before a prediction: words, or their classes."""
        return keep(pattern, self.names(pattern, before))

    def count(self, pattern: Pattern, context: Context, word: str) -> int:
        """The count of a gram."""
        return self.counts[pattern].get((context, self.name(pattern, word)), 0)

    def total(self, pattern: Pattern, context: Context) -> int:
        """The sum of the counts of all grams with this context."""
        return sum(self.following[pattern].get(context, {}).values())

    def types(self, pattern: Pattern, context: Context) -> tuple[int, int, int]:
        """N1, N2, N3+: how many words follow the context with count 1, 2, 3 or more."""
        counts = list(self.following[pattern].get(context, {}).values())
        return counts.count(1), counts.count(2), sum(c >= 3 for c in counts)

    def missing(self, pattern: Pattern, context: Context) -> int:
        """How much of the total belongs to grams that were pruned."""
        return 0

    def types_before_pruning(self, pattern: Pattern, context: Context) -> tuple[int, int, int]:
        """About what N1, N2, N3+ were: what is missing counts as grams with count 1, which most of it was."""
        n1, n2, n3 = self.types(pattern, context)
        return n1 + self.missing(pattern, context), n2, n3

    # What is known of the text

    def counts_of_counts(self, pattern: Pattern) -> tuple[int, int, int, int]:
        """n1 … n4: how many grams of the pattern have count 1 … 4. Equation (6)."""
        values = Counter(self.counts[pattern].values())
        return values[1], values[2], values[3], values[4]

    def given_class(self, clustering: int, word: str) -> float:
        """P(word | its class in a clustering, from 1): how often it occurs, of all words of its class; (25)."""
        return self.occurrences[word] / max(self.occurrences_of_class(clustering, word), 1)

    def occurrences_of_class(self, clustering: int, word: str) -> int:
        """How often words of the class of a word occur."""
        class_of = self.class_of[clustering - 1]
        own = class_of.get(word, word)
        return sum(n for other, n in self.occurrences.items() if class_of.get(other, other) == own)

    @cached_property
    def ranks(self) -> dict[str, int]:
        """0 `<unk>`, 1 `<s>`, 2 `</s>`, then words by falling frequency, equal ones by their bytes."""
        words = [w for w in self.vocabulary if w not in (END, UNKNOWN)]
        by_frequency = sorted(words, key=lambda w: (-self.occurrences[w], w.encode()))
        return {word: rank for rank, word in enumerate([UNKNOWN, START, END, *by_frequency])}
