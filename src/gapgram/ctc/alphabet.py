"""The labels of a recogniser: which one is blank, which end words, and the letters of each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from gapgram.arguments import wrong_type
from gapgram.arrays import Ids
from gapgram.errors import UsageError
from gapgram.kernels.ctc.prefixes import BLANK, BREAKS, CONTINUES

WORD_BEGINS = "▁"  # as SentencePiece writes it
GOES_ON = "##"  # as WordPiece writes it
UNKNOWN_SIGN = "⁇"  # what stands for a label for whatever else there is
_UNKNOWN_PIECE = f"{WORD_BEGINS}{UNKNOWN_SIGN}{WORD_BEGINS}"
BLANK_PATTERN = re.compile(r"^[<\[](pad|blank|blk|eps|epsilon)[>\]]$", re.IGNORECASE)
UNKNOWN_PATTERN = re.compile(r"^[<\[]unk[>\]]$", re.IGNORECASE)
_SPECIAL = re.compile(r"[<\[].+[>\]]")


class Alphabet(NamedTuple):
    """The labels of a recogniser, in the order of the columns of its logits.

    texts: as this program writes them: the blank empty, what divides words a blank, pieces as SentencePiece has them.
    is_pieces: whether labels are pieces of words, of which some begin a word.

    >>> alphabet = Alphabet.of(["<pad>", "|", "a", "b"])
    >>> alphabet.texts, alphabet.blank, alphabet.is_pieces
    (('', ' ', 'a', 'b'), 0, False)
    >>> Alphabet.of(["[UNK]", "the", "##re"]).texts
    ('▁⁇▁', '▁the', 're', '')
    """

    texts: tuple[str, ...]
    is_pieces: bool

    @classmethod
    def of(cls, labels: Sequence[str], *, blank: str | int | None = None, delimiter: str | None = None) -> Alphabet:
        """The alphabet of labels; the blank is found, or named, and comes last where there is none.

        blank: the label that is blank, or its column. delimiter: the label that divides words.
        """
        texts = _checked(labels)
        is_pieces = any(text.startswith((GOES_ON, WORD_BEGINS)) for text in texts)
        column = _column_of_blank(texts, blank, is_pieces)
        if column is not None:
            if "" in texts and texts.index("") != column:
                said = f"'' (column {texts.index('')}) is empty, but the blank is {texts[column]!r} (column {column})"
                raise UsageError(f"labels: {said}; write what the empty one stands for")
            texts[column] = ""
        if is_pieces:
            texts = _pieces(texts)
        else:
            _divide(texts, delimiter)
        unknown = _UNKNOWN_PIECE if is_pieces else UNKNOWN_SIGN
        texts = [unknown if UNKNOWN_PATTERN.fullmatch(text) else text for text in texts]
        return cls(tuple(texts) if column is not None else (*texts, ""), is_pieces)

    @property
    def blank(self) -> int:
        """The column of the blank."""
        return self.texts.index("")

    @property
    def stripped(self) -> tuple[str, ...]:
        """The letters that each label adds to a word."""
        if self.is_pieces:
            return tuple(text.removeprefix(WORD_BEGINS).removesuffix(WORD_BEGINS) for text in self.texts)
        return tuple("" if text == " " else text for text in self.texts)

    @property
    def kinds(self) -> Ids:
        """Of each label what it does to the word before it."""
        return np.array([self._kind(text) for text in self.texts], np.int32)

    def _kind(self, text: str) -> int:
        if text == "":
            return BLANK
        breaks = text.startswith(WORD_BEGINS) if self.is_pieces else text == " "
        return BREAKS if breaks else CONTINUES

    @property
    def ends_word(self) -> tuple[bool, ...]:
        """Of each label whether the word ends with it, whatever follows."""
        return tuple(self.is_pieces and len(text) > 1 and text.endswith(WORD_BEGINS) for text in self.texts)

    def text_of(self, labels: Sequence[int]) -> str:
        """The text that labels spell."""
        joined = "".join(self.texts[label] for label in labels)
        return " ".join((joined.replace(WORD_BEGINS, " ") if self.is_pieces else joined).split())


def _checked(labels: Sequence[str]) -> list[str]:
    if isinstance(labels, str) or not isinstance(labels, Sequence):
        raise wrong_type("labels", labels, "a list of labels, one for each column of the logits")
    for label in labels:
        if not isinstance(label, str):
            raise wrong_type("label", label, "a string")
    if not labels:
        raise UsageError("labels: the list is empty; expected a label for each column of the logits")
    seen: dict[str, int] = {}
    for column, label in enumerate(labels):
        if label in seen:
            raise UsageError(
                f"labels: {label!r} is that of columns {seen[label]} and {column}; give each its own label"
            )
        seen[label] = column
    return list(labels)


def _column_of_blank(texts: list[str], blank: str | int | None, is_pieces: bool) -> int | None:
    """The column of the blank, named or found; None where no label is one."""
    if isinstance(blank, str):
        if blank not in texts:
            raise UsageError(f"blank {blank!r}: no label is called so; expected one of the {len(texts)} labels")
        return texts.index(blank)
    if blank is not None:
        if not -len(texts) <= blank < len(texts):
            raise UsageError(f"blank {blank}: expected the column of one of {len(texts)} labels")
        return blank % len(texts)
    found = [i for i, text in enumerate(texts) if text == "" or BLANK_PATTERN.fullmatch(text)]
    if len(found) > 1:
        said = " and ".join(f"{texts[i]!r} (column {i})" for i in found)
        raise UsageError(f"labels: {said} may each be the blank; name it with blank=")
    if not found and not is_pieces and "_" in texts:
        return texts.index("_")
    return found[0] if found else None


def _divide(texts: list[str], delimiter: str | None) -> None:
    """Write the label that divides words as a blank."""
    if delimiter is not None:
        if delimiter not in texts:
            raise UsageError(f"delimiter {delimiter!r}: no label is called so; expected one of the {len(texts)} labels")
        if delimiter != " " and " " in texts:
            raise UsageError(f"delimiter {delimiter!r}: the label ' ' divides words, too; expected one of the two")
        texts[texts.index(delimiter)] = " "
    elif "|" in texts and " " not in texts:
        texts[texts.index("|")] = " "


def _pieces(texts: list[str]) -> list[str]:
    """Pieces as SentencePiece writes them."""
    for text in texts:
        if " " in text:
            raise UsageError(f"labels: {text!r} has a blank in it, but others are pieces of words; take it out")
    if not any(text.startswith(GOES_ON) for text in texts):
        return texts
    plain = ("", WORD_BEGINS)
    return [
        text.removeprefix(GOES_ON)
        if text.startswith(GOES_ON)
        else (text if text in plain or _SPECIAL.fullmatch(text) else WORD_BEGINS + text)
        for text in texts
    ]


class Letters:
    """The letters of an alphabet, numbered; the last ones end a word."""

    def __init__(self, alphabet: Alphabet) -> None:
        pairs = list(zip(alphabet.stripped, alphabet.ends_word, strict=True))
        usual = sorted({letter for text, ends in pairs for letter in (text[:-1] if ends else text)})
        closing = sorted({text[-1] for text, ends in pairs if ends and text})
        self.codes = np.array([*map(ord, (*usual, *closing)), ord(" ")], "<u4")  # the last one, -1, divides words
        self.first_closed = len(usual)
        self.numbers = {letter: i for i, letter in enumerate(usual)}
        closed = {letter: len(usual) + i for i, letter in enumerate(closing)}
        self.of_labels = [
            [self.numbers[letter] for letter in text[:-1]] + [(closed if ends else self.numbers)[text[-1]]]
            if text
            else []
            for text, ends in pairs
        ]

    @cached_property
    def by_code(self) -> Ids:
        """The number of each character, by its code; -1 where no label has it."""
        out = np.full(0x110000, -1, np.int32)
        for letter, number in self.numbers.items():
            out[ord(letter)] = number
        return out

    def of(self, text: str) -> Ids:
        """The numbers of the letters of a text."""
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
        return self.by_code[codes]
