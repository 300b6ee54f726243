"""A sample of the sentences of an encoded text."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from gapgram.arrays import Ids
from gapgram.kernels import fitting
from gapgram.text.corpus import sentence_begins


def sample_sentences(chunks: Iterable[Ids], *, seed: int, limit: int) -> Ids:
    """The sentences of a text with the smallest hashes of their words, by hash, until there are `limit` positions.

    The text comes in arrays of whole sentences. Of the sentences of several texts so chosen, those of all of them
    together can be chosen again.
    """
    ids, begins, hashes = np.empty(0, np.int32), np.zeros(1, np.int64), np.empty(0, np.uint64)
    for chunk in chunks:
        new_begins = sentence_begins(chunk)
        hashes = np.concatenate([hashes, fitting.sentence_hashes(chunk, new_begins, seed)])
        ids, begins = np.concatenate([ids, chunk]), np.concatenate([begins[:-1], begins[-1] + new_begins])
        order = np.argsort(hashes, kind="stable")
        ends = np.cumsum(np.diff(begins)[order])
        order = order[: int(np.searchsorted(ends, limit)) + 1]
        lengths = np.diff(begins)[order]
        starts = np.append(0, np.cumsum(lengths))
        ids = ids[np.arange(starts[-1]) + np.repeat(begins[order] - starts[:-1], lengths)]
        begins, hashes = starts, hashes[order]
    return ids
