"""The grams of a backoff model, and how the ends of grams that a file lacks are filled in."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from gapgram.arrays import Floats, Ids, Integers, Singles
from gapgram.errors import SumWarning
from gapgram.kernels.backoff import grams as kernels
from gapgram.kernels.text.special_words import START_ID
from gapgram.text.vocabulary import Vocabulary

CLOSE_BY_FIGURES = 1e-2  # of one, where figures of a file, rounded by whoever wrote it, are what there is
_MAX_LOG10 = 300.0  # no power of ten beyond is finite
NEVER = -99.0  # log10 of the probability of <s>, as SRILM writes it


@dataclass(frozen=True)
class Grams:
    """The arrays of `kernels.backoff.grams`: a tree of grams with their probabilities and backoffs."""

    base: Integers
    words: Integers | Ids
    children: Integers | Ids
    log10_probs: Floats | Singles
    log10_backoffs: Floats | Singles

    @property
    def order(self) -> int:
        """The length of the longest gram."""
        return len(self.base) - 1

    def sizes(self) -> list[int]:
        """How many grams of each length there are."""
        return np.diff(self.base).tolist()  # type: ignore[no-any-return]


def word_ids(
    base: Integers, words: Integers | Ids, children: Integers | Ids, length: int, shorter: Integers
) -> Integers:
    """[gram, place]: the words of all grams of a length, given those of the grams one word shorter."""
    first, last = base[length - 1 : length + 1]
    if length == 1:
        return words[first:last, None].astype(np.int64)
    n = np.diff(children[base[length - 2] : first + 1])
    return np.hstack([np.repeat(shorter, n, axis=0), words[first:last, None]])


def with_longer(grams: Grams, ids: Integers, probs: Floats | Singles, backoffs: Floats | Singles) -> Grams | None:
    """The grams with those of the next length, sorted under those that they extend; None if one of these is missing.

    ids: [gram, place], the words of the longer grams.
    """
    first, n = grams.base[-2], len(grams.words)
    parents = kernels.parents_of(ids, grams.words, grams.children)
    if parents.size and parents.min() < 0:
        return None
    order = np.lexsort((ids[:, -1], parents))
    begins = np.searchsorted(parents[order], np.arange(first, n)) + n
    return Grams(
        np.append(grams.base, n + len(ids)),
        np.concatenate([grams.words, ids[order, -1]]),
        np.concatenate([grams.children[:first], begins, [n + len(ids)]]),
        np.concatenate([grams.log10_probs, probs[order]]),
        np.concatenate([grams.log10_backoffs, backoffs[order]]),
    )


def single_words(probs: Floats | Singles, backoffs: Floats | Singles) -> Grams:
    """The grams of one word, one for each id."""
    n = len(probs)
    return Grams(np.array([0, n]), np.arange(n), np.zeros(1, np.int64), probs, backoffs)


def with_ends(grams: Grams) -> Grams:
    """The grams with children for the longest, which have none."""
    missing = len(grams.words) + 1 - len(grams.children)
    children = np.concatenate([grams.children, np.full(missing, len(grams.words))])
    return Grams(grams.base, grams.words, children, grams.log10_probs, grams.log10_backoffs)


def closed(grams: Grams) -> Grams:
    """The grams with every end of a gram among them, which KenLM calls blanks.

    One that was missing gets the probability that the model gives it, and no backoff: no score changes.
    """
    suffixes = kernels.suffixes_of(grams.base, grams.order, grams.words, grams.children)
    if not (suffixes[grams.base[1] :] < 0).any():
        return grams
    words = _words_of_all(grams)
    missing = _missing_ends(grams, words, suffixes)
    made = single_words(grams.log10_probs[: grams.base[1]], grams.log10_backoffs[: grams.base[1]])
    for length in range(2, grams.order + 1):
        own, own_range = missing[length - 1], slice(*grams.base[length - 1 : length + 1])
        fallen = made.log10_probs[numbers_of(made, own[:, 1:])] + made.log10_backoffs[numbers_of(made, own[:, :-1])]
        probs = np.append(grams.log10_probs[own_range], fallen)
        backoffs = np.append(grams.log10_backoffs[own_range], np.zeros(len(own), grams.log10_backoffs.dtype))
        longer = with_longer(made, np.concatenate([words[length - 1], own]), probs, backoffs)
        assert longer is not None  # the beginning of an end is the end of a beginning
        made = longer
    return with_ends(made)


def _words_of_all(grams: Grams) -> list[Integers]:
    """The words of all grams, length by length."""
    ids, levels = np.empty((1, 0), np.int64), []
    for length in range(1, grams.order + 1):
        ids = word_ids(grams.base, grams.words, grams.children, length, ids)
        levels.append(ids)
    return levels


def _missing_ends(grams: Grams, words: list[Integers], suffixes: Integers) -> list[Integers]:
    """The ends of grams that are no grams themselves, length by length; found for the longest grams first."""
    missing = [np.empty((0, ids.shape[1]), np.int64) for ids in words]
    for k in range(len(words) - 1, 1, -1):
        without = suffixes[grams.base[k] : grams.base[k + 1]] < 0
        filled = numbers_of(grams, missing[k][:, 1:]) < 0
        missing[k - 1] = np.unique(np.concatenate([words[k][without, 1:], missing[k][filled, 1:]]), axis=0)
    return missing


def fallen(grams: Grams, ids: Integers) -> Floats:
    """log10 of the probability of the last word of each row after the others, whatever ends of grams are missing."""
    total, open_ones, length = np.zeros(len(ids)), np.ones(len(ids), bool), ids.shape[1]
    for first in range(length):
        numbers = numbers_of(grams, ids[:, first:])
        here = open_ones & (numbers >= 0)
        total[here] += grams.log10_probs[numbers[here]]
        open_ones &= numbers < 0
        if first < length - 1:
            context = numbers_of(grams, ids[:, first:-1])
            here = open_ones & (context >= 0)
            total[here] += grams.log10_backoffs[context[here]]
    return total


def sums_of_contexts(grams: Grams) -> Floats:
    """What probabilities sum to where nothing is known, and after each gram that may be a context; all grams closed.

    After a context these are the probabilities of its grams, and its backoff times what the shorter context gives
    to other words.
    """
    n, children = int(grams.base[grams.order - 1]), grams.children.astype(np.int64)
    suffixes = kernels.suffixes_of(grams.base, grams.order, grams.words.astype(np.int64), children)
    known = 10.0 ** np.minimum(grams.log10_probs.astype(np.float64), _MAX_LOG10)
    known[grams.words == START_ID] = 0.0  # which is never predicted
    backoffs = 10.0 ** np.minimum(grams.log10_backoffs[:n].astype(np.float64), _MAX_LOG10)
    # Grams of two words and more, each for its context
    longer = slice(int(grams.base[1]), None)
    contexts = np.repeat(np.arange(n), np.diff(children[: n + 1]))
    own = np.bincount(contexts, known[longer], n)
    below = np.bincount(contexts, known[suffixes[longer]], n)
    sums = np.empty(1 + n)
    sums[0] = known[: grams.base[1]].sum()
    for first, last in pairwise(grams.base[: grams.order]):
        shorter = sums[1 + suffixes[first:last]]  # the number of none is -1
        sums[1 + first : 1 + last] = own[first:last] + backoffs[first:last] * (shorter - below[first:last])
    return sums


def warn_of_sums(grams: Grams, words: Vocabulary, source: str) -> None:
    """A warning where probabilities do not sum to one."""
    sums = sums_of_contexts(grams)
    worst = int(np.abs(sums - 1).argmax())
    if not abs(sums[worst] - 1) <= CLOSE_BY_FIGURES:
        after = f"after {_shown(grams, worst - 1, words)!r}" if worst else "where nothing is known"
        warnings.warn(
            f"{source}: {after} probabilities sum to {sums[worst]:.4g}, not to 1, as after "
            f"{int((np.abs(sums - 1) > CLOSE_BY_FIGURES).sum()):,} of {sums.size:,} contexts: scores are as the file "
            "has them, perplexities cannot be compared",
            SumWarning,
            stacklevel=3,
        )


def _shown(grams: Grams, gram: int, words: Vocabulary) -> str:
    """The words of a gram."""
    shown: list[str] = []
    while gram >= grams.base[1]:
        shown.append(words[int(grams.words[gram])])
        gram = int(np.searchsorted(grams.children, gram, side="right")) - 1
    return " ".join([words[gram], *reversed(shown)])


def numbers_of(grams: Grams, ids: Integers) -> Integers:
    """The numbers of grams, all of one length, given by their words; -1 where one is missing."""
    parents: Integers = kernels.parents_of(np.hstack([ids, ids[:, :1]]), grams.words, grams.children)
    return parents
