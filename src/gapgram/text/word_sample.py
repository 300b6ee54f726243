"""The words of a text that a model of spelling is trained on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, repeat

import numpy as np

from gapgram.arrays import Bytes, Integers

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
