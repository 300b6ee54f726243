"""The backoff model that a binary file of KenLM holds, read back gram by gram.

Of a trie this takes as long as reading it. Hash tables do not say which words their keys are of: pairs of grams are
tried (`kernels.kenlm.grams`), as many as there are sequences of two words, and more for longer grams.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gapgram.arrays import Integers, Mask, Singles
from gapgram.errors import ModelFileError
from gapgram.kernels.kenlm import grams as kernels
from gapgram.kernels.kenlm.arrays import PROBING
from gapgram.kernels.kenlm.lookup import OLDER_FACTOR, SHORTER_FACTOR
from gapgram.kernels.kenlm.scoring import LARGEST
from gapgram.kernels.text.special_words import START_ID, UNKNOWN_ID
from gapgram.models.backoff import BackoffModel
from gapgram.models.grams import NEVER, Grams
from gapgram.models.kenlm_binary.header import bad_grams, damaged
from gapgram.models.kenlm_binary.model import KenlmModel
from gapgram.system.parallel import checked_threads, parallel_map
from gapgram.system.progress import progress_bar

Keys = npt.NDArray[np.uint64]

MAX_PAIRS_TRIED = 1 << 43  # some hours of a core
_PAIRS_PER_TASK = 1 << 26


class _Level(NamedTuple):
    """The grams of a length: the context of each, by its number among those of one word less, newest word, figures."""

    contexts: Integers
    newest: Integers
    probs: Singles
    backoffs: Singles


def as_backoff(model: KenlmModel, *, threads: int | None = None, progress: bool = False) -> BackoffModel:
    """The backoff model that gives the same probabilities as a binary file of KenLM.

    Grams that KenLM put in where shorter ones were missing are grams like others. A gram that no context leads to is
    left out.
    """
    vocabulary = model.vocabulary.listed()
    if model.file.kind == PROBING:
        levels = list(_levels_of_hashes(model, checked_threads(threads), progress))
    else:
        levels = list(_levels_of_trie(model))
    for level in levels:
        _check_figures(model, level)
    grams = _tree_of(levels, model.vocabulary.ids_of_file(), len(vocabulary))
    return BackoffModel(vocabulary, grams, model.signature)


def _check_figures(model: KenlmModel, level: _Level) -> None:
    probs = level.probs[level.probs != -np.inf]
    if not ((probs <= 0) & (probs >= -LARGEST)).all() or not (np.abs(level.backoffs) <= LARGEST).all():
        raise bad_grams(model.path)


def _tree_of(levels: list[_Level], word_ids: Integers, n_words: int) -> Grams:
    """The tree of `kernels.backoff.grams`: grams below their contexts, rising by gapgram's ids."""
    unigrams = levels[0]
    probs, backoffs = np.full(n_words, unigrams.probs[UNKNOWN_ID]), np.zeros(n_words, np.float32)
    probs[START_ID] = NEVER  # where the file lacks it; without </s> a sentence ends in an unknown word
    probs[word_ids], backoffs[word_ids] = unigrams.probs, unigrams.backoffs
    words, children, all_probs, all_backoffs = [np.arange(n_words)], [], [probs], [backoffs]
    numbers, first = word_ids, 0  # of the grams of one word less; where they begin
    for level in levels[1:]:
        n = len(words[-1])
        contexts, newest = numbers[level.contexts], word_ids[level.newest]
        order = np.lexsort((newest, contexts))
        children.append(first + n + np.searchsorted(contexts[order], np.arange(n)))
        words.append(newest[order])
        all_probs.append(level.probs[order])
        all_backoffs.append(level.backoffs[order])
        numbers = np.empty_like(order)
        numbers[order] = np.arange(len(order))
        first += n
    base = np.cumsum([0, *map(len, words)])
    children.append(np.full(len(words[-1]) + 1, base[-1]))
    probs, backoffs = (np.concatenate(figures) + np.float32(0.0) for figures in (all_probs, all_backoffs))  # no -0
    probs[probs == -np.inf] = NEVER
    return Grams(base, np.concatenate(words).astype(np.int32), np.concatenate(children), probs, backoffs)


def _levels_of_trie(model: KenlmModel) -> Iterator[_Level]:
    file = model.file
    probs, backoffs, _, begins = kernels.single_words(file)
    everything = np.arange(file.n_words)
    level = _Level(everything, everything, probs, backoffs)
    yield level
    shorter = begins  # where grams of k words begin, for each gram of k - 1 words that they end in
    for k in range(1, file.order):
        words, probs, backoffs, longer = kernels.grams_of_trie(k, file)
        suffixes = np.repeat(np.arange(len(level.probs)), _sizes(model, begins, len(words)))
        if k == 1:
            contexts = words
        else:
            contexts = kernels.contexts_in_trie(k, words, suffixes, level.contexts, shorter, file)
        if words.size and not (contexts.min() >= 0 and contexts.max() < len(level.probs)):
            raise damaged(model.path, f"a gram of {k + 1} words has a context that is not there")
        level = _Level(contexts, level.newest[suffixes], probs, backoffs)
        yield level
        shorter, begins = begins, longer


def _sizes(model: KenlmModel, begins: Keys, n: int) -> Integers:
    """The lengths of the lists that begin here and hold n grams together."""
    if begins[0] != 0 or begins[-1] != n or (begins[1:] < begins[:-1]).any():
        raise bad_grams(model.path)
    whole = begins.astype(np.int64)
    return whole[1:] - whole[:-1]


class _Keyed(NamedTuple):
    """Grams in a hash table: beside a level, the gram without its oldest word, that word, keys, which end no other."""

    level: _Level
    suffixes: Integers
    oldest: Integers
    keys: Keys
    leaves: Mask


def _levels_of_hashes(model: KenlmModel, threads: int, progress: bool) -> Iterator[_Level]:
    file = model.file
    probs, backoffs, leaves, _ = kernels.single_words(file)
    everything, nothing = np.arange(file.n_words), np.zeros(file.n_words, np.int64)
    # A word has the empty gram for a context and for what is left without its oldest word.
    words = _Level(nothing, everything, probs, backoffs)
    yield words
    shorter, n_between = _Keyed(words, nothing, everything, everything.view(np.uint64), leaves), 1
    for k in range(1, file.order):
        longer = _longer(model, k, shorter, n_between, threads, progress)
        yield longer.level
        shorter, n_between = longer, len(shorter.keys)


def _longer(model: KenlmModel, k: int, shorter: _Keyed, n_between: int, threads: int, progress: bool) -> _Keyed:
    """The grams of k + 1 words, given those of k words, of which `n_between` grams of k - 1 words are the middle."""
    level = shorter.level
    # Grams that longer ones end in, and contexts that something follows, each by what is between, then by what they
    # add to a key
    ends = np.flatnonzero(~shorter.leaves)
    bases = shorter.keys[ends] * SHORTER_FACTOR
    ends, bases = _sorted(ends, level.contexts[ends], bases)
    starts = np.flatnonzero(level.backoffs.view(np.uint32) != np.uint32(1 << 31))
    factors = (shorter.oldest[starts] + 1).astype(np.uint64) * OLDER_FACTOR
    starts, factors = _sorted(starts, shorter.suffixes[starts], factors)
    groups = level.contexts[ends]
    group_begins = np.searchsorted(shorter.suffixes[starts], np.arange(n_between + 1))
    bits, shift = kernels.keys_there(k, model.file)
    costs = np.diff(group_begins)[groups]

    def work(span: tuple[int, int]) -> Integers:
        pairs: Integers = kernels.pairs_there(k, *span, bases, groups, factors, group_begins, bits, shift, model.file)
        return pairs

    title = f"grams of {k + 1} words"
    with progress_bar(title, total=int(costs.sum()), unit="pair", progress=progress) as advance:
        spans = parts_to_try(model, costs)
        tried = zip(spans, parallel_map(work, spans, threads), strict=True)
        pairs = np.concatenate([np.empty((0, 3), np.int64), *_advancing(advance, costs, tried)])
    suffixes, contexts = ends[pairs[:, 0]], starts[pairs[:, 1]]
    keys, probs, backoffs, leaves = kernels.figures_there(pairs[:, 2].copy(), k == model.order - 1, model.file)
    level = _Level(contexts, level.newest[suffixes], probs, backoffs)
    return _Keyed(level, suffixes, shorter.oldest[contexts], keys, leaves)


def _sorted(grams: Integers, groups: Integers, added: Keys) -> tuple[Integers, Keys]:
    """Grams and what they add to a key, by group, then by that."""
    order = np.lexsort((added, groups))
    return grams[order], added[order]


def parts_to_try(model: KenlmModel, costs: Integers) -> list[tuple[int, int]]:
    """Runs of grams that need about as many pairs as a thread tries at a time."""
    total = np.cumsum(costs, dtype=np.float64)
    if total.size and total[-1] > MAX_PAIRS_TRIED:
        raise ModelFileError(
            f"{model.path}: which words the grams of its hash tables have can only be tried, and {total[-1]:.2g} pairs "
            "are too many: convert the ARPA file that it was built from, or build a trie from it"
        )
    step, end = _PAIRS_PER_TASK, total[-1] if total.size else 0.0
    cuts = np.searchsorted(total, np.arange(step, end, step)).tolist()
    return list(pairwise(sorted({0, *cuts, len(costs)})))


def _advancing(advance: Callable[[float], Any], costs: Integers, tried: Any) -> Iterator[Integers]:
    for (first, last), pairs in tried:
        advance(int(costs[first:last].sum()))
        yield pairs
