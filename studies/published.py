"""A museum piece: the rules by which the paper's published perplexities were really computed.

This is no estimator. It departs from the paper's formulas, what it gives out does not sum to one (see
`sum_over_vocabulary`), and it is here only so that the published table can be recomputed and judged.
docs/ideas/paper.md says where it departs.

A *shape* is a string over `1` and `_`, a place each: `1` for a word that is kept. A table of a shape maps
the words at its ones to an entry. Absolute tables have shapes of ones only. A *row* of words to be
predicted comes with a tuple of the places that it keeps, the predicted word last.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import log2

from gapgram.errors import TextError

Gram = tuple[str, ...]
Entry = tuple[int, int, int, int]  # the total of the values; of those that are 1; that are 2; that are 3 or more
Table = dict[Gram, Entry]

LONGEST = 5
FIRST, START, END, UNKNOWN = "<fs>", "<s>", "</s>", "<unk>"
NOTHING: Entry = (0, 0, 0, 0)


def absolute_tables(lines: Iterable[str], longest: int = LONGEST) -> list[Counter[Gram]]:
    """Counts of all runs of 1 … `longest` words; a line is `<fs> <s> LINE </s>`."""
    tables: list[Counter[Gram]] = [Counter() for _ in range(longest)]
    for line in lines:
        words = (FIRST, START, *line.split(), END)
        for k, table in enumerate(tables, 1):
            table.update(zip(*(words[i:] for i in range(k)), strict=False))
    return tables


def continuation_shapes(longest: int = LONGEST) -> list[str]:
    """All shapes with a gap, each after the one it is made from; none longer than 2 that starts with two gaps.

    >>> continuation_shapes(2)
    ['_', '1_', '_1', '__']
    """
    shapes = ("".join(marks) for k in range(1, longest + 1) for marks in product("1_", repeat=k))
    return [s for s in shapes if "_" in s and (len(s) <= 2 or not s.startswith("__"))]


def continuation_table(shape: str, absolute: Sequence[Counter[Gram]], made: dict[str, Table]) -> Table:
    """The table of a shape, from the one in which its rightmost gap is a word again."""
    gap = shape.rindex("_")
    source = f"{shape[:gap]}1{shape[gap + 1 :]}"
    dropped = source[:gap].count("1")
    sums: dict[Gram, list[int]] = {}
    values: Iterable[tuple[Gram, int | None]]
    if "_" in source:
        values = ((gram, entry[0]) for gram, entry in made[source].items())
    else:
        values = ((gram, _value(gram, count, gap)) for gram, count in absolute[len(source) - 1].items())
    for gram, value in values:
        if value is None:
            continue
        sums_of_gram = sums.setdefault((*gram[:dropped], *gram[dropped + 1 :]), [0, 0, 0, 0])
        sums_of_gram[0] += value
        if value:
            sums_of_gram[min(value, 3)] += value
    shared: dict[Entry, Entry] = {}
    entries = ((gram, (s[0], s[1], s[2], s[3])) for gram, s in sums.items())
    return {gram: shared.setdefault(entry, entry) for gram, entry in entries}


def _value(gram: Gram, count: int, gap: int) -> int | None:
    """What an entry of an absolute table contributes; None for nothing at all."""
    if gram[0] != FIRST:
        return 1
    if gram == (FIRST, START) and gap == 0:
        return 0
    return count if gap == 0 and len(gram) > 1 else None


def table_discounts(shape: str, counts: Iterable[tuple[Gram, int]]) -> tuple[float, ...]:
    """(0, D1, D2, D3+) of a table; none for tables of single words."""
    if shape.count("1") <= 1:
        return (0.0, 0.0, 0.0, 0.0)
    of_counts = Counter(count for gram, count in counts if gram[0] != FIRST)
    n1, n2, n3, n4 = (of_counts[k] for k in (1, 2, 3, 4))
    if not n1 or not n2 or not n3:
        raise TextError(f"too small a text for the published program: table {shape} has n1={n1}, n2={n2}, n3={n3}")
    y = n1 / (n1 + 2 * n2)
    return 0.0, 1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3


@dataclass(frozen=True)
class PublishedProgram:
    """All tables of a training text, and what the published program makes of them."""

    counts: dict[str, dict[Gram, int]]  # by shape: absolute counts, or totals of continuation entries
    entries: dict[str, Table]
    discounts: dict[str, tuple[float, ...]]
    words: int  # N

    @classmethod
    def of(cls, lines: Iterable[str], longest: int = LONGEST) -> PublishedProgram:
        """Count a text, one sentence a line."""
        absolute = absolute_tables(lines, longest)
        made: dict[str, Table] = {}
        for shape in continuation_shapes(longest):
            made[shape] = continuation_table(shape, absolute, made)
        counts: dict[str, dict[Gram, int]] = {"1" * k: dict(table) for k, table in enumerate(absolute, 1)}
        counts |= {shape: {gram: entry[0] for gram, entry in table.items()} for shape, table in made.items()}
        discounts = {shape: table_discounts(shape, table.items()) for shape, table in counts.items()}
        words = sum(count for gram, count in absolute[0].items() if gram != (FIRST,))
        counts[""] = {(): words}
        return cls(counts, made, discounts, words)

    def log2_probs(self, words: Sequence[str], *, generalized: bool) -> list[float]:
        """log2 of the figure for each word after the words before it in the sequence."""
        return [log2(self.probability(tuple(words[: i + 1]), generalized=generalized)) for i in range(len(words))]

    def probability(self, words: Gram, *, generalized: bool) -> float:
        """The program's figure for the last word after the others, by its MKN or its GLM."""
        return _OfWord(self, words, generalized).top()

    def sum_over_vocabulary(self, context: Gram, *, generalized: bool) -> float:
        """The sum of its figures after a context over all training words, `<s>`, `</s>` and one unknown word."""
        return _OfVocabulary(self, (*context, UNKNOWN), generalized).top()

    @cached_property
    def vocabulary(self) -> list[str]:
        """All words that `sum_over_vocabulary` sums over."""
        return [*(word for (word,) in self.counts["1"] if word != FIRST), UNKNOWN]

    @cached_property
    def masses(self) -> dict[str, dict[Gram, float]]:
        """By shape and context, the sum of all count - D."""
        masses: dict[str, dict[Gram, float]] = {}
        for shape, table in self.counts.items():
            if shape.endswith("1"):
                discounts, masses[shape] = self.discounts[shape], defaultdict[Gram, float](float)
                for gram, count in table.items():
                    if gram[-1] != FIRST:
                        masses[shape][gram[:-1]] += count - discounts[min(count, 3)]
        return masses


class _OfWord:
    """The figure for one word: the recursion over the shapes of what is kept."""

    def __init__(self, program: PublishedProgram, words: Gram, generalized: bool) -> None:
        self.program, self.words, self.generalized = program, words, generalized
        self.never_seen = 1 / (program.words + 1)
        self.known: dict[str, float] = {}

    def top(self) -> float:
        """All words kept, absolute counts."""
        shape = "1" * len(self.words)
        return self._value(shape, shape, shape[:-1])

    def _lower(self, kept: str) -> float:
        """A value that others are interpolated with; `kept` is 1 or 0 a place, without leading zeros."""
        if kept not in self.known:
            shape = kept.replace("0", "_") if "0" in kept else f"_{kept}"
            self.known[kept] = self._value(kept, shape, f"{shape[:-1]}_")
        return self.known[kept]

    def _value(self, kept: str, shape: str, denominator_shape: str) -> float:
        last = self.words[len(self.words) - len(kept) :]
        gram = last if "0" not in kept else tuple(w for w, k in zip(last, kept, strict=True) if k == "1")
        context = gram[:-1]
        denominator = self.program.counts[denominator_shape].get(context, 0)
        if not context:
            return self._single(shape, gram, denominator)
        if not denominator:
            return self._below(kept)
        d = self.program.discounts[shape]
        partial = self.program.entries[f"{kept[:-1].replace('0', '_')}_"].get(context, NOTHING)
        weight = d[1] * partial[1] + d[2] * partial[2] + d[3] * partial[3]
        first = self._discounted(shape, gram)
        return first / denominator + (weight / denominator * self._below(kept) if weight else 0.0)

    def _below(self, kept: str) -> float:
        if not self.generalized:
            return self._lower(kept[1:])
        below = SMALLER[kept]
        # The last word is dropped too: that term is (L - 1)/(N + 1), before the sum is divided by L - 1.
        return sum(map(self._lower, below)) / len(below) + self.never_seen

    def _single(self, shape: str, gram: Gram, denominator: int) -> float:
        count = self.program.counts[shape].get(gram)
        return self.never_seen if count is None or not denominator else count / denominator

    def _discounted(self, shape: str, gram: Gram) -> float:
        count = self.program.counts[shape].get(gram, 0)
        return count - self.program.discounts[shape][min(count, 3)]


class _OfVocabulary(_OfWord):
    """The sum of the figures of all words: every step of the recursion is linear in them."""

    def __init__(self, program: PublishedProgram, words: Gram, generalized: bool) -> None:
        super().__init__(program, words, generalized)
        self.never_seen *= len(program.vocabulary)

    def _single(self, shape: str, gram: Gram, denominator: int) -> float:
        seen = len(self.program.counts[shape]) - ((FIRST,) in self.program.counts[shape])
        never_seen = (len(self.program.vocabulary) - seen) / (self.program.words + 1)
        return self.program.masses[shape][()] / denominator + never_seen

    def _discounted(self, shape: str, gram: Gram) -> float:
        return self.program.masses[shape].get(gram[:-1], 0.0)


@dataclass(frozen=True)
class PlaceSums:
    """Of the words at one place of all sequences: their number and the sum of log2 P; the same of known words."""

    words: int
    known_words: int
    log2_prob: float
    log2_prob_known: float


def place_sums(
    program: PublishedProgram, sequences: Iterable[Gram], *, generalized: bool, longest: int = LONGEST
) -> list[PlaceSums]:
    """The sums for each place, the first word of the sequences first."""
    known = program.counts["1"]
    sums = [[0, 0, 0.0, 0.0] for _ in range(longest)]
    for sequence in sequences:
        words = sequence[:longest]
        values = program.log2_probs(words, generalized=generalized)
        for at_place, word, value in zip(sums, words, values, strict=True):
            is_known = (word,) in known
            at_place[0] += 1
            at_place[1] += is_known
            at_place[2] += value
            at_place[3] += value if is_known else 0.0
    return [PlaceSums(int(a), int(b), c, d) for a, b, c, d in sums]


def published_perplexity(sums: Sequence[PlaceSums], n: int) -> float:
    """2 to the power of minus the mean of log2 P(first n words)/n over the sequences."""
    return float(2 ** (-sum(s.log2_prob for s in sums[:n]) / sum(s.words for s in sums[:n])))


def perplexity_of_known(sums: Sequence[PlaceSums], n: int) -> float:
    """The same without the words that training does not hold; the paper has no such figure."""
    return float(2 ** (-sum(s.log2_prob_known for s in sums[:n]) / sum(s.known_words for s in sums[:n])))


def _smaller(kept: str) -> list[str]:
    """What is left when one kept place but the last is dropped, without leading zeros."""
    kept_words = [i for i, k in enumerate(kept[:-1]) if k == "1"]
    return [f"{kept[:i]}0{kept[i + 1 :]}".lstrip("0") for i in kept_words]


SMALLER = {f"{mask:b}": _smaller(f"{mask:b}") for mask in range(3, 1 << LONGEST, 2)}
