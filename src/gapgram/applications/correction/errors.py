"""How probable a misspelling is: a table of edits and of whole words, learned from pairs or given by rule."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from gapgram.applications.correction.candidates import START, Edit, edits_between
from gapgram.errors import TextError
from gapgram.text.corpus import numbered_lines
from gapgram.text.files import display_name

MOST_EDITS = 2
_LEARNED_FROM = 4  # edits: pairs further apart are remembered, but no edits are learned from them
_UNSEEN = 0.5  # added to the count of each edit, also to those never seen
_ALPHABET = 26
_LONGEST_WORD = 100


class ErrorModel:
    """P(what is written | the word that is meant, and that it is misspelt).

    Edits are counted after the letters that they change, and smoothed. Of pairs that were seen as a whole, the share of
    the misspelling among those of its word counts half.

    >>> model = ErrorModel([("recieve", "receive"), ("beleive", "believe"), ("teh", "the")])
    >>> model.log10("receive", "recieve") > model.log10("receive", "receeve")
    True
    """

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self._edits: Counter[Edit] = Counter()
        self._meant: Counter[str] = Counter()
        self.written: dict[str, Counter[str]] = defaultdict(Counter)  # of each misspelling the words that were meant
        self._spelt: Counter[str] = Counter()
        for written, meant in pairs:
            self._learn(written.lower(), meant.lower())
        self._n = sum(self._edits.values())

    def _learn(self, written: str, meant: str) -> None:
        self.written[written][meant] += 1
        self._spelt[meant] += 1
        for edit in edits_between(meant, written, _LEARNED_FROM) or []:
            self._edits[edit] += 1
            self._meant[_kind(edit)] += 1

    def log10(self, meant: str, written: str) -> float:
        """log10 of the probability that a word, once misspelt, is written so; minus infinity where it is too far."""
        edits = edits_between(meant, written, MOST_EDITS)
        chance = math.prod(self._chance(edit) for edit in edits) / max(len(meant), 1) if edits else 0.0
        seen = self.written[written][meant] if written in self.written else 0
        if seen:
            chance = chance / 2 + seen / self._spelt[meant] / 2
        return math.log10(chance) if chance > 0 else -math.inf

    def _chance(self, edit: Edit) -> float:
        """Of an edit among those that there are of its kind and letters."""
        share = (self._meant[_kind(edit)] + 1) / (self._n + 4)  # how often letters of this kind are misspelt at all
        return share * (self._edits[edit] + _UNSEEN) / (self._meant[_kind(edit)] + _UNSEEN * 2 * _ALPHABET) * _ALPHABET


def _kind(edit: Edit) -> str:
    """What is left out, put in, replaced or swapped: kinds of edits, whatever their letters."""
    meant, written = edit
    if len(meant) == len(written):
        return "replaced" if len(meant) == 1 else "swapped"
    return "left out" if len(meant) > len(written) else "put in"


def read_pairs(path: str | Path) -> Iterator[tuple[str, str]]:
    """Misspellings and what was meant, from lines `wrong<TAB>right`, or `$right` followed by lines of wrong ones."""
    right = None
    for number, line in numbered_lines(path):
        if not line.strip():
            continue
        where = f"{display_name(path)}:{number}"
        if line.startswith("$"):
            right = _checked(line[1:].strip(), where)
            continue
        wrong, tab, meant = line.partition("\t")
        if not tab and right is None:
            raise TextError(f"{where}: expected a misspelling, a tab and the right word")
        yield _checked(wrong.strip(), where), _checked(meant.strip(), where) if tab else str(right)


def _checked(word: str, where: str) -> str:
    plain = word.replace("_", " ")
    if not plain or len(plain) > _LONGEST_WORD or START in plain:
        raise TextError(f"{where}: {plain[:40]!r}: expected a word of 1 to {_LONGEST_WORD} letters")
    return plain
