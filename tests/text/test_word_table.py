"""The table in which training meets words cannot be made slow from outside."""

from __future__ import annotations

import numpy as np

from gapgram.text.corpus import Reader
from gapgram.text.files import Block
from gapgram.text.word_table import WordTable

SLOTS = 1 << 16  # of a new table


def colliding_words(n: int) -> list[bytes]:
    """Words of digits whose hash without a key falls on one of a table's slots."""
    numbers = np.arange(10_000_000, 10_000_000 + 2 * n * SLOTS)
    hashes = np.full(numbers.size, 14695981039346656037, np.uint64)
    for digit in range(7, -1, -1):
        hashes = (hashes ^ (48 + numbers // 10**digit % 10).astype(np.uint64)) * np.uint64(1099511628211)
    hashes ^= hashes >> np.uint64(29)
    hashes *= np.uint64(0xBF58476D1CE4E5B9)
    hashes ^= hashes >> np.uint64(32)
    places = hashes & np.uint64(SLOTS - 1)
    return [b"%d" % number for number in numbers[places == places[0]][:n]]


def longest_run(table: WordTable) -> int:
    """How many full slots follow each other at most: what a search may have to pass."""
    full = np.concatenate([[False], table.slots >= 0, [False]])
    edges = np.flatnonzero(full[1:] != full[:-1])
    return int((edges[1::2] - edges[::2]).max())


def test_words_that_are_made_to_collide_lie_apart() -> None:
    words = colliding_words(24)
    assert len(words) == 24
    assert longest_run(read(WordTable(key=0), words)) >= 24  # without a key they collide
    assert longest_run(read(WordTable(), words)) < 12


def test_every_table_has_a_key_of_its_own_and_gives_the_same_ids() -> None:
    first, second = WordTable(), WordTable()
    assert first.key != second.key
    words = [b"a", b"b", b"a", b"c"]
    read(first, words)
    read(second, words)
    assert list(first.vocabulary(1, None)[0]) == list(second.vocabulary(1, None)[0])


def read(table: WordTable, words: list[bytes]) -> WordTable:
    reader = Reader()
    reader.table = table
    for _ in reader.read_block(Block("text", 1, b" ".join(words) + b"\n")):
        pass
    return table
