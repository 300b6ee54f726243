"""Counts and continuation counts of every pattern (DESIGN, section 2).

    >>> counts = ReferenceCounts([["a", "b"], ["c", "b"]], Lattice.full(3))
    >>> counts.counts[Pattern.of(1)][("a",), "b"]          # one word, <s>, stands before "a b"
    1
    >>> counts.counts[Pattern.of()][(), "b"]               # "b" follows "a" and "c"
    2
    >>> counts.counts[Pattern.of(2)][("<s>",), "b"]        # the gap of "<s> _ b" is filled by "a" and "c"
    2
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from gapgram.lattice import Lattice
from gapgram.pattern import Pattern

START, END, UNKNOWN = "<s>", "</s>", "<unk>"

Context = tuple[str, ...]
Gram = tuple[Context, str]


def keep(pattern: Pattern, before: Sequence[str]) -> Context:
    """The words of `before` (oldest first) that the pattern keeps, oldest first."""
    return tuple(before[-offset] for offset in reversed(pattern.offsets))


def occurrences(sentences: Iterable[Sequence[str]], pattern: Pattern) -> Iterator[tuple[Gram, Sequence[str]]]:
    """Every gram of the pattern, as often as it occurs, with all the words that stand before it."""
    for sentence in sentences:
        words = [START, *sentence, END]
        for i in range(max(1, pattern.reach), len(words)):
            yield (keep(pattern, words[:i]), words[i]), words[:i]


class ReferenceCounts:
    """For every pattern of a lattice: `counts[pattern][context, word]`, the count that is smoothed."""

    def __init__(self, sentences: Iterable[Sequence[str]], lattice: Lattice) -> None:
        self.sentences = [list(s) for s in sentences]
        self.lattice = lattice
        self.vocabulary = [*sorted({w for s in self.sentences for w in s} - {UNKNOWN}), END, UNKNOWN]
        self.counts = {p: self._count(p) for p in lattice.patterns}
        self.following: dict[Pattern, dict[Context, dict[str, int]]] = {}
        for pattern, grams in self.counts.items():
            table: dict[Context, dict[str, int]] = defaultdict(dict)
            for (context, word), count in grams.items():
                table[context][word] = count
            self.following[pattern] = dict(table)

    def _count(self, pattern: Pattern) -> dict[Gram, int]:
        if pattern == Pattern.contiguous(self.lattice.order - 1):
            return dict(Counter(gram for gram, _ in occurrences(self.sentences, pattern)))
        seen: dict[Gram, set[object]] = defaultdict(set)
        for number, (gram, before) in enumerate(occurrences(self.sentences, pattern)):
            seen[gram].add(self._filling(pattern, before, number))
        return {gram: len(fillings) for gram, fillings in seen.items()}

    @staticmethod
    def _filling(pattern: Pattern, before: Sequence[str], number: int) -> object:
        """What makes an occurrence of a gram different from another, for its continuation count."""
        if not pattern.is_contiguous:
            return tuple(before[-k] for k in range(1, pattern.reach) if k not in pattern)
        if len(before) > pattern.reach:
            return before[-pattern.reach - 1]
        return number  # the gram starts with <s>: nothing to its left, each occurrence counts

    def total(self, pattern: Pattern, context: Context) -> int:
        """The sum of the counts of all grams with this context."""
        return sum(self.following[pattern].get(context, {}).values())

    def types(self, pattern: Pattern, context: Context) -> tuple[int, int, int]:
        """N1, N2, N3+: how many words follow the context with count 1, 2, 3 or more."""
        counts = list(self.following[pattern].get(context, {}).values())
        return counts.count(1), counts.count(2), sum(c >= 3 for c in counts)

    def counts_of_counts(self, pattern: Pattern) -> tuple[int, int, int, int]:
        """n1 … n4: how many grams of the pattern have count 1 … 4."""
        values = Counter(self.counts[pattern].values())
        return values[1], values[2], values[3], values[4]
