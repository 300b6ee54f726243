"""A model as kernels take it: one plain tuple of arrays and two numbers.

    tables                      `kernels.tables.arrays`
    order                       a prediction sees at most order - 1 earlier words
    uniform                     the probability of a word when nothing is known: one in the vocabulary, where `<s>` is
                                never predicted
    discounts                   [pattern, 4]: what is taken from a count of 0, 1, 2, 3 or more
    row_values                  [row, 4]: of a context with these statistics the SCALE that turns a
                                discounted count into a probability, the BACKOFF probability g, the
                                WEIGHT among the other patterns, and its BUCKET in the gate table
    given_class                 [clustering, word], flat: of each word its probability given its class; empty without
                                patterns of classes
    members, member_base        the words of class c, the most probable first: members[member_base[c]:member_base[c+1]];
                                classes are counted over all clusterings
    edge_base, edge_to, edge_weight    the patterns each pattern falls back on, and its leaning to each
    start_base, starts          for 0 … n-1 words available: the patterns a prediction starts from
    gate_table                  [feature, pattern]: logits that add up (`kernels.probability.gate`); may be empty

A prediction gives its starting patterns shares in the ratio of their weights, times, where there is a
gate, the exponential of their logits. A pattern keeps of its share what its discounted
counts use and passes g of it on to the patterns below it, in the ratio of edge_weight × their weights; what the
empty pattern passes on is spread evenly over the vocabulary. A pattern of classes predicts the class of a word, and
the word with its probability given its class. All of this depends on the context alone, and SCALE and BACKOFF
belong together, so every distribution sums to one. Equations (8) to (20), (24) and (25) of docs/ideas/mathematics.md.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gapgram.kernels.tables.arrays import Tables

SCALE, BACKOFF, WEIGHT, BUCKET = 0, 1, 2, 3  # columns of `row_values`


class ModelArrays(NamedTuple):
    """What the module's head names; a model file has the arrays in this order."""

    tables: Tables
    order: int
    uniform: float
    discounts: np.ndarray
    row_values: np.ndarray
    given_class: np.ndarray
    members: np.ndarray
    member_base: np.ndarray
    edge_base: np.ndarray
    edge_to: np.ndarray
    edge_weight: np.ndarray
    start_base: np.ndarray
    starts: np.ndarray
    gate_table: np.ndarray


SECTIONS = ModelArrays._fields[3:]  # the arrays of a model file beside those of its tables


class Positions(NamedTuple):
    """Positions of which probabilities are asked.

    ids, first, step    the word of position i is ids[first + i * step], the word k before it ids[first + i * step - k]
    available           int16 [position]: how many words before it are known
    column              the column of position 0 in a `kernels.probability.query.Found`; the others follow
    """

    ids: np.ndarray
    first: int
    step: int
    available: np.ndarray
    column: int
