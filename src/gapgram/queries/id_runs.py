"""Sequences of word ids, checked and scored in runs of whole sequences; a thread takes a run at a time."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gapgram.arrays import Begins, Floats, Integers
from gapgram.errors import UsageError
from gapgram.kernels.text.special_words import START, START_ID
from gapgram.kernels.text.words import are_words
from gapgram.system.parallel import checked_threads, parallel_map, piece_size

if TYPE_CHECKING:
    from gapgram.queries.language_model import LanguageModel

RUN_WORDS = 1 << 16  # that one thread scores at a time, at most
_LEAST_RUN = 1 << 13


def score_in_runs(
    model: LanguageModel, ids: npt.NDArray[Any], begins: Begins, threads: int | None, *, checked: bool = False
) -> Floats:
    """log10 of the probability of each position; sequence s is ids[begins[s]:begins[s+1]].

    checked: whether ids are known to be words of the model, with `<s>` only where a sequence begins. The bounds of
    sequences must make sense.
    """
    n_words, threads, out = len(model.vocabulary), checked_threads(threads), np.empty(ids.size)
    if not checked and ids.dtype != np.int32:
        check_range(ids, n_words)  # kernels take 32 bits

    def score(run: tuple[int, int]) -> None:
        bounds = begins[run[0] : run[1] + 1]
        part = slice(int(bounds[0]), int(bounds[-1]))
        own, bounds = np.ascontiguousarray(ids[part], np.int32), bounds - part.start
        if not checked and not are_words(own, bounds, n_words):
            raise _refused(ids, n_words)
        model.score_checked_ids(own, bounds, out[part])

    # Several runs for each thread, long ones, so that threads seldom wait for Python to hand out the next.
    most = model.run_words
    words = most if most > RUN_WORDS else int(np.clip(ids.size // (16 * threads), _LEAST_RUN, most))
    for _ in parallel_map(score, _runs(begins, words), threads, ahead=3):
        pass
    return out


def _runs(begins: Integers, words: int) -> list[tuple[int, int]]:
    """Bounds of runs of whole sequences, each of about so many words; the last are smaller."""
    goals, end = [0], int(begins[-1])
    while goals[-1] < end:
        goals.append(goals[-1] + piece_size(end - goals[-1], words))
    cuts = np.unique(np.append(np.searchsorted(begins, goals[:-1]), begins.size - 1)).tolist()
    return list(pairwise(cuts))


def check_ids(ids: npt.NDArray[Any], begins: npt.NDArray[Any], n_words: int) -> None:
    """Refuse ids that the vocabulary does not have, and bounds of sequences that are none."""
    check_bounds(ids, begins)
    check_range(ids, n_words)
    if not are_words(np.ascontiguousarray(ids, np.int32), np.ascontiguousarray(begins, np.int64), n_words):
        raise _refused(ids, n_words)


def check_bounds(ids: npt.NDArray[Any], begins: npt.NDArray[Any]) -> None:
    """Refuse what is no whole number, and bounds of sequences that are none."""
    if ids.size and not np.issubdtype(ids.dtype, np.integer):
        raise UsageError(f"word ids: expected whole numbers, found {ids.dtype}")
    if begins.size and not np.issubdtype(begins.dtype, np.integer):
        raise UsageError(f"begins: expected whole numbers, found {begins.dtype}")
    if begins.size == 0 or begins[0] != 0 or begins[-1] != ids.size or np.any(begins[1:] < begins[:-1]):
        raise UsageError("begins: expected where each sequence begins, rising from 0, and last the number of ids")


def check_range(ids: npt.NDArray[Any], n_words: int) -> None:
    """Refuse ids that a vocabulary of so many words does not have."""
    if ids.size and (ids.min() < 0 or ids.max() >= n_words):
        raise UsageError(f"word ids: expected 0 to {n_words - 1}, found {ids.min()} to {ids.max()}")


def _refused(ids: npt.NDArray[Any], n_words: int) -> UsageError:
    """What is wrong with ids that are not words, or not in their places."""
    check_range(ids, n_words)
    return UsageError(f"word ids: {START} (id {START_ID}) may only begin a sequence")
