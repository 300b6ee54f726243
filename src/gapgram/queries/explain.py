"""Where a probability comes from: the lattice with the numbers of one prediction.

The shares say how much of the prediction each pattern decides; a pattern's share times its discounted
relative frequency is what it contributes, and the contributions add up to the probability.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from html import escape
from typing import Any

from gapgram.arrays import Ids
from gapgram.counts.counts import Counts, class_text
from gapgram.errors import ModelFileError
from gapgram.kernels.probability.probabilities import discounted, given_class
from gapgram.kernels.probability.scores import LEAST
from gapgram.kernels.probability.successors import shares_of_last
from gapgram.kernels.tables.model_arrays import BACKOFF, SCALE, ModelArrays
from gapgram.pattern import Pattern
from gapgram.queries.lattice_picture import as_svg
from gapgram.queries.shown import html_table

_ROUNDING = 1e-9  # by which sums may miss one


@dataclass(frozen=True)
class PatternShare:
    """What one pattern says about a word: all of its numbers for this context.

    total: how much was counted after the context; count: how much of it is the word.
    discount: D, taken off the count; discounted: the relative frequency of the word after that; backoff: the backoff
        weight, the part of the pattern's share that goes on to the patterns below it.
    share: the weight the pattern received, from being started from and from the patterns above it.
    given_class: of a pattern of classes, which predicts the word's class, the probability of the word given it; else 1.
    contribution: share times discounted times given_class. below: the patterns that skip more words, as the lattice
        has them.
    """

    pattern: str
    context: str
    total: int
    count: int
    discount: float
    discounted: float
    backoff: float
    share: float
    given_class: float
    contribution: float
    below: tuple[str, ...]

    @property
    def classes(self) -> bool:
        """Whether it is a pattern of classes."""
        return Pattern.parse(self.pattern).classes > 0

    @property
    def kind(self) -> str:
        """`classes`, `gaps` or `contiguous`."""
        pattern = Pattern.parse(self.pattern)
        return "classes" if pattern.classes else "contiguous" if pattern.is_contiguous else "gaps"


@dataclass(frozen=True)
class TextShare:
    """What the training text says of a word: how often it follows, of how many places; the weight, and what that
    contributes.

    context: the words that the places have in common with what was asked; behind a gap `…` stands before them.
    """

    source: str
    context: str
    total: int
    count: int
    weight: float
    contribution: float


@dataclass(frozen=True, repr=False)
class Explanation:
    """The probability of a word after a context, taken apart.

    log10_spelled: of an unknown word, whose probability is that of `<unk>`, log10 of its share of that, where the model
        has an open vocabulary.
    of_text: what the training text says beside the patterns, where the model keeps it.

    >>> import gapgram
    >>> model = gapgram.train(sentences=["the cat sat", "the dog sat", "a cat ran"] * 9, order=3, model="mkn")
    >>> whole = model.explain("sat", "the cat")
    >>> [(p.context, p.count, p.total) for p in whole.patterns]
    [('', 2, 10), ('cat', 1, 2), ('the cat', 9, 9)]
    >>> abs(sum(p.contribution for p in whole.patterns) + whole.uniform_contribution - whole.probability) < 1e-15
    True
    >>> whole
    <Explanation P(sat | the cat) = 0.8885: 99 % contiguous, 1 % every word alike>
    """

    word: str
    context: tuple[str, ...]
    probability: float
    patterns: tuple[PatternShare, ...]
    uniform_share: float
    uniform_contribution: float
    signature: str
    log10_spelled: float | None = None
    of_text: tuple[TextShare, ...] = ()

    @property
    def spelled(self) -> str:
        """What an unknown word has by its spelling, in a line; empty where it has nothing."""
        if self.log10_spelled is None:
            return ""
        own = 10.0**self.log10_spelled
        return f"spelled so {own:.4g} of <unk>: {self.word} itself has {self.probability * own:.4g}"

    @property
    def title(self) -> str:
        """The question and its answer."""
        return f"P({self.word} | {' '.join(self.context)}) = {self.probability:.4g}"

    @property
    def summary(self) -> str:
        """Which kinds of patterns the probability comes from, such as 77 % classes, 1 % gaps, 22 % contiguous."""
        parts = dict.fromkeys(("classes", "gaps", "contiguous"), 0.0)
        for p in self.patterns:
            parts[p.kind] += p.contribution / self.probability
        for share in self.of_text:
            parts[share.source] = share.contribution / self.probability
        parts["every word alike"] = self.uniform_contribution / self.probability
        return ", ".join(f"{_per_cent(part)} {kind}" for kind, part in parts.items() if part > 0)

    @property
    def by_contribution(self) -> tuple[PatternShare, ...]:
        """The patterns, those that contribute most first."""
        return tuple(sorted(self.patterns, key=lambda p: -p.contribution))

    def __repr__(self) -> str:
        return f"<Explanation {self.title}: {self.summary}>"

    def __str__(self) -> str:
        shown = [p for p in self.by_contribution if p.contribution > 0]
        width = max((len(p.context) for p in shown), default=0) + 2
        rows = (f"{100 * p.contribution / self.probability:6.1f} %  {p.context + ' •':{width}}" for p in shown)
        counts = (f"  {p.count:,} of {p.total:,}" for p in shown)
        of_text = (
            f"{100 * s.contribution / self.probability:6.1f} %  {s.source}: {s.context} •  {s.count:,} of {s.total:,}"
            for s in self.of_text
        )
        head = [self.title, self.summary, *filter(None, [self.spelled])]
        return "\n".join([*head, *of_text, *(row + count for row, count in zip(rows, counts, strict=True))])

    def _repr_html_(self) -> str:
        header = ["pattern", "context", "count", "of", "D", "backoff", "weight", "contribution", "part"]
        rows = [
            [
                p.pattern, f"{p.context} •", f"{p.count:,}", f"{p.total:,}", f"{p.discount:.3f}", f"{p.backoff:.3f}",
                f"{p.share:.3f}", f"{p.contribution:.3g}", f"{p.contribution / self.probability:.1%}",
            ]
            for p in self.by_contribution
        ]  # fmt: skip
        parts = [p.contribution / self.probability for p in self.by_contribution]
        head = f"<p>{escape('; '.join(filter(None, [f'{self.title}: {self.summary}', self.spelled])))}</p>"
        return head + f'<div style="overflow-x:auto">{as_svg(self)}</div>' + html_table(header, rows, parts)

    def _repr_svg_(self) -> str:
        return as_svg(self)

    def as_dict(self) -> dict[str, Any]:
        """All figures by name, for JSON."""
        return asdict(self)


def _per_cent(share: float) -> str:
    """A part of the probability, rounded.

    >>> _per_cent(0.774), _per_cent(0.002)
    ('77 %', 'under 1 %')
    """
    return f"{100 * share:.0f} %" if share >= 0.005 else "under 1 %"


def explain(counts: Counts, arrays: ModelArrays, ids: Ids, word: str, signature: str) -> Explanation:
    """Take apart the probability of the last of some ids, which was asked for as `word`, after the others."""
    available = ids.size - 1
    found, shares, rest = shares_of_last(ids, arrays)
    patterns = tuple(
        _pattern_share(
            counts, arrays, i, ids, int(found.counts[i, available]), int(found.rows[i, available]), float(shares[i])
        )
        for i, pattern in enumerate(counts.lattice.stored)
        if pattern.reach <= available
    )
    uniform = float(rest) * arrays.uniform
    probability = sum(p.contribution for p in patterns) + uniform
    if not 0.0 <= probability <= 1.0 + _ROUNDING or not all(0.0 <= p.share <= 1.0 + _ROUNDING for p in patterns):
        raise ModelFileError(f"a probability of {probability:g}: the model's file is damaged (gapgram verify)")
    return Explanation(
        word=word,
        context=tuple(counts.vocabulary[int(i)] for i in ids[:-1]),
        probability=max(probability, LEAST),
        patterns=patterns,
        uniform_share=float(rest),
        uniform_contribution=uniform,
        signature=signature,
    )


def _pattern_share(
    counts: Counts, arrays: ModelArrays, i: int, ids: Ids, count: int, row: int, share: float
) -> PatternShare:
    """What pattern i says, which counted the word so often and whose context has the statistics of this row."""
    pattern = counts.lattice.stored[i]
    left = max(float(discounted(arrays.discounts, i, count)), 0.0)
    frequency = left * float(arrays.row_values[row, SCALE])
    offsets = range(pattern.reach, 0, -1)
    words = [_shown(counts, int(ids[-1 - k]), pattern) if k in pattern else "_" for k in offsets]
    given = float(given_class(arrays, pattern.classes, int(ids[-1])))
    below = counts.lattice.below(pattern) if pattern in counts.lattice.patterns else ()
    return PatternShare(
        pattern=str(pattern),
        context=" ".join(words),
        total=int(arrays.tables.rows[row, 0]),
        count=count,
        discount=count - left,
        discounted=frequency,
        backoff=float(arrays.row_values[row, BACKOFF]),
        share=share,
        given_class=given,
        contribution=share * frequency * given,
        below=tuple(map(str, below)),
    )


def _shown(counts: Counts, word: int, pattern: Pattern) -> str:
    """A word of the context, or its class."""
    if pattern.classes:
        number = int(counts.tables.class_of[(pattern.classes - 1) * len(counts.vocabulary) + word])
        return class_text(counts.class_names[min(max(number, 0), len(counts.class_names) - 1)])
    return counts.vocabulary[word]
