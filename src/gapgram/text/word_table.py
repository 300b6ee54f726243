"""The words of a text while it is read: a hash table that grows, and at last a vocabulary.

No word is ever an object of its own: sorting takes about 40 bytes a word.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, repeat
from typing import NamedTuple

import numpy as np

from gapgram.arrays import Bytes, Ids, Integers
from gapgram.kernels.text import word_order
from gapgram.kernels.text import words as kernels
from gapgram.kernels.text.special_words import SPECIAL
from gapgram.text.vocabulary import Vocabulary


class LearnedWords(NamedTuple):
    """The words of a table as a vocabulary: counts and final ids, and all words, in the order of the vocabulary."""

    vocabulary: Vocabulary
    counts: Integers
    new_ids: Ids
    order: Integers


class WordTable:
    """A word table (`kernels.text.words`) that grows.

    Its key is drawn anew each time, so that nobody can make words that all fall on one place.
    """

    def __init__(self, key: int | None = None) -> None:
        self.key = np.uint64(int.from_bytes(os.urandom(8), "little") | 1 if key is None else key)
        self.n, special = len(SPECIAL), "".join(SPECIAL).encode()
        self.slots = np.full(1 << 16, -1, np.int64)
        self.pool = np.zeros(1 << 18, np.uint8)
        self.pool[: len(special)] = np.frombuffer(special, np.uint8)
        self.offsets = np.zeros((1 << 15) + 1, np.int64)
        self.offsets[1 : self.n + 1] = np.cumsum([len(word) for word in SPECIAL])
        self.counts = np.zeros(1 << 15, np.int64)
        kernels.fill_slots(self.slots, self.pool, self.offsets, self.n, self.key)

    def grow(self, line_bytes: int) -> None:
        """Make room for at least one more line of so many bytes."""
        n_slots, capacity = self.slots.size, self.counts.size
        while capacity < self.n + line_bytes:
            n_slots, capacity = 2 * n_slots, 2 * capacity
        if self.offsets[self.n] + line_bytes > self.pool.size:
            self.pool = np.concatenate([self.pool, np.zeros(self.pool.size + line_bytes, np.uint8)])
        if capacity > self.counts.size:
            self.slots = np.empty(0, np.int64)  # before the new ones are there
            self.counts = np.concatenate([self.counts, np.zeros(capacity - self.counts.size, np.int64)])
            self.offsets = np.concatenate([self.offsets, np.zeros(capacity + 1 - self.offsets.size, np.int64)])
            self.slots = np.empty(n_slots, np.int64)
            kernels.fill_slots(self.slots, self.pool, self.offsets, self.n, self.key)

    def take_over(self, other: WordTable) -> Ids:
        """Add the words of another table, and their counts; the number here of each number there."""
        self.grow(int(other.offsets[other.n]))
        numbers = np.empty(other.n, np.int32)
        self.n = kernels.add_words(
            other.pool, other.offsets, other.counts, other.n,
            self.slots, self.pool, self.offsets, self.counts, self.n, self.key, numbers,
        )  # fmt: skip
        return numbers

    def vocabulary(self, min_count: int, limit: int | None) -> LearnedWords:
        """The vocabulary by falling count, then bytes; how often each of its words is met; the final id of each id.

        Words met less often than `min_count`, and all after the first `limit`, are unknown. The table ends with this.
        """
        self.slots = np.empty(0, np.int64)
        order = self._order()
        kept = order[:limit]
        kept = kept[: np.count_nonzero(self.counts[kept] >= min_count)]
        words = np.concatenate([np.arange(len(SPECIAL)), kept])
        new_ids = np.zeros(self.n, np.int32)
        new_ids[words] = np.arange(words.size, dtype=np.int32)
        counts = np.bincount(new_ids, self.counts[: self.n], words.size).astype(np.int64)
        return LearnedWords(Vocabulary(*word_order.gathered(self.pool, self.offsets, words)), counts, new_ids, order)

    def sample(self, order: Integers, n_words: int) -> WordSample:
        """The words that a model of spelling is trained on; `order` of `vocabulary`, which has so many words."""
        taken, times = sampled(self.counts[order], n_words - len(SPECIAL))
        pool, offsets = word_order.gathered(self.pool, self.offsets, np.ascontiguousarray(order[taken]))
        return WordSample(pool, offsets, times)

    def _order(self) -> Integers:
        """The words after the special ones, sorted."""
        first = len(SPECIAL)
        numbers = word_order.first_bytes(self.pool, self.offsets, first, self.n)
        counts = self.counts[first : self.n]
        order: Integers = word_order.order_words(counts, numbers)
        word_order.sort_ties(order, counts, numbers, first, self.pool, self.offsets)
        order += first
        return order


MOST_WORDS = 1 << 17  # different ones; of more, every second, every third, … is taken
MOST_TIMES = 10


@dataclass(frozen=True)
class WordSample:
    """Different words of a text, and how many times each is spelled; by falling count in the text, then bytes.

    Words of the vocabulary are spelled once. Others, which are met as `<unk>`, are spelled as often as they are met, 10
    times at most.
    """

    pool: Bytes
    offsets: Integers
    times: Integers

    def __len__(self) -> int:
        return self.times.size

    def lines(self) -> Iterator[str]:
        """Every word as a sentence of characters, as many times as it is spelled.

        >>> words = WordSample(np.frombuffer(b"cata", np.uint8), np.array([0, 3, 4]), np.array([1, 2]))
        >>> list(words.lines())
        ['c a t', 'a', 'a']
        """
        data = self.pool.tobytes()
        for (begin, end), times in zip(pairwise(self.offsets.tolist()), self.times.tolist(), strict=True):
            yield from repeat(" ".join(data[begin:end].decode("utf-8", "replace")), times)


def sampled(counts: Integers, n_kept: int) -> tuple[slice, Integers]:
    """Which of the words of a text are spelled, and how many times, by their falling counts.

    n_kept: how many of them, the first, the vocabulary has.

    >>> sampled(np.array([20, 5, 3, 1]), 2)
    (slice(None, None, 1), array([1, 1, 3, 1]))
    """
    taken = slice(None, None, max(1, -(-counts.size // MOST_WORDS)))
    is_kept = np.arange(counts.size) < n_kept
    return taken, np.where(is_kept, 1, np.minimum(counts, MOST_TIMES))[taken]
