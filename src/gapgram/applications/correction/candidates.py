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


Edit = tuple[str, str]  # the letters meant and the letters written; "" for none

START = "^"


def core(meant: str, written: str) -> tuple[str, str, str]:
    """(letter before, meant, written) of what differs, without what is the same at both ends.

    >>> core("receive", "recieve")
    ('c', 'ei', 'ie')
    """
    begin, most = 0, min(len(meant), len(written))
    while begin < most and meant[begin] == written[begin]:
        begin += 1
    end = 0
    while end < most - begin and meant[-1 - end] == written[-1 - end]:
        end += 1
    return meant[begin - 1] if begin else START, meant[begin : len(meant) - end], written[begin : len(written) - end]


def edits_between(meant: str, written: str, most: int) -> list[Edit] | None:
    """The fewest edits that make what was written of what was meant; None where they are more than `most`.

    A letter put in or left out is told with the letter before it.

    >>> edits_between("receive", "recieve", 2), edits_between("cat", "cart", 2), edits_between("cat", "dog", 2)
    ([('ei', 'ie')], [('a', 'ar')], None)
    """
    before, a, b = core(meant, written)
    if abs(len(a) - len(b)) > most or max(len(a), len(b)) > 3 * most:
        return None
    rows: list[list[tuple[int, list[Edit]]]] = []
    for i in range(len(a) + 1):
        row: list[tuple[int, list[Edit]]] = []
        for j in range(len(b) + 1):
            row.append(_best(a, b, i, j, before, rows, row))
        rows.append(row)
    cost, edits = rows[-1][-1]
    return edits if cost <= most else None


def _best(
    a: str, b: str, i: int, j: int, before: str, rows: list[list[tuple[int, list[Edit]]]],
    row: list[tuple[int, list[Edit]]],
) -> tuple[int, list[Edit]]:  # fmt: skip
    """The fewest edits that make b[:j] of a[:i]; `rows` has those of shorter beginnings, `row` those of a[:i]."""
    if i == 0 and j == 0:
        return 0, []
    last = a[i - 1] if i else before
    choices = []
    if i and j:
        cost, edits = rows[i - 1][j - 1]
        same = a[i - 1] == b[j - 1]
        choices.append((cost, edits) if same else (cost + 1, [*edits, (a[i - 1], b[j - 1])]))
    if i > 1 and j > 1 and a[i - 2 : i] == b[j - 1] + b[j - 2]:
        cost, edits = rows[i - 2][j - 2]
        choices.append((cost + 1, [*edits, (a[i - 2 : i], b[j - 2 : j])]))
    if i:
        cost, edits = rows[i - 1][j]
        earlier = a[i - 2] if i > 1 else before
        choices.append((cost + 1, [*edits, (earlier + a[i - 1], earlier)]))
    if j:
        cost, edits = row[j - 1]
        choices.append((cost + 1, [*edits, (last, last + b[j - 1])]))
    return min(choices, key=lambda choice: choice[0])
