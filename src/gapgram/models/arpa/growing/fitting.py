"""Probabilities and backoffs of given grams under which drawn text is most probable.

Equations (42) and (43) of docs/ideas/mathematics.md.

A gram h w decides of w after all contexts that end in h, but where a longer context has a gram of its own for w. Let x
be a context of the text, A(x) the product of the backoffs of its ends longer than h: the model says A(x) p(w | h).
Over the text, w is met C(h w) times where no longer gram decides, and is expected p(w | h) X(h w) times, with

    C(h w) = n(h w) - Σ n(v h w),    X(h w) = X(h) - Σ β(v h) X(v h),    sums over grams v h w
    X(h) = n(h) - Σ n(v h) + Σ β(v h) X(v h),                             over grams v h

n counting occurrences and β being backoffs. So C / X is the most probable p. It is drawn towards what the model says
after unknown words and h, p0, as if w had been met STRENGTH times more and expected as often:

    p(w | h) = (C + STRENGTH) / (X + STRENGTH / p0)

Backoffs follow from the probabilities, and X from the backoffs; a few rounds are enough.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from gapgram.arrays import Floats, Ids, Integers, Mask
from gapgram.kernels.backoff import grams as kernels
from gapgram.kernels.backoff.choose import FEW, Choosable
from gapgram.kernels.backoff.grow import count_grams
from gapgram.kernels.text.special_words import START_ID, UNKNOWN_ID
from gapgram.models.grams import NEVER, Grams

STRENGTH = 3.0
ROUNDS = 4
MOST = 0.999  # that the grams of a context may have together


@dataclass(frozen=True)
class GrownGrams:
    """Grams, how often each was drawn, and the figures that fit.

    base, words, children   as `kernels.backoff.grams` has them
    parents, suffixes       of each gram the one without its last, and without its first word; -1 for single words
    counts, met             how often each occurs in the drawn text, and how often as a context
    prior                   what the model says of each after unknown words
    probs, backoffs         what is fitted; the backoff of a context that no gram extends is 1
    """

    base: Integers
    words: Ids
    children: Integers
    parents: Ids
    suffixes: Ids
    counts: Ids
    met: Ids
    prior: Floats
    probs: Floats
    backoffs: Floats

    @classmethod
    def of(cls, grams: Grams) -> GrownGrams:
        """Grams with every end among them; nothing is counted and fitted yet."""
        words, children = np.asarray(grams.words, np.int32), np.asarray(grams.children, np.int64)
        n, first = len(words), int(grams.base[1])
        parents = np.full(n, -1, np.int32)
        parents[first:] = np.repeat(np.arange(n, dtype=np.int32), np.diff(children))
        suffixes = kernels.suffixes_of(grams.base, grams.order, words, children).astype(np.int32)
        counts, met = np.zeros((2, n), np.int32)
        prior = 10.0 ** np.asarray(grams.log10_probs, float)
        return cls(
            grams.base, words, children, parents, suffixes, counts, met, prior, prior.copy(), np.ones(n)
        ).normed()

    def counted(self, texts: Iterable[Ids]) -> GrownGrams:
        """The same with the occurrences in some texts."""
        counts, met = self.counts.copy(), self.met.copy()
        for ids in texts:
            count_grams(ids, self.order, self.words, self.children, counts, met)
        return replace(self, counts=counts, met=met)

    @property
    def order(self) -> int:
        """The length of the longest gram."""
        return len(self.base) - 1

    def _grams_of(self, length: int) -> slice:
        return slice(int(self.base[length - 1]), int(self.base[length]))

    def normed(self) -> GrownGrams:
        """The same with backoffs under which every distribution sums to one."""
        probs, backoffs = self.probs.copy(), np.ones(len(self.words))
        single = self._grams_of(1)
        probs[START_ID] = 0.0
        probs[single] /= probs[single].sum()
        for length in range(2, self.order + 1):
            own, contexts = self._grams_of(length), self._grams_of(length - 1)
            parents, n = self.parents[own] - contexts.start, contexts.stop - contexts.start
            total = np.bincount(parents, probs[own], n)
            rest = np.maximum(1.0 - np.bincount(parents, probs[self.suffixes[own]], n), 0.0)
            # Where all words that can be have grams, these have all but what the shorter context gives the others.
            full = rest < FEW
            left = np.where(full, rest, 1.0 - np.minimum(total, MOST))
            probs[own] *= np.where(full | (total > MOST), (1.0 - left) / np.maximum(total, FEW), 1.0)[parents]
            backoffs[contexts] = np.where(full, 1.0, left / np.maximum(rest, FEW))
        return replace(self, probs=probs, backoffs=backoffs)

    def uses(self) -> tuple[Floats, Floats]:
        """C and X of each gram: how often it decides, and how often were its probability one."""
        counts, met = self.counts.astype(float), self.met.astype(float)
        decided, expected, of_context = counts.copy(), np.zeros(len(counts)), np.zeros(len(counts))
        for length in range(self.order - 1, 0, -1):
            own, longer = self._grams_of(length), self._grams_of(length + 1)
            suffixes, n = self.suffixes[longer] - own.start, own.stop - own.start
            passed = self.backoffs[longer] * of_context[longer]
            of_context[own] = met[own] + np.bincount(suffixes, passed - met[longer], n)
            decided[own] -= np.bincount(suffixes, counts[longer], n)
        root = float((self.backoffs * of_context)[self._grams_of(1)].sum())
        for length in range(1, self.order + 1):
            own = self._grams_of(length)
            expected[own] = of_context[self.parents[own]] if length > 1 else root
            if length < self.order:
                longer = self._grams_of(length + 1)
                parents = self.parents[longer]
                passed = self.backoffs[parents] * of_context[parents]
                expected[own] -= np.bincount(self.suffixes[longer] - own.start, passed, own.stop - own.start)
        return decided, np.maximum(expected, 0.0)

    def fitted(self) -> GrownGrams:
        """The same with fitted probabilities."""
        fit = self
        for _ in range(ROUNDS):
            decided, expected = fit.uses()
            probs = (decided + STRENGTH) / (expected + STRENGTH / np.maximum(self.prior, 1e-30))
            probs[START_ID] = 0.0  # never drawn
            fit = replace(fit, probs=np.minimum(probs, MOST)).normed()
        return fit

    def choosable(self) -> Choosable:
        """The grams as `kernels.backoff.choose` has them."""
        return Choosable(self.base, self.children, self.suffixes, self.met, self.probs)

    def only(self, kept: Mask) -> GrownGrams:
        """The grams that are kept, with those that they need; normed, not fitted anew."""
        numbers = (np.cumsum(kept) - 1).astype(np.int32)
        base = np.searchsorted(np.flatnonzero(kept), self.base)
        base = base[: max(int(np.searchsorted(base, base[-1])) + 1, 2)]  # without lengths of which nothing is left
        first = int(self.base[1])
        extended = np.bincount(self.parents[first:][kept[first:]], minlength=len(kept))[kept]
        parents, suffixes = (np.where(a[kept] >= 0, numbers[a[kept]], -1) for a in (self.parents, self.suffixes))
        return GrownGrams(
            base, self.words[kept], np.concatenate([[0], np.cumsum(extended)]) + base[1], parents, suffixes,
            self.counts[kept], self.met[kept], self.prior[kept], self.probs[kept], self.backoffs[kept],
        ).normed()  # fmt: skip

    def without_unknown(self) -> Mask:
        """All grams but longer ones in which `<unk>` is."""
        unknown: Mask = self.words == UNKNOWN_ID
        for length in range(2, self.order + 1):
            own = self._grams_of(length)
            unknown[own] |= unknown[self.parents[own]]
        unknown[UNKNOWN_ID] = False
        return ~unknown

    def grams(self) -> Grams:
        """As a backoff model has them."""
        with np.errstate(divide="ignore"):
            log10_probs = np.maximum(np.log10(self.probs), NEVER)
        return Grams(self.base, self.words, self.children, log10_probs, np.log10(self.backoffs))
