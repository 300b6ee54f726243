"""A long text drawn from a generalized language model of a short one, whose vocabulary grows as that of real text.

    python benchmarks/drawn_text.py TEXT OUT --words 100 [--files 8] [--seed 1]

Each word is drawn from the counts of TEXT after one of the contexts 11, 101, 1 and none, chosen at random (`WEIGHTS`),
so that pairs and triples are as frequent as in TEXT and few sentences are copied. New words come as Heaps' law has it:
with V = K N^B words among the first N of TEXT (K and B fitted to it), position N of OUT is a word never met with
probability K B N^(B-1), once N is beyond TEXT; and as many are words that came in this way before, the earlier the more
often. Writes OUT/part-0 …, a fraction of the words each; says what N and V became.
"""

from __future__ import annotations

import argparse
import json
import lzma
from pathlib import Path

import numpy as np

from gapgram.text.corpus import read_corpus
from gapgram.text.files import Block

WEIGHTS = {(1, 2): 0.45, (2,): 0.1, (1,): 0.35, (): 0.1}  # which words before are looked at
STREAMS = 100_000  # sentences that are drawn side by side
END, START = 2, 1
MOST_WORDS = 60  # of a sentence


class Drawing:
    """Draws the next words of many sentences at once."""

    def __init__(self, ids: np.ndarray, n_words: int, seed: int) -> None:
        self.ids, self.n_words, self.chance = ids, n_words, np.random.default_rng(seed)
        at = np.flatnonzero(ids != START)
        self.sorted = {}
        for context in WEIGHTS:
            keys = self._keys([ids[np.maximum(at - d, 0)] for d in context], at.size)
            order = np.argsort(keys, kind="stable")
            self.sorted[context] = keys[order], ids[at[order]]

    def _keys(self, words: list[np.ndarray], size: int) -> np.ndarray:
        keys = np.zeros(size, np.int64)
        for word in words:
            keys = keys * self.n_words + word
        return keys

    def next(self, before: list[np.ndarray]) -> np.ndarray:
        n = before[0].size
        out = np.empty(n, np.int32)
        which = self.chance.choice(len(WEIGHTS), n, p=list(WEIGHTS.values()))
        for number, context in enumerate(WEIGHTS):
            own = np.flatnonzero(which == number)
            keys, words = self.sorted[context]
            wanted = self._keys([before[d - 1][own] for d in context], own.size)
            first, last = np.searchsorted(keys, wanted), np.searchsorted(keys, wanted, side="right")
            some = np.where(last > first, first, 0), np.where(last > first, last, keys.size)
            out[own] = words[self.chance.integers(*some)]
        return out

    def sentences(self) -> np.ndarray:
        """[word, sentence]: sentences of words; after </s> whatever it is."""
        before = [np.full(STREAMS, START, np.int32), np.full(STREAMS, START, np.int32)]
        rows: list[np.ndarray] = []
        ended = np.zeros(STREAMS, bool)
        while len(rows) < MOST_WORDS and not ended.all():
            rows.append(self.next(before))
            ended |= rows[-1] == END
            rows[-1][ended] = END
            before = [rows[-1], before[0]]
        return np.array(rows)


def heaps(ids: np.ndarray) -> tuple[float, float]:
    """K and B of V = K N^B, by the first tenth and all of a text."""
    words = ids[ids > END]
    sizes = [words.size // 10, words.size]
    seen = [np.unique(words[:n]).size for n in sizes]
    b = float(np.log(seen[1] / seen[0]) / np.log(sizes[1] / sizes[0]))
    return seen[1] / sizes[1] ** b, b


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--words", type=float, default=100, help="millions")
    parser.add_argument("--files", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    data = (lzma.open if given.text.suffix == ".xz" else open)(given.text, "rb").read()
    corpus = read_corpus([Block(str(given.text), 1, data)])
    drawing, (k, b) = Drawing(corpus.ids, len(corpus.vocabulary), given.seed), heaps(corpus.ids)
    names = np.array([word.encode() for word in corpus.vocabulary], dtype=object)
    names[END] = b"\n"
    total, new, chance, known = 0, 0, drawing.chance, int((corpus.ids > END).sum())
    given.out.mkdir(parents=True)
    for number in range(given.files):
        with (given.out / f"part-{number}").open("wb") as file:
            while total < given.words * 1e6 * (number + 1) / given.files:
                ids = drawing.sentences().T
                kept = np.ones(ids.shape, bool)
                kept[:, 1:] = ids[:, :-1] != END  # up to the first </s>
                flat = ids[kept]
                flat = np.append(flat, END) if flat[-1] != END else flat
                words = names[flat]
                rate = k * b * max(total, known) ** (b - 1)
                fresh = np.flatnonzero((chance.random(flat.size) < rate) & (flat > END))
                words[fresh] = [b"n%x" % i for i in range(new, new + fresh.size)]
                new += fresh.size
                again = np.flatnonzero((chance.random(flat.size) < rate) & (flat > END))
                words[again] = [b"n%x" % int(new * u) for u in chance.random(again.size) ** 3]
                file.write(b" ".join(words.tolist()).replace(b"\n ", b"\n"))
                total += int((flat > END).sum())
    print(json.dumps({"words": total, "new words": new, "vocabulary": len(corpus.vocabulary) + new, "K": k, "B": b}))


if __name__ == "__main__":
    main()
