"""Pieces drawn from a file, and the percentiles of their scores."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Sequence

import numpy as np

from gapgram.applications.filtering.pieces import RecordPiece, Records, Work
from gapgram.applications.filtering.tally import FilterTally
from gapgram.errors import TextError
from gapgram.system.parallel import parallel_map

SAMPLE_PIECES = 96  # of some hundred kilobytes each
_SEED = 1


def sampled(records: Records, on_bytes: Callable[[int], None]) -> list[RecordPiece]:
    """Some pieces of a file, all equally likely, the same ones every time; the file is read once."""
    draw = random.Random(_SEED).random
    chosen: list[tuple[float, int, RecordPiece]] = []
    for number, piece in enumerate(records.pieces(None, on_bytes)):
        entry = (-draw(), number, piece)
        if len(chosen) < SAMPLE_PIECES:
            heapq.heappush(chosen, entry)
        else:
            heapq.heappushpop(chosen, entry)
    return [piece for _, _, piece in sorted(chosen, key=lambda entry: entry[1])]


def percentiles(
    records: Records,
    work: Work,
    shares: Sequence[float],
    *,
    threads: int | None,
    on_bytes: Callable[[int], None] = lambda n: None,
) -> dict[float, float]:
    """The percentiles of the measure, by share, in a sample of a file."""

    def measure(piece: RecordPiece) -> list[float]:
        values: list[float] = work.measures(records.texts(piece, work, FilterTally([0]))).tolist()
        return values

    pieces = sampled(records, on_bytes)
    values = [v for measures in parallel_map(measure, pieces, threads) for v in measures]
    if not values:
        raise TextError("percentiles: no record with words to find them on")
    return dict(zip(shares, np.quantile(values, list(shares)).tolist(), strict=True))
