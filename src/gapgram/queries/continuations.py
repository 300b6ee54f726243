"""Ids in and out, for programs that go token by token: the most probable continuations of some ids."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gapgram.arguments import checked_whole, wrong_type
from gapgram.arrays import Floats, Ids
from gapgram.errors import UsageError
from gapgram.kernels.text.special_words import END_ID, SPECIAL
from gapgram.queries.id_runs import check_range
from gapgram.queries.predict import indices_of_top_k

MOST_WORDS, MOST_BEAMS = 1 << 16, 1 << 12


class Continuation(NamedTuple):
    """Ids that may follow, as many as were asked for or up to the end of a sentence, and log10 of their probability."""

    ids: list[int]
    log10_prob: float


def ids_of(given: Any, n_words: int) -> Ids:
    """Ids of words from a list, an array or a tensor of torch; refused where a vocabulary of so many has them not."""
    if isinstance(given, str | bytes):
        raise wrong_type("ids", given, "a list or an array of the ids of words")
    ids = np.asarray(given.detach().cpu() if hasattr(given, "detach") else given)
    if ids.ndim != 1 or (ids.size and not np.issubdtype(ids.dtype, np.integer)):
        raise UsageError(f"ids of shape {list(ids.shape)} and type {ids.dtype}: expected whole numbers in a row")
    check_range(ids, n_words)
    return ids.astype(np.int32)


def check_beam(n: int, k: int) -> None:
    """Refuse continuations of no words, or none of them, or more than fit."""
    if not 1 <= checked_whole("n", n) <= MOST_WORDS or not 1 <= checked_whole("k", k) <= MOST_BEAMS:
        raise UsageError(f"{k} continuations of {n} words: expected 1 to {MOST_BEAMS:,}, of 1 to {MOST_WORDS:,}")


def beam_of(distribution: Callable[[Ids], Floats], before: Ids, n: int, k: int, *, ends: bool) -> list[Continuation]:
    """The k most probable continuations of one word less, each with its k most probable next words: the best of them,
    n times over; `ends`: a sentence may end. What `kernels.topk.continuing` does, for any distribution."""
    beams: list[tuple[float, list[int]]] = [(0.0, [])]
    for _ in range(n):
        longer: list[tuple[float, list[int]]] = []
        for log_prob, ids in beams:
            if ids and ids[-1] == END_ID:
                longer.append((log_prob, ids))
                continue
            probabilities = distribution(np.append(before, np.array(ids, np.int32)))
            words = np.arange(len(SPECIAL), probabilities.size)
            words = np.append(END_ID, words) if ends else words
            best = words[indices_of_top_k(words, probabilities[words], k)].tolist()
            longer += [(log_prob + math.log(probabilities[w]), [*ids, w]) for w in best if probabilities[w] > 0.0]
        beams = sorted(longer, key=lambda beam: -beam[0])[:k]
    return [Continuation(ids, log_prob / math.log(10.0)) for log_prob, ids in beams]
