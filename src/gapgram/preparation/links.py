"""What a reader sees of a link: its label, the caption of a file, nothing of a category."""

from __future__ import annotations

import re

from gapgram.preparation.languages import WIKIPEDIA_CODES, words_of
from gapgram.preparation.wikipedia import Site

# A caption belongs beside the text; it is marked so that it does not cut the sentence around its file.
CAPTION_START, CAPTION_END = "\x02", "\x03"

_FRAMES = words_of(
    "thumb thumbnail frame framed enframed mini miniatur gerahmt rahmen vignette cadre miniatura riquadrato min "
    "riquadro мини миниатюра рамка miniaturadeimagen marco commoldura"
)
_PLACES = words_of(
    "left right center centre none border frameless baseline middle top bottom sub super text-top text-bottom "
    "upright thumb links rechts zentriert ohne rand hochkant rahmenlos gauche droite centré néant sans_cadre "
    "redresse bordure sinistra destra centro nessuno verticale bordo senza_cornice ляво дясно център дясна лява "
    "вдясно вляво izquierda derecha esquerda direita"
)
_SIZE = re.compile(r"\d*\s*(?:x\s*\d+\s*)?(?:px|пкс)", re.IGNORECASE)
_NAMED = re.compile(r"[\w ]{1,20}=.*", re.DOTALL)


def link_text(title: str, label: str | None, site: Site) -> str:
    """The text of `[[title|label]]`; files give their caption, marked.

    >>> site = Site("en", frozenset({"file"}), frozenset({"category"}), frozenset())
    >>> link_text("Dog", "dogs", site), link_text("Category:Dogs", None, site), link_text("de:Hund", None, site)
    ('dogs', '', '')
    """
    prefix = title.partition(":")[0].strip().lower().replace("_", " ")
    if prefix == title.lower() or title.startswith(":"):
        return _plain(title.removeprefix(":"), label)
    if prefix in site.files:
        caption = file_caption(label or "", framed=False)
        return f"{CAPTION_START}{caption}{CAPTION_END}" if caption else ""
    if prefix in site.categories or prefix in WIKIPEDIA_CODES:
        return ""
    return _plain(title, label)


def file_caption(options: str, *, framed: bool) -> str:
    """The caption among the options of a file; without a frame only a text of three words or more is one.

    >>> file_caption("thumb|200px|alt=A dog|A dog.", framed=False)
    'A dog.'
    >>> file_caption("right|20px|link=", framed=False)
    ''
    """
    given = [option.strip() for option in options.split("|")]
    framed = framed or any(option.lower().split("=")[0] in _FRAMES for option in given)
    captions = [option for option in given if option and not _is_option(option)]
    if not captions or not (framed or len(captions[-1].split()) >= 3):
        return ""
    return " ".join(captions[-1].split())


def _is_option(option: str) -> bool:
    word = option.lower().replace(" ", "_")
    return word in _FRAMES or word in _PLACES or bool(_SIZE.fullmatch(option) or _NAMED.fullmatch(option))


def _plain(title: str, label: str | None) -> str:
    """The label; the title without its parentheses where the label is empty."""
    if label is None:
        return title
    return label if label.strip() else _without_parentheses(title.rpartition(":")[2])


def _without_parentheses(title: str) -> str:
    """A title without parentheses at its end.

    >>> _without_parentheses("Mercury (planet)"), _without_parentheses("(a)(b"), _without_parentheses("a (b) c)")
    ('Mercury', '(a)(b', 'a (b) c)')
    """
    before, opening, inside = title.rpartition("(")
    return before.rstrip() if opening and inside.partition(")")[1:] == (")", "") else title
