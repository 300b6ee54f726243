"""Punctuation marks cut off the words that they touch, as the text of a model has them apart.

A model that was trained on text with marks as words of their own knows `city` and `.`, not `city.`. `Splitter` cuts raw
text into what its vocabulary knows; what it knows already, as `U.S.` or `so-called`, stays whole, so that text which
is cut stays as it is. Without a vocabulary the same rule cuts text to train on.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Protocol

from gapgram.errors import UsageError
from gapgram.kernels.text.special_words import SPECIAL
from gapgram.system.parallel import read_ahead
from gapgram.text.corpus import checked_text
from gapgram.text.files import Block
from gapgram.text.rules import TextRules

MARKS = "marks"  # the one way of splitting that there is, as files name it
RAW, DONE = "raw", "done"  # text to train on, whose marks are to be cut off, or are words of their own already
_REMEMBERED = 1 << 16  # words, and how they are cut
_REMEMBERED_CHARACTERS = 100
_BLANKS = str.maketrans(dict.fromkeys("\t\n\v\f\r", " "))  # white space, as all text is split
_BLANKS_OF_LINES = {point: blank for point, blank in _BLANKS.items() if point != ord("\n")}
# Typographic marks, as text writes them that has no others.
_PLAIN = str.maketrans(
    {**dict.fromkeys("‘’‚‛", "'"), **dict.fromkeys("“”„‟«»", '"'), **dict.fromkeys("–—", "-"), "…": "..."}
)
_DOTTED = re.compile(r"(?:[^\W\d_]\.){2,}")  # U.S., e.g.
_JOINTS = re.compile(r"[–—/…]|(?<=\d)-(?=\d)")  # between words, or numbers, that may stand by themselves
_APOSTROPHES = "'’"
_OPENING, _CLOSING = frozenset("([{“‘«„"), frozenset([*".,;:!?)]}”’»%", "..."])
_CLITIC = re.compile(r"n['’]t|['’](?:s|re|ve|d|m|ll)", re.IGNORECASE)


class Words(Protocol):
    """A vocabulary: the id of a word is 0 where it is not known, and lower the more frequent it is."""

    def id(self, word: str) -> int: ...


class _NoWords:
    def id(self, word: str) -> int:
        return 0


def check_split(split: str | None, *, has_tokeniser: bool) -> None:
    """Refuse what is no state of a text to train on."""
    if split not in (None, RAW, DONE):
        raise UsageError(f"split {split!r}: expected {RAW} (cut it) or {DONE} (it is cut already)")
    if split is not None and has_tokeniser:
        raise UsageError("split: a tokeniser cuts marks off words itself; leave one of the two out")


def split_marks(word: str) -> list[str]:
    """A word and the marks that it begins or ends with, each by itself; marks inside a word stay.

    >>> split_marks("(it's,"), split_marks("..."), split_marks("3.5")
    (['(', "it's", ','], ['...'], ['3.5'])
    """
    begin, end = core_of(word)
    return [*word[:begin], word[begin:end], *word[end:]] if begin < end else [word]


@lru_cache(1 << 12)
def is_mark(character: str) -> bool:
    """Whether a character is punctuation."""
    return unicodedata.category(character)[0] == "P"


def core_of(word: str) -> tuple[int, int]:
    """Where a word begins and ends without the marks around it; the same place twice where it is only marks."""
    begin, end = 0, len(word)
    while begin < end and is_mark(word[begin]):
        begin += 1
    while end > begin and is_mark(word[end - 1]):
        end -= 1
    return begin, end


def as_written(words: Iterable[str]) -> str:
    """Words and marks as people write them: marks touch the words that they belong to.

    >>> print(as_written("He ( 60 ) did n't say yes .".split()))
    He (60) didn't say yes.
    """
    text, quoted, tight = "", False, True
    for word in words:
        opens = word in _OPENING or (word == '"' and not quoted)
        closes = word in _CLOSING or (word == '"' and quoted) or _CLITIC.fullmatch(word) is not None
        text += word if tight or closes else f" {word}"
        quoted ^= word == '"'
        tight = opens
    return text


class Splitter:
    """Cuts raw text into the words of a vocabulary, or, without one, marks off words; safe to share between threads.

    >>> Splitter().words("He left (the U.S.), didn't he?")
    ['He', 'left', '(', 'the', 'U.S.', ')', ',', "didn't", 'he', '?']
    >>> from gapgram.text.vocabulary import Vocabulary
    >>> Splitter(Vocabulary.of(["did", "n't", "(", "ca.", ")", "-"])).words("didn’t (ca. 1914–18)")
    ['did', "n't", '(', 'ca.', '1914–18', ')']
    """

    def __init__(self, known: Words | None = None) -> None:
        self._words = _NoWords() if known is None else known
        self._cuts: dict[str, str] = {}

    def words(self, text: str) -> list[str]:
        """The words of a line."""
        line = self.line(text)
        return line.split(" ") if line else []

    def line(self, line: str) -> str:
        """The words of a line, blanks between them."""
        return " ".join([self._cut(word) for word in line.translate(_BLANKS).split(" ") if word])

    def cut(self, word: str) -> list[str]:
        """What a piece of text between white space is made of."""
        return self._cut(word).split(" ")

    def block(self, block: Block, rules: TextRules) -> Block:
        """The lines of a block as words with blanks between them; empty lines stay empty."""
        lines = checked_text(block, rules).tobytes().decode().translate(_BLANKS_OF_LINES).split("\n")
        cuts, cut = self._cuts, self._cut
        done = [" ".join([cuts.get(word) or cut(word) for word in line.split(" ") if word]) for line in lines]
        return replace(block, held="\n".join(done).encode(), is_tokenised=True)

    def blocks(self, blocks: Iterable[Block], rules: TextRules) -> Iterator[Block]:
        """Blocks of text as blocks of words; the next is cut while one is used."""
        return read_ahead(self.block(block, rules) for block in blocks)

    def _cut(self, word: str) -> str:
        """The words that a piece is made of, blanks between them; remembered."""
        if word.isalnum():
            return word
        cut = self._cuts.get(word)
        if cut is None:
            cut = " ".join(self._parts(word))
            if len(word) <= _REMEMBERED_CHARACTERS:
                if len(self._cuts) >= _REMEMBERED:
                    self._cuts.clear()
                self._cuts[word] = cut
        return cut

    def _parts(self, word: str) -> Sequence[str]:
        if word in SPECIAL or self._knows(word):
            return [word]
        begin, end = self._core(word)
        if begin == end:
            return self._marks(word)
        begin, end = self._known_core(word, begin, end)
        return [*self._marks(word[:begin]), *self._inside(word[begin:end]), *self._marks(word[end:])]

    def _core(self, word: str) -> tuple[int, int]:
        """As `core_of`; signs such as $ and + stand by themselves, too, where the vocabulary knows them so."""
        begin, end = core_of(word)
        if begin == end or (word[begin].isalnum() and word[end - 1].isalnum()):
            return begin, end
        while begin < end and self._stands_alone(word[begin]):
            begin += 1
        while end > begin and self._stands_alone(word[end - 1]):
            end -= 1
        return begin, end

    def _stands_alone(self, character: str) -> bool:
        return not character.isalnum() and (is_mark(character) or self._knows(character))

    def _known_core(self, word: str, begin: int, end: int) -> tuple[int, int]:
        """The longest part that is known of a word with some of the marks around it, or the word without any."""
        n_before, n_after = begin, len(word) - end
        for n in range(n_before + n_after):
            for before in range(max(0, n - n_after), min(n, n_before) + 1):
                part = word[before : len(word) - (n - before)]
                if self._knows(part) or _DOTTED.fullmatch(part):
                    return before, len(word) - (n - before)
        return begin, end

    def _marks(self, marks: str) -> list[str]:
        """Marks as the vocabulary knows them: together, or each by itself."""
        if not marks:
            return []
        plain = [self._plain(mark) for mark in marks]
        if self._knows(marks) or (len(marks) > 1 and len(set(marks)) == 1 and not self._knows(plain[0])):
            return [marks]  # such as ...
        return plain

    def _inside(self, word: str) -> Sequence[str]:
        """A word without marks around it, cut at what joins words that are known, or as it is."""
        if self._knows(word) or word.isalnum():
            return [word]
        plain = word.translate(_PLAIN)
        if plain != word and self._knows(plain):
            return [plain]
        pieces = [piece for piece in re.split(f"({_JOINTS.pattern})", word) if piece]
        if len(pieces) > 1 and all(self._knows(self._plain(piece)) for piece in pieces):
            return [self._plain(piece) for piece in pieces]
        return self._clitic(word) or self._clitic(plain) or [word]

    def _clitic(self, word: str) -> Sequence[str] | None:
        """A word cut into two that are known, one with an apostrophe, such as is|n't, man|'s, l'|uso."""
        found: list[tuple[int, tuple[str, str]]] = []
        if not any(mark in word for mark in _APOSTROPHES):
            return None
        for at in range(1, len(word)):
            parts = word[:at], word[at:]
            ids = [self._words.id(part) for part in parts]
            if all(ids):
                clitic = int(not any(mark in parts[0] for mark in _APOSTROPHES))
                found.append((ids[clitic], parts))
        return min(found)[1] if found else None  # with the most frequent of such parts

    def _knows(self, word: str) -> bool:
        return self._words.id(word) > 0

    def _plain(self, mark: str) -> str:
        """A mark as the vocabulary knows it: typographic ones may stand for plain ones."""
        plain = mark.translate(_PLAIN)
        return plain if plain != mark and not self._knows(mark) and self._knows(plain) else mark
