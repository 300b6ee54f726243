"""The probability of every word of a text, a block of positions at a time."""

from __future__ import annotations

import numpy as np

from gapgram.kernels.compiled import kernel
from gapgram.kernels.lanes import LANES
from gapgram.kernels.lookup.lookup import BLOCK, availability, locate, locate_all, new_found
from gapgram.kernels.probability.chains import chain_probabilities, only_chains, probabilities_of
from gapgram.kernels.probability.probabilities import shared_probabilities
from gapgram.kernels.probability.scores import log10_of
from gapgram.kernels.tables.model_arrays import Positions
from gapgram.kernels.text.special_words import START_ID


@kernel
def score_positions(ids, available, model, out):
    """log10 of the probability of every word; 0 where the word is `<s>`, which is never predicted."""
    halo = model.order  # columns before those of a block, so that every offset lies in the columns
    block = max(1, min(BLOCK, ids.size))  # there may be no words
    found = new_found(model.discounts.shape[0], halo + block + LANES)
    chains = only_chains(model.edge_base)
    for begin in range(0, ids.size, block):
        end = min(begin + block, ids.size)
        known, scores = available[begin:end], out[begin:end]
        positions = Positions(ids, begin, 1, known, halo)
        if chains:
            chain_probabilities(positions, found, model, scores)
        else:
            locate(ids[begin:end], known, found, halo, model.tables)
            shared_probabilities(positions, found, model, scores)
        for i in range(end - begin):
            scores[i] = log10_of(scores[i]) if ids[begin + i] != START_ID else 0.0
        if end < ids.size:
            found.entries[:, :halo] = found.entries[:, block : block + halo]


@kernel
def score_sequences(ids, begins, model, out):
    """log10 of the probability of every word of sequences; sequence s is ids[begins[s]] to ids[begins[s+1] - 1]."""
    score_positions(ids, availability(ids, begins, model.order), model, out)


@kernel
def are_words(ids, begins, n_words):
    """Whether all ids are those of a vocabulary of so many words, and `<s>` stands nowhere but first in a sequence."""
    n_wrong, n_starts = 0, 0
    for t in range(ids.size):
        n_wrong += ids[t] < 0
        n_wrong += ids[t] >= n_words
        n_starts += ids[t] == START_ID
    for s in range(begins.size - 1):
        if begins[s] < begins[s + 1]:
            n_starts -= ids[begins[s]] == START_ID
    return n_wrong == 0 and n_starts == 0


@kernel
def score_last(ids, model):
    """log10 of the probability of the last of some words; the number `score_positions` has for it."""
    last, out = ids.size - 1, np.empty(1)
    found = locate_all(ids, model.order, model.tables)
    available = np.full(1, min(last, model.order - 1), np.int16)
    probabilities_of(Positions(ids, last, 1, available, last), found, model, out)
    return log10_of(out[0])
