"""Positions to fit weights on, with the statistics that a model has of them without having seen them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gapgram.counts import Counts
from gapgram.errors import UsageError
from gapgram.kernels import fitting
from gapgram.kernels.lookup import availability
from gapgram.kernels.words import START, UNKNOWN
from gapgram.pattern import Pattern

Ids = npt.NDArray[np.int32]

NUMBERS = 1 << 24  # positions × patterns that a sample holds at most
_CHUNK = 1 << 12
_NEVER = 99  # a reach that no position allows

# All words that would be unknown make the model good at unknown words and worse at known ones, none the
# reverse; with a third of them both perplexities gain about as much (docs/weights.md).
LOST_EVERY = 3


@dataclass(frozen=True)
class Sample:
    """Statistics [position, pattern, 5] and features [position, feature]; see `kernels.fitting`."""

    statistics: Ids
    features: Ids

    def __len__(self) -> int:
        return len(self.statistics)


def left_out(counts: Counts, ids: Ids, *, seed: int, limit: int | None = None) -> Sample:
    """A sample of the training text itself, each position without its own contribution to the counts.

    Sentences are taken in the order of a hash of their words, so the sample does not depend on the order
    of the text. A word that occurs once would be unknown without its one occurrence: of those every third
    is kept, as an unknown word.
    """
    begins = np.append(np.flatnonzero(ids == START), ids.size)
    hashes = fitting.sentence_hashes(ids, begins, seed)
    return _sample(counts, ids, begins, np.argsort(hashes, kind="stable"), limit, seen=True)


def held_out(counts: Counts, ids: Ids, *, limit: int | None = None) -> Sample:
    """A sample of text that the counts have not seen."""
    begins = np.append(np.flatnonzero(ids == START), ids.size)
    return _sample(counts, ids, begins, np.arange(begins.size - 1), limit, seen=False)


def _sample(
    counts: Counts,
    ids: Ids,
    begins: npt.NDArray[np.int64],
    order: npt.NDArray[np.int64],
    limit: int | None,
    *,
    seen: bool,
) -> Sample:
    if counts.pruned:
        raise UsageError(
            f"counts pruned ({counts.pruned}) cannot be fitted to: what a position adds to them is not known any "
            "more. Learn the weights first, then prune the model"
        )
    limit = limit or NUMBERS // len(counts.patterns)
    reaches = counts.pattern_arrays["reaches"]
    allowed = np.where([p in counts.lattice.patterns for p in counts.patterns], reaches, _NEVER)
    parts = []
    for positions, starts in _chunks(begins, order, limit):
        words = ids[positions]
        available = availability(words, starts, counts.lattice.order)
        statistics = fitting.statistics_of(words, available, counts.tables.rows, counts.lookup_arrays)
        usable = (words != START) & (words != UNKNOWN)
        if seen:
            lost = _leave_out(counts, statistics, available) & usable
            usable &= ~lost | (np.cumsum(lost) % LOST_EVERY == 0)
        features = fitting.features_of(words, available, statistics, allowed, counts.lattice.order)
        chosen = np.flatnonzero(usable)
        parts.append((statistics.take(chosen, axis=0), features.take(chosen, axis=0)))
    return Sample(np.concatenate([s for s, _ in parts]), np.concatenate([f for _, f in parts]))


def _leave_out(counts: Counts, statistics: Ids, available: npt.NDArray[np.int16]) -> npt.NDArray[np.bool_]:
    """Take each position out of its statistics; True where its word occurs nowhere else."""
    order, reaches = counts.lattice.order, counts.pattern_arrays["reaches"]
    chain = np.array([counts.index(Pattern.contiguous(k)) for k in range(order)])
    contiguous = np.array([p.is_contiguous for p in counts.patterns])
    unique = fitting.unique_from(statistics, available, chain)
    fitting.leave_out(statistics, available, unique, reaches, contiguous, order)
    alone: npt.NDArray[np.bool_] = unique == 0
    return alone


def _chunks(
    begins: npt.NDArray[np.int64], order: npt.NDArray[np.int64], limit: int
) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
    """Positions of the sentences in this order up to the limit, a few thousand at a time, with their starts."""
    lengths = np.diff(begins)[order]
    ends = np.cumsum(lengths)
    last = min(int(np.searchsorted(ends, limit)) + 1, order.size)
    first = 0
    while first < last:
        done = int(ends[first - 1]) if first else 0
        stop = min(max(int(np.searchsorted(ends, done + _CHUNK)), first + 1), last)
        starts = np.append(0, np.cumsum(lengths[first:stop]))
        shift = np.repeat(begins[order[first:stop]] - starts[:-1], lengths[first:stop])
        yield np.arange(starts[-1]) + shift, starts
        first = stop
