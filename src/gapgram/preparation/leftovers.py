"""Markup without its partner, which no parser can pair up, and what is left where something was removed."""

from __future__ import annotations

import html
import re

_APOSTROPHES = re.compile(r"'{2,}")
_TEMPLATE = re.compile(r"\{\{[^{}]*\}\}")
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
_SPACED_END = re.compile(r"(?:[,;]\s*)+\)")


def without_leftovers(block: str) -> str:
    """One line of text without what is left of markup.

    >>> without_leftovers("A '''dog''' [[animal|beast (; ) {{x|{{y}}}} barks</span>.")
    'A dog beast barks.'
    """
    text = html.unescape(_APOSTROPHES.sub("", block))
    while (shorter := _TEMPLATE.sub("", text)) != text:
        text = shorter
    for pattern in (_TAG, _HALF_LINK, _HALF_URL, _ATTRIBUTE, _FILE_OPTION, _TABLE):
        text = pattern.sub("", text)
    text = _SPACED_END.sub(")", _BRACKET_START.sub("(", _EMPTY_BRACKETS.sub("", text)))
    return " ".join(text.replace("|", " ").split()).lstrip("! ")
