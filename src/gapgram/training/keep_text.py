"""The training text kept in a model, for contexts without a limit, and how far it is trusted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise

import numpy as np

from gapgram.arrays import Floats, Ids, Integers
from gapgram.counting.in_memory import TextInMemory, sorted_by_word
from gapgram.counting.on_disk.count import TextInFiles
from gapgram.errors import TextError
from gapgram.estimation.discounts import Discounts
from gapgram.estimation.parts import ModelParts
from gapgram.estimation.unbounded import Unbounded
from gapgram.estimation.weights.learned import Parameters, Problem, chunks_of, log_odds
from gapgram.estimation.weights.sample import FittingSample
from gapgram.kernels.fitting.gradient import add_gradient
from gapgram.kernels.sessions.history_gate import fit_history
from gapgram.kernels.text.special_words import START_ID
from gapgram.kernels.unbounded import mixing, suffixes
from gapgram.kernels.unbounded.suffixes import TextIndex
from gapgram.system.array_store import IN_MEMORY, ArrayStore, InFolder
from gapgram.system.mapped_pages import PageBudget
from gapgram.system.parallel import all_in_threads, parallel_map
from gapgram.text.corpus import sentence_begins
from gapgram.training.limits import Workspace

MOST_PLACES = (1 << 31) - 1  # of a text, that a slot can name
RATES = (0.2, 0.1, 0.05, 0.03)  # of the passes over the positions that the gate is fitted to
START_LOGIT, START_SQUARE = -0.3, 0.3  # of the text's sources; how slowly they leave it
FITTED_POSITIONS = 1 << 19


def keep_text(
    text: TextInMemory | TextInFiles, parts: ModelParts, sample: FittingSample, workspace: Workspace, *,
    threads: int, progress: bool,
) -> Unbounded:  # fmt: skip
    """The text with its index, and the gate fitted to a sample of positions, each left out of the text."""
    counts, store = parts.counts, IN_MEMORY
    if isinstance(text, TextInFiles) and workspace.limits is not None:
        store = InFolder(text.folder.path, PageBudget(workspace.limits.memory.most_resident))
    kept = indexed(
        text.chunks(), text.positions, len(counts.vocabulary), counts.lattice.order, threads=threads, store=store,
        progress=progress,
    )  # fmt: skip
    if isinstance(text, TextInMemory) and text.lines is not None:
        kept = replace(kept, lines=text.lines.lines, files=tuple(text.lines.files))
    words, is_kept = sample.words[: 2 * FITTED_POSITIONS], sample.kept[: 2 * FITTED_POSITIONS]
    last = np.flatnonzero(words == START_ID)[-1] if len(words) < len(sample.words) else len(words)
    words, is_kept = words[:last], is_kept[:last]
    rows, shares = positions_of(kept.index, words, is_own=not sample.source.startswith("held-out"))
    rows, shares = rows[is_kept], shares[is_kept]
    shares[:, 0] = model_probabilities(parts, sample, len(rows), threads)
    return replace(kept, logits=fit_gate(rows, shares))


def model_probabilities(parts: ModelParts, sample: FittingSample, n: int, threads: int) -> Floats:
    """What the model gives the first positions of the sample that its weights were learned from."""
    weights, fitted = parts.weights, parts.discounts
    usual = fitted.values if fitted.estimated is None else fitted.estimated
    problem = Problem(parts.counts, Discounts(usual, fitted.fallbacks), sample, threads=threads)
    flat = (weights.gate_table, weights.log_odds_shift, log_odds(fitted))
    values = Parameters.of(np.concatenate([part.ravel() for part in flat]), len(fitted.values)).for_kernels

    def of_chunk(chunk: tuple[int, int]) -> Floats:
        slopes = problem.room(chunk[1] - chunk[0], 1)
        add_gradient(problem.positions(*chunk), problem.fixed, values, slopes, problem.zeros().for_kernels)
        probabilities: Floats = slopes.probabilities
        return probabilities

    return np.concatenate([np.empty(0), *parallel_map(of_chunk, chunks_of(n), threads)])


def indexed(
    chunks: Iterable[Ids], n_positions: int, n_words: int, order: int, *, threads: int = 1,
    store: ArrayStore = IN_MEMORY, progress: bool = False,
) -> Unbounded:  # fmt: skip
    """The index of a text, its sentences in their order; nothing is fitted yet. The same for any threads."""
    if n_positions > MOST_PLACES:
        raise TextError(f"{n_positions:,} words: a text that is kept (--unbounded) has {MOST_PLACES:,} at most")
    text, at = store.array("unbounded_text", np.int32, (n_positions,)), 0
    for ids in chunks:
        text[at : at + ids.size] = ids
        at += ids.size
    places = store.array("unbounded_suffixes", np.int32, (n_positions,))
    _, starts = sorted_by_word(text, n_words, threads, out=places)
    bits, n_bands = (n_words + 1).bit_length(), 16 * threads
    goals = np.searchsorted(starts, n_positions * np.arange(1, n_bands) // n_bands)
    cuts = np.unique([0, *np.minimum(goals, n_words).tolist(), n_words]).tolist()
    all_in_threads(
        lambda band: suffixes.sort_suffixes(text, starts, *band, bits, places), list(pairwise(cuts)), threads,
        title="sorting the text", unit="band", progress=progress,
    )  # fmt: skip
    n_grams = int(suffixes.count_grams(text, places, order))
    slots = store.array("unbounded_slots", np.uint64, (n_grams + n_grams // 4 + 1,))
    suffixes.fill_slots(text, places, order, slots)
    return Unbounded(TextIndex(text, places, slots, order), start_logits(), np.empty((0, 3), np.int64))


def start_logits() -> Floats:
    """The gate before anything is fitted."""
    logits = np.zeros((mixing.ROWS, mixing.SOURCES))
    logits[:, 1:] = START_LOGIT
    return logits


def positions_of(index: TextIndex, ids: Ids, *, is_own: bool) -> tuple[Integers, Floats]:
    """The gate's rows, and what each source gives, at all positions of sentences; the model's is 0 yet."""
    rows, shares = np.empty((ids.size, mixing.FEATURES), np.int64), np.empty((ids.size, mixing.SOURCES))
    mixing.positions_left_out(index, ids, sentence_begins(ids), is_own, rows, shares)
    return rows, shares


def fit_gate(rows: Integers, shares: Floats) -> Floats:
    """The logits of the gate, from positions with what each source gave the word."""
    logits, order = start_logits(), np.random.default_rng(1)
    squares = np.full(logits.shape, START_SQUARE)
    taking_part = (shares[:, 1:] >= 0.0).any(axis=1)
    rows, shares = rows[taking_part], shares[taking_part]
    for rate in RATES:
        shuffled = order.permutation(len(rows))
        fit_history(rows[shuffled], shares[shuffled], logits, squares, rate)
    return logits
