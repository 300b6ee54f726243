"""Wikitext in which so much markup lacks its partner that a parser would look for it for hours.

For each sign that opens something and is never closed, mwparserfromhell reads on to the end of the page and then begins
again. On an ordinary page that is nothing; on one that is made of such signs it is quadratic. There, and only there,
they are hidden from it.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from itertools import pairwise

from gapgram.preparation.languages import words_of

HIDDEN = "\x1f"  # stands inside a sign, which is then no markup; a space to Python, so that it begins no tag either

_MOST_STEPS = 1 << 22
_MANY_BRACES = re.compile(r"\{{17,}")  # the parser goes down for each
_LONE_TAGS = words_of("br wbr hr meta link img")
_HIDDEN_ITEM = re.compile(f"<{HIDDEN}(?=(?:li|dt|dd|th|td|tr)\\b)", re.IGNORECASE)
_SIGN = re.compile(
    r"(?P<braces>\{{2,})|(?P<end_braces>\}{2,})"
    r"|^[ \t:*#;]*(?P<table>\{\|)|^[ \t]*(?P<end_table>\|\})"
    r"|(?P<link>\[\[)|(?P<end_link>\]\])"
    r"|(?P<address>\[(?=//|[A-Za-z]+:))|(?P<end_address>\])"
    r"|</(?P<end_tag>[A-Za-z][^\s<>/]*)(?:[\s/][^<>]*)?>|<(?P<tag>[A-Za-z][^\s<>/]*)(?:[\s/][^<>]*)?>"
    r"|(?P<half_tag><(?=[A-Za-z]))",
    re.MULTILINE,
)


def with_unpaired_hidden(text: str, *, most_steps: int = _MOST_STEPS) -> str:
    """The text; where a parser would take too long over signs without a partner, with these hidden.

    most_steps: how many characters, about, it may read in vain.

    >>> with_unpaired_hidden("[[a]] [[b") == "[[a]] [[b"
    True
    >>> with_unpaired_hidden("[[a]]" + 3000 * "[[b")[:12].replace(HIDDEN, "?")
    '[[a]][?[b[?['
    """
    text = _MANY_BRACES.sub(lambda braces: HIDDEN.join(braces[0]), text)
    marks = _unpaired(text)
    if len(marks) * len(text) <= most_steps:
        return text
    cuts = [0, *(at + 1 for at in sorted(marks)), len(text)]
    hidden = HIDDEN.join(text[begin:end] for begin, end in pairwise(cuts))
    return _HIDDEN_ITEM.sub(r"\n\n\g<0>", hidden)


def _unpaired(text: str) -> list[int]:
    """Where the signs begin that open something and are not closed, or not before something around them is."""
    opened = _Opened()
    for sign in _SIGN.finditer(text):
        kind = sign.lastgroup or ""
        if kind == "half_tag":
            opened.unpaired.append(sign.start())
        elif kind == "braces":
            opened.open(kind, sign.start(), len(sign[0]))
        elif kind == "end_braces":
            opened.close_braces(len(sign[0]))
        elif kind.endswith("tag"):
            name = f"<{sign[kind].lower()}"
            if kind == "end_tag":
                opened.close(name)
            elif name[1:] not in _LONE_TAGS and not sign[0].endswith("/>"):
                opened.open(name, sign.start())
        elif kind.startswith("end_"):
            opened.close(kind.removeprefix("end_"))
        else:
            opened.open(kind, sign.start(kind))
    left = [at for _, begin, n in opened.stack for at in range(begin, begin + n)]
    return opened.unpaired + left


class _Opened:
    """What is open at a place of a text, the innermost last: its kind, where it begins, and how many signs it has."""

    def __init__(self) -> None:
        self.stack: list[tuple[str, int, int]] = []
        self.unpaired: list[int] = []
        self._kinds: Counter[str] = Counter()

    def open(self, kind: str, at: int, n: int = 1) -> None:
        """A sign opens something."""
        self.stack.append((kind, at, n))
        self._kinds[kind] += 1

    def close(self, kind: str) -> tuple[int, int]:
        """A sign closes the innermost thing of a kind, if there is one; what is open inside it has no partner."""
        while self._kinds[kind]:
            opened_kind, at, n = self.stack.pop()
            self._kinds[opened_kind] -= 1
            if opened_kind == kind:
                return at, n
            self.unpaired.extend(range(at, at + n))
        return 0, 0

    def close_braces(self, n: int) -> None:
        """Braces may close several things at once, or fewer of them than were opened at once."""
        while n >= 2 and self._kinds["braces"]:
            at, opened = self.close("braces")
            if opened > n:
                self.open("braces", at, opened - n)
            n -= opened


_APOSTROPHES = re.compile(r"'{2,}")
_BRACE = re.compile(r"([{}])")
_LONG_REFERENCE = re.compile(r"&#[xX]?[0-9a-fA-F]{8,};?")  # no character has so large a number
_HALF_LINK = re.compile(r"\[\[(?:[^\[\]|]*\|)?|\]\]")
_HALF_URL = re.compile(r"\[(?:https?:)?//\S*\s?")
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>|</?(?:ref|br|small|sup|sub|div|span|center)\b")
_ATTRIBUTE = re.compile(
    r"\b(?:style|class|align|valign|width|height|colspan|rowspan|bgcolor|border|cellpadding|cellspacing|scope)"
    r"\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s|]+)\s*\|?",
    re.IGNORECASE,
)
_FILE_OPTION = re.compile(r"\b(?:thumb|thumbnail|frame|left|right|center|upright|\d+px)\|")
_TABLE = re.compile(r"\{\||\|\}|\|-+|\|\||!!|\{\{+|\}\}+")
_EMPTY_BRACKETS = re.compile(r"\(\s*(?:[,;:–-]\s*)*\)|\[\s*\]")
_BRACKET_START = re.compile(r"\(\s*(?:[,;:]\s*)+")


def without_leftovers(block: str) -> str:
    """One line of text without what is left of markup.

    >>> without_leftovers("A '''dog''' [[animal|beast (; ) {{x|{{y}}}} barks</span>.")
    'A dog beast barks.'
    """
    text = without_templates(html.unescape(_LONG_REFERENCE.sub("", _APOSTROPHES.sub("", block))))
    for pattern in (_TAG, _HALF_LINK, _HALF_URL, _ATTRIBUTE, _FILE_OPTION, _TABLE):
        text = pattern.sub("", text)
    text = without_marks_at_ends(_BRACKET_START.sub("(", _EMPTY_BRACKETS.sub("", text)))
    return " ".join(text.replace("|", " ").split()).lstrip("! ")


def without_templates(text: str) -> str:
    """The text without what double braces enclose, from the inside out, read through once.

    >>> without_templates("a {{b|{{c}}}} {{{d}}} {{e} }f}} {{g")
    'a  {} {{e} }f}} {{g'
    """
    kept: list[str] = []
    braces: list[int] = []  # where those that are kept are
    for piece in _BRACE.split(text):
        if piece in ("{", "}"):
            braces.append(len(kept))
        kept.append(piece)
        if piece == "}" and _closes_template(kept, braces):
            del kept[braces[-4] :], braces[-4:]
    return "".join(kept)


def _closes_template(kept: list[str], braces: list[int]) -> bool:
    """Whether the last four braces are two that open and two that close, each two with nothing between them."""
    if len(braces) < 4 or [kept[at] for at in braces[-4:]] != ["{", "{", "}", "}"]:
        return False
    return all(not any(kept[braces[i] + 1 : braces[i + 1]]) for i in (-4, -2))


def without_marks_at_ends(text: str) -> str:
    """The text without commas and semicolons that stand before a closing bracket.

    >>> without_marks_at_ends("(a, ; ) b , c) ,")
    '(a) b , c) ,'
    """
    *before, last = text.split(")")
    return ")".join([*(_without_marks(piece) for piece in before), last])


def _without_marks(piece: str) -> str:
    """A text without the marks, and spaces after and between them, at its end."""
    at = end = len(piece)
    while at and (piece[at - 1] in ",;" or piece[at - 1].isspace()):
        at -= 1
        end = at if piece[at] in ",;" else end
    return piece[:end]
