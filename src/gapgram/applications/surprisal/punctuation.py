"""Punctuation marks: taken off the words that they touch, or given back to the words that they belong to."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from itertools import chain

from gapgram.errors import UsageError
from gapgram.text.splitting import is_mark, split_marks

AS_IS, SPLIT, JOIN = "as-is", "split", "join"
WAYS = (AS_IS, SPLIT, JOIN)
_BEFORE_A_WORD = {"Ps", "Pi"}  # brackets and quotation marks that open


def check_way(way: str) -> None:
    """Refuse a way of treating punctuation that there is not."""
    if way not in WAYS:
        raise UsageError(f"punctuation {way!r}: expected {', '.join(WAYS)}")


def joined(words: Sequence[str]) -> list[list[str]]:
    """Words in groups: a word with the marks that belong to it, closing ones to the word before.

    >>> joined(["(", "it", ")", ",", "too", "."])
    [['(', 'it', ')', ','], ['too', '.']]
    """
    groups: list[list[str]] = []
    opening: list[str] = []
    for word in words:
        marks = all(map(is_mark, word))
        if marks and (unicodedata.category(word[0]) in _BEFORE_A_WORD or not groups):
            opening.append(word)
        elif marks and not opening:
            groups[-1].append(word)
        else:
            groups.append([*opening, word])
            opening = []
    return [*groups, opening] if opening else groups


def regions_of(
    words: Sequence[str], way: str, cut: Callable[[str], Sequence[str]] = split_marks
) -> list[tuple[str, tuple[str, ...]]]:
    """The regions of a sentence, as they are shown and as the model reads them.

    cut: what takes the marks off a word.

    >>> regions_of(["Stop", ",", "'thief'", "!"], JOIN)
    [('Stop,', ('Stop', ',')), ("'thief'!", ("'", 'thief', "'", '!'))]
    """
    if way == AS_IS:
        return [(word, (word,)) for word in words]
    if way == SPLIT:
        return [(piece, (piece,)) for word in words for piece in cut(word)]
    return [("".join(group), tuple(chain.from_iterable(map(cut, group)))) for group in joined(words)]
