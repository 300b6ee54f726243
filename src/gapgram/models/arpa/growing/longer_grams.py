"""The grams that each context should have, length by length (`kernels.backoff.grow`)."""

from __future__ import annotations

import numpy as np

from gapgram.arrays import Floats, Ids
from gapgram.kernels.backoff.grow import Growing, worthwhile
from gapgram.kernels.text.special_words import START_ID, UNKNOWN
from gapgram.kernels.topk.exact import n_blocks
from gapgram.models.arpa.growing.drawn_text import Contexts, contexts_of, predicted, seen
from gapgram.models.arpa.growing.fitting import STRENGTH
from gapgram.models.grams import (
    NEVER,
    Grams,
    closed,
    fallen,
    numbers_of,
    single_words,
    with_ends,
    with_longer,
    word_ids,
)
from gapgram.models.model import Model
from gapgram.system.parallel import all_in_threads

_CONTEXTS = 1000  # that a thread looks at at a time


def grown(
    model: Model, text: Ids, least_met: int, least_gain: float, *, order: int, threads: int, progress: bool = False
) -> Grams:
    """The grams that gain at least so many nats, with the model's probabilities; every end of one is among them.

    text: what the model draws. least_met: how often a context must be met in it.
    """
    blocks = np.zeros(n_blocks(model._arrays.tables.places), np.int64)
    grams = _unigrams(model, text)
    for contexts in contexts_of(seen(text), len(model.vocabulary), order, least_met):
        if not len(contexts.words):
            break
        grams = _with_contexts(grams, contexts.words)
        tree = _tree(grams)

        def work(begin: int, contexts: Contexts = contexts, tree: Growing = tree) -> tuple[Ids, Floats, Ids, Floats]:
            part = slice(begin, begin + _CONTEXTS)
            found: tuple[Ids, Floats, Ids, Floats] = worthwhile(
                contexts.words[part], contexts.occurrences[part], least_gain, model.order, tree, model._arrays, blocks
            )
            return found

        length = contexts.words.shape[1] + 1
        parts = all_in_threads(
            work, range(0, len(contexts.words), _CONTEXTS), threads,
            title=f"grams of {length} words", unit="k contexts", progress=progress,
        )  # fmt: skip
        words, probs, sizes, backoffs = (np.concatenate(part) for part in zip(*parts, strict=True))
        grams.log10_backoffs[numbers_of(with_ends(grams), contexts.words.astype(np.int64))] = np.log10(backoffs)
        ids = np.hstack([np.repeat(contexts.words, sizes, axis=0), words[:, None]])
        longer = with_longer(grams, ids, np.log10(probs), np.zeros(len(ids)))
        assert longer is not None  # all contexts are grams
        grams = longer
    return closed(with_ends(grams))


def _unigrams(model: Model, text: Ids) -> Grams:
    """All words, as they are in the text; those that are missing as the model has them after unknown words."""
    after_unknown = model.distribution([UNKNOWN] * (model.order - 1))
    counts = np.bincount(predicted(text), minlength=after_unknown.size)
    counts[START_ID] = 0
    probs = (counts + STRENGTH) / (counts.sum() + STRENGTH / np.maximum(after_unknown, 1e-30))
    probs[START_ID] = 0.0
    with np.errstate(divide="ignore"):
        log10_probs = np.maximum(np.log10(probs / probs.sum()), NEVER)
    return single_words(log10_probs, np.zeros(len(probs)))


def _tree(grams: Grams) -> Growing:
    whole = with_ends(grams)
    return Growing(whole.words, whole.children, 10.0**whole.log10_probs, 10.0**whole.log10_backoffs)


def _with_contexts(grams: Grams, contexts: Ids) -> Grams:
    """The grams with all contexts of their greatest length; one that is missing gets the probability that it has."""
    length = contexts.shape[1]
    if length == 1:
        return grams
    whole = with_ends(grams)
    wanted = contexts.astype(np.int64)
    missing = wanted[numbers_of(whole, wanted) < 0]
    ids = np.empty((1, 0), np.int64)
    for k in range(1, length + 1):
        ids = word_ids(grams.base, whole.words, whole.children, k, ids)
    first, own = grams.base[-2], slice(*grams.base[-2:])
    shorter = Grams(
        grams.base[:-1], grams.words[:first], grams.children[: grams.base[-3] + 1],
        grams.log10_probs[:first], grams.log10_backoffs[:first],
    )  # fmt: skip
    probs: Floats = np.concatenate([grams.log10_probs[own], fallen(whole, missing)])
    backoffs: Floats = np.concatenate([grams.log10_backoffs[own], np.zeros(len(missing))])
    longer = with_longer(shorter, np.concatenate([ids, missing]), probs, backoffs)
    assert longer is not None  # a context begins with one that is met as often
    return longer
