"""A backoff model that is near to a model with gaps.

Every contiguous gram of the model gets the model's own probability; what that leaves of a context goes to
the other words as the next shorter context has them. Of all backoff models with these grams and these
shorter contexts it is the one with the least relative entropy (Kullback-Leibler) to the model, context by
context. A shorter context is asked as where it is needed, after words of which nothing is known.

Shorter contexts are not fitted together with longer ones. What is lost are the contexts with gaps, and with
them, on the text measured in `docs/reference/arpa.md`, about all that the model gains over modified Kneser-Ney.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from gapgram.arrays import Floats, Integers
from gapgram.kernels.backoff import grams as kernels
from gapgram.kernels.text.special_words import START_ID, UNKNOWN, UNKNOWN_ID
from gapgram.models.arpa.writing import contiguous_tree
from gapgram.models.backoff import BackoffModel
from gapgram.models.grams import NEVER, Grams, closed, fallen, word_ids
from gapgram.models.model import Model

_GRAMS_PER_BATCH = 1 << 17


def approximate(model: Model, *, threads: int | None = None) -> BackoffModel:
    """The nearest backoff model with the contiguous grams of a model."""
    base, words, children = contiguous_tree(model)[:3]
    probs = np.empty(len(words))
    probs[: base[1]] = model.distribution([UNKNOWN] * (model.order - 1))
    ids = word_ids(base, words, children, 1, np.empty((1, 0), np.int64))
    for length, (first, last) in list(enumerate(pairwise(base), 1))[1:]:
        ids = word_ids(base, words, children, length, ids)
        for begin in range(0, last - first, _GRAMS_PER_BATCH):
            chunk = ids[begin : begin + _GRAMS_PER_BATCH]
            probs[first + begin : first + begin + len(chunk)] = _probabilities(model, chunk, threads)
    suffixes = kernels.suffixes_of(base, model.order, words, children)
    with np.errstate(divide="ignore"):
        log10_probs = np.maximum(np.log10(probs), NEVER)
    grams = Grams(base, words, children, log10_probs, np.zeros(len(words)))
    ids = word_ids(base, words, children, 1, np.empty((1, 0), np.int64))
    for length in range(2, model.order + 1):
        ids = word_ids(base, words, children, length, ids)
        _set_backoffs(grams, length, ids, probs, suffixes)
    source = f"approximation:backoff|of:({model.signature})"
    return BackoffModel(model.vocabulary, closed(grams), source, tokeniser=model.tokeniser)


def _probabilities(model: Model, grams: Integers, threads: int | None) -> Floats:
    """P(last word | the others), after unknown words where the gram does not begin a sentence."""
    out = np.empty(len(grams))
    starting = grams[:, 0] == START_ID
    unknown = np.full((len(grams), model.order - grams.shape[1]), UNKNOWN_ID)
    for chosen, rows in ((starting, grams), (~starting, np.hstack([unknown, grams]))):
        sequences, length = rows[chosen].astype(np.int32), rows.shape[1]
        begins = np.arange(len(sequences) + 1) * length
        scores = model.score_ids(sequences.reshape(-1), begins, threads=threads)
        out[chosen] = 10.0 ** scores[length - 1 :: length]
    return out


def _set_backoffs(grams: Grams, length: int, ids: Integers, probs: Floats, suffixes: Integers) -> None:
    """Of the contexts of grams of a length: what the grams leave, over what the shorter context leaves for them."""
    before, first, last = grams.base[length - 2], grams.base[length - 1], grams.base[length]
    shorter = np.where(suffixes[first:last] >= 0, probs[suffixes[first:last]], 0.0)
    gone = np.flatnonzero(suffixes[first:last] < 0)  # pruned
    shorter[gone] = 10.0 ** fallen(grams, ids[gone, 1:])
    begins = grams.children[before:first] - first
    has = grams.children[before + 1 : first + 1] - first > begins
    own, theirs = (np.add.reduceat(np.append(p, 0.0), begins)[has] for p in (probs[first:last], shorter))
    grams.log10_backoffs[before:first][has] = np.log10(np.maximum(1 - own, 1e-12) / np.maximum(1 - theirs, 1e-12))
