"""A sample of the sentences of an encoded text."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from gapgram.arrays import Begins, BitWords, Ids, Integers
from gapgram.kernels.fitting import sample as fitting
from gapgram.kernels.text.special_words import START_ID
from gapgram.system.parallel import parallel_map


def sample_sentences(chunks: Iterable[Ids], *, seed: int, limit: int, threads: int = 1) -> Ids:
    """The sentences of a text with the smallest hashes of their words, by hash, until there are `limit` positions.

    The text comes in arrays of whole sentences. Of the sentences of several texts so chosen, those of all of them
    together can be chosen again. Sentences of the same hash are the same, in whatever order they come.
    """
    ids, begins, hashes = np.empty(0, np.int32), np.zeros(1, np.int64), np.empty(0, np.uint64)
    for chunk in chunks:
        new_begins = _begins(chunk, threads)
        hashes = np.concatenate([hashes, _hashes(chunk, new_begins, seed, threads)])
        ids = np.concatenate([ids, chunk]) if ids.size else chunk
        begins = np.concatenate([begins[:-1], begins[-1] + new_begins])
        order = np.argsort(hashes)
        ends = np.cumsum(np.diff(begins)[order])
        order = order[: int(np.searchsorted(ends, limit)) + 1]
        ids, begins = _in_order(ids, begins, order, threads)
        hashes = hashes[order]
    return ids


def _parts(n: int, threads: int) -> list[tuple[int, int]]:
    """As many parts of a list as there are threads."""
    return list(pairwise(n * i // threads for i in range(threads + 1)))


def _begins(ids: Ids, threads: int) -> Begins:
    """As `sentence_begins`."""
    found = parallel_map(
        lambda part: np.flatnonzero(ids[part[0] : part[1]] == START_ID) + part[0], _parts(ids.size, threads), threads
    )
    return np.concatenate([*found, [ids.size]])


def _hashes(ids: Ids, begins: Begins, seed: int, threads: int) -> BitWords:
    """The hash of every sentence."""
    parts = [begins[first : last + 1] for first, last in _parts(begins.size - 1, threads)]
    return np.concatenate(list(parallel_map(lambda some: fitting.sentence_hashes(ids, some, seed), parts, threads)))


def _in_order(ids: Ids, begins: Begins, order: Integers, threads: int) -> tuple[Ids, Begins]:
    """Some sentences in another order, and where each begins."""
    starts = np.append(0, np.cumsum(np.diff(begins)[order]))
    out = np.empty(starts[-1], np.int32)

    def copy(part: tuple[int, int]) -> None:
        first, last = part
        fitting.copy_sentences(ids, begins, order[first:last], out[starts[first] : starts[last]])

    list(parallel_map(copy, _parts(order.size, threads), threads))
    return out, starts
