"""Words of a vocabulary that are at most two edits away from a string, found by the letters that are left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

import numpy as np

from gapgram.applications.correction.tokens import is_correctable
from gapgram.arrays import Integers
from gapgram.system.progress import progress_bar

_PREFIX = 7  # letters that count: words that are near each other have near beginnings
_SHORT = 4  # letters up to which one edit is allowed, not two
_REMEMBERED = 1 << 14


class NearWords:
    """Looks up which words share letters with a string, once up to two of each are left out."""

    def __init__(self, words: Iterable[str], *, progress: bool = False) -> None:
        self.words: list[str] = [word for word in dict.fromkeys(words) if is_correctable(word)]
        keys, sizes = list[int](), list[int]()
        with progress_bar("indexing words", total=len(self.words), progress=progress) as advance:
            for word in self.words:
                before = len(keys)
                keys.extend(_keys(word, edits_allowed(word)))
                sizes.append(len(keys) - before)
                advance(1)
        all_keys = np.array(keys, np.int64)
        order = np.argsort(all_keys, kind="stable")
        self._keys: Integers = all_keys[order]
        self._owners: Integers = np.repeat(np.arange(len(sizes)), sizes)[order]
        self._known = frozenset(self.words)
        self.near = lru_cache(_REMEMBERED)(self._near)

    def __contains__(self, word: object) -> bool:
        return word in self._known

    def _near(self, text: str, most: int) -> tuple[str, ...]:
        """Words that may be at most so many edits away from a text, not all of which are; itself is not among them."""
        keys = np.array(list(_keys(text, most)), np.int64)
        begins, ends = np.searchsorted(self._keys, keys), np.searchsorted(self._keys, keys, side="right")
        spans = [self._owners[a:b] for a, b in zip(begins, ends, strict=True) if a < b]
        owners = np.unique(np.concatenate(spans)).tolist() if spans else []
        words = (self.words[i] for i in owners)
        return tuple(word for word in words if word != text and abs(len(word) - len(text)) <= most)


def edits_allowed(word: str) -> int:
    """How many edits a word may be away: short words have too many neighbours."""
    return 1 if len(word) <= _SHORT else 2


def _keys(word: str, most: int) -> Iterator[int]:
    """Hashes of the beginning of a word, and of what is left of it without one or two letters."""
    head = word[:_PREFIX]
    heads = {head}
    shorter = {head}
    for _ in range(most):
        shorter = {text[:i] + text[i + 1 :] for text in shorter for i in range(len(text))}
        heads |= shorter
    return map(hash, heads)
