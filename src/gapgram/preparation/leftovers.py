"""Markup without its partner, which no parser can pair up, and what is left where something was removed."""

from __future__ import annotations

import html
import re

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
