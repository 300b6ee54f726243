"""The words of a model and their ids: 0 is `<unk>`, 1 `<s>`, 2 `</s>`, then the most frequent word first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from gapgram.arguments import wrong_type
from gapgram.arrays import Bytes, Ids, Integers
from gapgram.errors import UsageError
from gapgram.kernels.text import words as kernels
from gapgram.kernels.text.special_words import SPECIAL
from gapgram.system.section_rules import Arrays, is_checked

REMEMBERED = 1 << 16  # words that were asked for one by one, as decoders do, and their ids
REMEMBERED_CHARACTERS = 100  # of a longer word nothing is remembered: strangers may ask for any number of them


class Vocabulary:
    """Words by id and ids by word; frozen, and mapped from a model file where it comes from one.

    >>> vocabulary = Vocabulary.of(["the", "cat"])
    >>> len(vocabulary), vocabulary.id("cat"), vocabulary[4], vocabulary.id("dog")
    (5, 4, 'cat', 0)
    >>> "cat" in vocabulary, "dog" in vocabulary
    (True, False)
    """

    def __init__(self, pool: Bytes, offsets: Integers, slots: Integers | None = None) -> None:
        self.pool, self.offsets = pool, offsets
        pool.flags.writeable = offsets.flags.writeable = False
        if slots is not None:
            self.slots = slots
            slots.flags.writeable = False
        self._asked: dict[str, int] = {}

    @classmethod
    def of(cls, words: Sequence[str | bytes]) -> Vocabulary:
        """The special words and these, in this order."""
        all_words = [w.encode() if isinstance(w, str) else w for w in (*SPECIAL, *words)]
        pool = np.frombuffer(b"".join(all_words), np.uint8)
        return cls.unpacked(pool, np.array([len(w) for w in all_words]))

    @classmethod
    def unpacked(cls, pool: Bytes, lengths: npt.NDArray[Any]) -> Vocabulary:
        """The words of these lengths, which lie one after the other."""
        offsets = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        if offsets[-1] != pool.size:
            raise ValueError(f"words of {offsets[-1]:,} bytes in all, found {pool.size:,} bytes")
        return cls(pool, offsets)

    @classmethod
    def of_file(cls, arrays: Arrays, *, verify: bool | None = None) -> Vocabulary:
        """The vocabulary of a file, which begins with the special words."""
        pool, slots = arrays["words"], arrays.get("word_slots")
        if slots is None:
            words = cls.unpacked(pool, arrays["word_lengths"])
        else:
            words = cls(pool, arrays["word_offsets"], slots)
            _check_slots(slots, len(words), verify)
        if len(words) < len(SPECIAL) or tuple(words[i] for i in range(len(SPECIAL))) != SPECIAL:
            raise ValueError(f"a vocabulary that does not begin with {' '.join(SPECIAL)}")
        return words

    @cached_property
    def slots(self) -> Integers:
        """The hash table of the words, made when it is first needed where it does not come from a file."""
        slots = np.empty(slots_for(len(self)), np.int64)
        kernels.fill_slots(slots, self.pool, self.offsets, len(self), np.uint64(0))
        slots.flags.writeable = False
        return slots

    def packed(self) -> dict[str, npt.NDArray[Any]]:
        """What `unpacked` needs, by name, in as few bytes as it takes."""
        lengths = np.diff(self.offsets)
        return {"words": self.pool, "word_lengths": lengths.astype(np.min_scalar_type(lengths.max()))}

    def id(self, word: str) -> int:
        """The id of a word; 0, the id of `<unk>`, where the vocabulary does not hold it."""
        word_id = self._asked.get(word)
        if word_id is None:
            word_id = max(0, self._find(word))
            if len(word) <= REMEMBERED_CHARACTERS:
                if len(self._asked) >= REMEMBERED:
                    self._asked.clear()
                self._asked[word] = word_id
        return word_id

    def _find(self, word: str) -> int:
        if not isinstance(word, str):
            raise wrong_type("word", word, "a string")
        text = np.frombuffer(word.encode("utf-8", "surrogatepass"), np.uint8)
        return int(kernels.find_word(text, self.slots, self.pool, self.offsets))

    def encode_lines(self, text: Bytes, special: int, keep_empty: bool, out: Ids) -> tuple[int, int, int, int, int]:
        """The ids of lines of text (`kernels.text.words.encode_lines`)."""
        done: tuple[int, int, int, int, int] = kernels.encode_lines(
            text, special, keep_empty, self.slots, self.pool, self.offsets, out
        )
        return done

    def ids(self, words: Sequence[str]) -> Ids:
        """The ids of several words."""
        if words is None:
            raise wrong_type("words", words, "a list of words")
        if isinstance(words, str):
            raise UsageError(f"words {words!r}: expected a list of words, found one string; id gives the id of one")
        return np.array([self.id(w) for w in words], np.int32)

    def __getitem__(self, word_id: int) -> str:
        try:
            inside = 0 <= word_id < len(self)
        except TypeError:
            raise wrong_type("vocabulary[…]", word_id, "an id; vocabulary.id(word) is that of a word") from None
        if not inside:
            raise IndexError(f"word id {word_id}: the vocabulary has ids 0 to {len(self) - 1}")
        return self.pool[self.offsets[word_id] : self.offsets[word_id + 1]].tobytes().decode("utf-8", "replace")

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self._find(word) >= 0

    def __iter__(self) -> Iterator[str]:
        return (self[i] for i in range(len(self)))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        return f"<Vocabulary of {len(self):,} words>"


def slots_for(n_words: int) -> int:
    """The number of hash slots for so many words: a power of two, at most half full."""
    return max(16, 1 << int(2 * n_words).bit_length())


def _check_slots(slots: Integers, n_words: int, verify: bool | None) -> None:
    """Refuse slots of words that are not there, or that leave no slot empty, at which a search would end."""
    if slots.size != slots_for(n_words):
        raise ValueError(f"{slots.size:,} slots for {n_words:,} words, expected {slots_for(n_words):,}")
    if is_checked(slots, verify):
        ids = slots[slots >= 0] & 0xFFFFFFFF
        if ids.size != n_words or int(ids.max(initial=0)) >= n_words:
            raise ValueError("a slot of a word that is not there")
