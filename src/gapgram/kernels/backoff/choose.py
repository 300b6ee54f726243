"""Which grams of a backoff model stay where there is room for some.

A gram is worth the nats that the drawn text loses without it: (41) of docs/ideas/mathematics.md, X of (42) being how
often it is asked. Both depend on what else stays. A context with many grams leaves little to other words, so that each
of them seems worth much, though all could go together; and where longer grams go, shorter ones are asked more often. So
grams are chosen as they were grown, each context from none, and the longest first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gapgram.kernels.backoff.grow import ROUNDS, gain
from gapgram.kernels.compiled import kernel

LEAST_LEFT = 1e-3  # that grams leave of a context
FEW = 1e-6  # the probability of words that are not worth backing off for


class Choosable(NamedTuple):
    """The grams of `fitting.GrownGrams`; met: how often each occurs as a context."""

    base: np.ndarray
    children: np.ndarray
    suffixes: np.ndarray
    met: np.ndarray
    probs: np.ndarray


class Chosen(NamedTuple):
    """What `choose` fills in, of each gram, and works with.

    kept        bool: whether it stays
    marked      bool: whether it does so far
    met         float: how often it is met as a context, weighted by the backoffs that lead to it: X of `fitting`
    covered     float: of these of its context, where longer grams that stay decide of its last word
    backoffs    float: what its grams that stay leave, over what shorter contexts leave for them
    """

    kept: np.ndarray
    marked: np.ndarray
    met: np.ndarray
    covered: np.ndarray
    backoffs: np.ndarray


@kernel
def _choose_of_context(context, grams, least_gain, costs, chosen):
    """Mark the grams of a context that stay, given what was chosen of longer ones."""
    first, last = grams.children[context], grams.children[context + 1]
    # As when they were grown, what the others get follows from the choice.
    backoff = 1.0
    for _ in range(ROUNDS):
        own, theirs = 0.0, 0.0
        for gram in range(first, last):
            shorter = grams.probs[grams.suffixes[gram]]
            gained = (chosen.met[context] - chosen.covered[gram]) * gain(grams.probs[gram], backoff * shorter)
            chosen.marked[gram] = chosen.kept[gram] or gained > least_gain * costs[gram]
            if chosen.marked[gram]:
                own += grams.probs[gram]
                theirs += shorter
        backoff = max(1.0 - own, LEAST_LEFT) / (1.0 - theirs) if theirs < 1.0 - FEW else 1.0
    chosen.backoffs[context] = backoff


@kernel
def choose(grams, least_gain, costs, chosen):
    """Choose the grams that gain at least so much for what they cost, and what they need; the longest first.

    A gram needs the one without its last and the one without its first word. Single words all stay. What a shorter gram
    is worth depends on the longer ones that stay: where they decide, it does not.
    """
    base, order = grams.base, grams.base.size - 1
    chosen.kept[:] = False
    chosen.kept[: base[1]] = True
    chosen.met[:], chosen.covered[:], chosen.backoffs[:] = grams.met, 0.0, 1.0
    for length in range(order, 1, -1):
        # How often contexts are met, (42); the longest grams are contexts of none.
        for longer in range(base[length - 1], base[length] if length < order else base[length - 1]):
            passed = chosen.backoffs[longer] * chosen.met[longer]
            chosen.met[grams.suffixes[longer]] += passed - grams.met[longer]
        for context in range(base[length - 2], base[length - 1]):
            _choose_of_context(context, grams, least_gain, costs, chosen)
            for gram in range(grams.children[context], grams.children[context + 1]):
                if chosen.marked[gram]:
                    suffix = grams.suffixes[gram]
                    chosen.kept[gram], chosen.kept[context], chosen.kept[suffix] = True, True, True
                    chosen.covered[suffix] += chosen.backoffs[context] * chosen.met[context]
