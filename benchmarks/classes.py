"""What word classes are worth: a class 5-gram mixed with the words' own model, for several ways to find classes.

    python benchmarks/classes.py TRAIN VALID [-k 100 200 500 1000] [--ways exchange next-words little-prior svd]

Each row finds classes in the training text, trains modified Kneser-Ney on the stream of classes, and scores the other
text: P(class | classes before it) times P(word | class), alone and mixed at a fixed weight with the words' glm.
Unknown words are not scored, ends of sentences are. The best weight of 0.1, 0.2 … 0.5 is shown.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

import gapgram
from gapgram import Lattice, Model, Vocabulary
from gapgram.arrays import Floats, Ids, Singles
from gapgram.classes import exchange as clustering
from gapgram.counting.in_memory import count
from gapgram.errors import DiscountWarning
from gapgram.estimation.discounts import estimate_discounts
from gapgram.estimation.parts import ModelParts
from gapgram.estimation.weights.estimators import uniform
from gapgram.reporting.tables import table
from gapgram.text.corpus import encode, read_corpus, sentence_begins
from gapgram.text.files import blocks_of_files

FEATURES, DIMENSIONS, ROUNDS = 2000, 64, 15


def exchange(ids: Ids, n_words: int, k: int) -> Ids:
    return clustering.find_classes(ids, n_words, k).of_word


def next_words(ids: Ids, n_words: int, k: int) -> Ids:
    """Only neighbours one word away."""
    clustering.DISTANCES, usual = (1,), clustering.DISTANCES
    try:
        return exchange(ids, n_words, k)
    finally:
        clustering.DISTANCES = usual


def little_prior(ids: Ids, n_words: int, k: int) -> Ids:
    """A tenth of the prior."""
    clustering.PRIOR, usual = 0.02, clustering.PRIOR
    try:
        return exchange(ids, n_words, k)
    finally:
        clustering.PRIOR = usual


def svd(ids: Ids, n_words: int, k: int) -> Ids:
    """Positive PMI with the most frequent words on both sides, its leading singular vectors, spherical k-means."""
    around = _pmi(ids, n_words)
    random = np.random.default_rng(1)
    directions = random.standard_normal((2 * FEATURES, DIMENSIONS + 10)).astype(np.float32)
    for _ in range(3):
        rows = np.linalg.qr(_times(around, directions, n_words))[0]
        directions = _times_turned(around, rows)
    left, values, _ = np.linalg.svd(directions.T, full_matrices=False)
    points = (rows @ left[:, :DIMENSIONS])[3:] * np.sqrt(values[:DIMENSIONS])
    points /= np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1e-9)
    labels = _k_means(points, np.sqrt(np.bincount(ids, minlength=n_words)[3:]), k)
    return np.concatenate([np.arange(3), labels + 3]).astype(np.int32)


def _pmi(ids: Ids, n_words: int) -> list[tuple[Ids, Ids, Singles]]:
    times = np.bincount(ids, minlength=n_words)
    neighbours = clustering.count_pairs([ids], n_words, distances=(1,))[0]
    out = []
    for starts in neighbours.starts:
        others, pairs = (each[starts[0] : starts[-1]] for each in (neighbours.others, neighbours.times))
        words = np.repeat(np.arange(n_words), np.diff(starts))
        values = np.log(pairs.astype(float) * ids.size / (times[words] * times[others].astype(float)))
        kept = (others < FEATURES) & (values > 0)
        out.append((words[kept], others[kept], values[kept].astype(np.float32)))
    return out


def _times(around: list[tuple[Ids, Ids, Singles]], x: Singles, n_words: int) -> Singles:
    out = np.zeros((n_words, x.shape[1]), np.float32)
    for side, (words, others, values) in enumerate(around):
        for d in range(x.shape[1]):
            out[:, d] += np.bincount(words, values * x[side * FEATURES + others, d], minlength=n_words)
    return out


def _times_turned(around: list[tuple[Ids, Ids, Singles]], y: Singles) -> Singles:
    out = np.zeros((2 * FEATURES, y.shape[1]), np.float32)
    for side, (words, others, values) in enumerate(around):
        part = out[side * FEATURES : (side + 1) * FEATURES]
        for d in range(y.shape[1]):
            part[:, d] = np.bincount(others, values * y[words, d], minlength=FEATURES)
    return out


def _k_means(points: Singles, weights: Floats, k: int) -> npt.NDArray[np.int64]:
    centres, labels = points[:k].copy(), np.zeros(len(points), np.int64)
    for _ in range(ROUNDS):
        for begin in range(0, len(points), 20_000):
            labels[begin : begin + 20_000] = np.argmax(points[begin : begin + 20_000] @ centres.T, axis=1)
        sums = np.stack([np.bincount(labels, weights * p, minlength=k) for p in points.T], axis=1)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        centres = np.where(lengths > 0, sums / np.maximum(lengths, 1e-9), centres).astype(np.float32)
    return labels


WAYS: dict[str, Callable[[Ids, int, int], Ids]] = {
    "exchange": exchange, "next-words": next_words, "little-prior": little_prior, "svd": svd,
}  # fmt: skip


class Bench:
    """A training text, and another as ids with the log10 of each word's probability under the words' own model."""

    def __init__(self, train: str, scored: str) -> None:
        self.corpus = read_corpus(blocks_of_files(train))
        model = gapgram.train(train)
        self.ids = np.concatenate([part.ids for part in encode(blocks_of_files(scored), self.corpus.vocabulary)])
        self.begins = sentence_begins(self.ids)
        self.words = model.score_checked_ids(self.ids, self.begins)
        self.scored = self.ids >= 2

    def perplexity(self, log10_probs: Floats) -> float:
        return float(10 ** -log10_probs[self.scored].mean())

    def by_classes(self, of_word: Ids) -> Floats:
        """log10 of the probability of each position by classes alone."""
        corpus, n_classes = self.corpus, int(of_word.max()) + 1
        names = Vocabulary.of([f"c{i}" for i in range(3, n_classes)])
        times = np.bincount(of_word, corpus.word_counts).astype(np.int64)
        stream = replace(corpus, ids=of_word[corpus.ids], vocabulary=names, word_counts=times)
        counts = count(stream, Lattice.chain(5))
        model = Model(ModelParts.of("mkn", counts, estimate_discounts(counts), uniform(counts)))
        share = corpus.word_counts / np.maximum(1, times[of_word])
        with np.errstate(divide="ignore"):
            scores: Floats = model.score_checked_ids(of_word[self.ids], self.begins) + np.log10(share)[self.ids]
        return scores

    def row(self, way: str, k: int) -> list[object]:
        began, cpu = time.perf_counter(), time.process_time()
        of_word = WAYS[way](self.corpus.ids, len(self.corpus.vocabulary), k)
        wall, cpu = time.perf_counter() - began, time.process_time() - cpu
        of_word = np.unique(of_word, return_inverse=True)[1].astype(np.int32)
        alone = self.by_classes(of_word)
        weights = [0.1, 0.2, 0.3, 0.4, 0.5]
        mixed = [self.perplexity(np.log10((1 - w) * 10**self.words + w * 10**alone)) for w in weights]
        best = int(np.argmin(mixed))
        return [way, k, int(of_word.max()) - 2, f"{self.perplexity(alone):.1f}", f"{mixed[best]:.1f}", weights[best],
                f"{cpu:.1f}", f"{wall:.1f}"]  # fmt: skip


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("train")
    arguments.add_argument("scored", metavar="VALID")
    arguments.add_argument("-k", type=int, nargs="+", default=[100, 200, 500, 1000])
    arguments.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    given = arguments.parse_args()
    warnings.simplefilter("ignore", DiscountWarning)
    bench = Bench(given.train, given.scored)
    clustering.find_classes(bench.corpus.ids[:10_000], len(bench.corpus.vocabulary), 5)  # compiles
    print(f"words' own model: {bench.perplexity(bench.words):.1f}", flush=True)
    rows = [bench.row(way, k) for way in given.ways for k in given.k]
    print(table(["way", "k", "used", "classes alone", "mixed", "weight", "CPU s", "wall s"], rows))


if __name__ == "__main__":
    main()
