"""Counts of words and pairs made by a recipe, to be laid out in any way."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

from gapgram import Counts, Lattice, Vocabulary
from gapgram.counts.assemble import assemble
from gapgram.counts.counts import Piece
from gapgram.kernels.tables.build import build_tables
from gapgram.text.corpus import TextFacts

LENGTHS = {
    "none": [0] * 300,
    "one each": [1] * 256,
    "blocks end exactly": [2] * 128,
    "far apart": [*[700] * 8, *[0] * 200, 650, *[1, 2, 3] * 170, 700],
    "all far apart": [400] * 400,
    "few": [0, 1, 2, 3, 4] * 100,
}
DRAWS: dict[str, Callable[[random.Random], int]] = {
    "ones": lambda chance: 1,
    "small": lambda chance: 1 + int(chance.random() ** 4 * 6),
    "heavy": lambda chance: min(int(1 / (1e-9 + chance.random() ** 2)), 10**9),
    "every": lambda chance: 1 + int(5000 * chance.random()),
}


def counts_of(lengths: list[int], draw: Callable[[], int], seed: int = 1) -> Counts:
    """Counts of single words and pairs: of word i so many words follow, each drawn a count."""
    n_words, chance = max(len(lengths), 4), random.Random(seed)
    lengths = [min(length, n_words) for length in lengths] + [0] * (n_words - len(lengths))
    words = np.array([w for n in lengths for w in sorted(chance.sample(range(n_words), n))], np.int64)
    begins = np.cumsum([0, *lengths])
    pairs = Piece(*build_tables(words, np.array([draw() for _ in words], np.int64), begins))
    singles = np.arange(n_words)
    empty = Piece(*build_tables(singles, singles % 7, np.array([0, n_words])))
    lattice = Lattice.chain(2)
    tables = assemble(lattice.stored, {lattice.stored[0]: [empty], lattice.stored[1]: [pairs]})
    vocabulary = Vocabulary.of([f"w{i}" for i in range(n_words - 3)])
    return Counts(lattice, vocabulary, TextFacts(1, 1, "", ""), tables)
