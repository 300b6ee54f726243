"""The sample that the weights of a run are fitted on."""

from __future__ import annotations

from pathlib import Path

from gapgram.arrays import Ids
from gapgram.counting.memory_needs import sample_positions
from gapgram.counting.text_source import TextSource
from gapgram.counts.counts import Counts
from gapgram.estimation.weights.sample import FittingSample, held_out, left_out, left_out_in_parts
from gapgram.training.choose_classes import ChosenClasses
from gapgram.training.cross_fitting import counts_without


def fitting_sample(
    text: TextSource,
    counts: Counts,
    chosen: ChosenClasses,
    unseen: Ids | None,
    *,
    seed: int,
    folder: Path | None,
    threads: int,
) -> FittingSample:
    """Positions of held-out text, if there is any, of what classes were found without, or of the whole text.

    folder: for a sample that is larger than the memory. threads: that may look it up.
    """
    if unseen is not None:
        return held_out(counts, unseen, folder=folder, threads=threads)
    ids, is_apart = chosen.held_apart, chosen.held_apart is not None
    if ids is None:
        ids = text.sample(seed=seed, limit=sample_positions(len(counts.lattice.stored)))
    if chosen.crosswise:
        parts = counts_without(ids, text, chosen.crosswise, counts.lattice, threads=threads)
        return left_out_in_parts(parts, counts.lattice, ids.size, seed=seed, folder=folder, threads=threads)
    return left_out(counts, ids, seed=seed, folder=folder, threads=threads, held_apart=is_apart)
