"""A backoff model that is near to a model with gaps.

Every contiguous gram of the model gets the model's own probability; what that leaves of a context goes to
the other words as the next shorter context has them. Of all backoff models with these grams and these
shorter contexts it is the one with the least relative entropy (Kullback-Leibler) to the model, context by
context. A shorter context is asked as where it is needed, after words of which nothing is known.

Shorter contexts are not fitted together with longer ones. What is lost are the contexts with gaps, and with
them, on the text measured in `docs/arpa.md`, about all that the model gains over modified Kneser-Ney.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from gapgram.arpa.tree import Array, contiguous_tree, word_ids
from gapgram.backoff_model import NEVER, BackoffModel, Grams
from gapgram.kernels import backoff as kernels
from gapgram.model import Model
from gapgram.vocabulary import SPECIAL, START, UNKNOWN

Floats = npt.NDArray[np.float64]

_GRAMS = 1 << 17  # that are scored at a time
_START, _UNKNOWN = SPECIAL.index(START), SPECIAL.index(UNKNOWN)


def approximate(model: Model, *, threads: int | None = None) -> BackoffModel:
    """The nearest backoff model with the contiguous grams of a model."""
    base, words, children = contiguous_tree(model)[:3]
    probs = np.empty(len(words))
    probs[: base[1]] = model.distribution([UNKNOWN] * (model.order - 1))
    ids = word_ids(base, words, children, 1, np.empty((1, 0), np.int64))
    for length, (first, last) in list(enumerate(pairwise(base), 1))[1:]:
        ids = word_ids(base, words, children, length, ids)
        for begin in range(0, last - first, _GRAMS):
            part = ids[begin : begin + _GRAMS]
            probs[first + begin : first + begin + len(part)] = _probabilities(model, part, threads)
    suffixes = kernels.suffixes_of(base, model.order, words, children)
    with np.errstate(divide="ignore"):
        log10_probs = np.maximum(np.log10(probs), NEVER)
    grams = Grams(base, words, children, log10_probs, np.log10(_backoffs(base, children, probs, suffixes)))
    return BackoffModel(model.vocabulary, grams, f"approximation:backoff|of:({model.signature})")


def _probabilities(model: Model, grams: Array, threads: int | None) -> Floats:
    """P(last word | the others), after unknown words where the gram does not begin a sentence."""
    out = np.empty(len(grams))
    starting = grams[:, 0] == _START
    unknown = np.full((len(grams), model.order - grams.shape[1]), _UNKNOWN)
    for chosen, rows in ((starting, grams), (~starting, np.hstack([unknown, grams]))):
        sequences, length = rows[chosen].astype(np.int32), rows.shape[1]
        begins = np.arange(len(sequences) + 1) * length
        scores = model.score_ids(sequences.reshape(-1), begins, threads=threads)
        out[chosen] = 10.0 ** scores[length - 1 :: length]
    return out


def _backoffs(base: Array, children: Array, probs: Floats, suffixes: Array) -> Floats:
    """What a context's grams leave, over what the shorter context leaves for the same words; 1 without grams."""
    out, n = np.ones(len(probs)), base[-2]
    shorter = np.where(suffixes >= 0, probs[suffixes], 0.0)
    begins, has = children[:n], children[1 : n + 1] > children[:n]
    own, theirs = (np.add.reduceat(np.append(p, 0.0), begins) for p in (probs, shorter))
    out[:n][has] = np.maximum(1 - own[has], 1e-12) / np.maximum(1 - theirs[has], 1e-12)
    return out
