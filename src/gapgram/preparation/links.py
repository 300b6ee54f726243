"""What a reader sees of a link (its label, the caption of a file, nothing of a category), and of a template."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

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


BLOCK, ITEM = "\n\n", "\n\x04"

_NUMBER = re.compile(r"[-+−]?[\d.,/+⁄e ]+")
_RANGES = {"-": "–", "–": "–", "to": "to", "to(-)": "to", "and": "and", "and(-)": "and", "or": "or", "by": "by",
           "x": "×", "×": "×", "xx": "×", "+/-": "±", "±": "±", ",": ","}  # fmt: skip
_FOR_LANGUAGE = re.compile(r"(?:lang|ipa)-[a-z-]+")


# Names of templates by what a reader sees of them: English, German, French, Italian, and a few more.

def _names(text: str) -> frozenset[str]:
    return frozenset(name.strip() for name in text.split(","))


# Their first argument.
FIRST = _names(
    """abbr, abbrlink, angbr, angle bracket, big, bigger, center, code, em, gloss, ill, illm, ill2,
    interlanguage link, interlanguage link multi, ipa, ipablink, ipalink, ipaslink, kbd, key press, keypress,
    larger, linktext, math, mono, mvar, music, nastaliq, native name, nobold, nobr, nobreak, noitalic, not a typo,
    notatypo, nowrap, nowraplinks, nts, polytonic, samp, sc, sic, script/arabic, script/hebrew, semxlit, small,
    small caps, smallcaps, smaller, strong, sub, sup, tooltip, tt, typo, unicode, url, vanchor, var,
    visible anchor, zh-full, mp, sort, pipe link,
    abkürzung, arf, ars, css, els, ens, ess, frs, grcs, hes, hus, its, jas, las, nls, pls, pts, rus, svs, trs,
    sperrschrift, farblink, hochgestellt, tiefgestellt,
    lien, petit, petites capitales, page h', citation étrangère, guil, term, terme défini, incise, romain,
    inglese, latino, francese, tedesco, spagnolo, russo, greco, maiuscoletto, citazione necessaria, senza fonte"""
)
# Their second argument, or the first where there is only one.
SECOND = _names(
    """lang, langue, script, color, colour, font color, fontcolor, colored text, legend, legend inline, legend0,
    resize, font size, hover title, translit, farbe, couleur, texte coloré, colore, citation-langue, nowrap2"""
)
# Their last argument.
LAST = _names("transl, transliteration")
# A passage of its own.
QUOTES = _names(
    """quote, quotation, blockquote, block quote, cquote, rquote, quote box, quotebox, bquote, poemquote,
    poem quote, centered pull quote, pull quote, zitat, zitat-en, zitat-fr, citation bloc, citazione, цитат"""
)
# Items one below the other.
LISTS = _names(
    """plainlist, flatlist, hlist, ubl, unbulleted list, ublist, vunblist, bulleted list, ordered list,
    columns-list, columns list, colonnes, collapsible list"""
)
MEASURES = _names("convert, cvt, conv, convertir")
PARTS_WITH_SPACES = _names("unité, unite, date, date-, heure, nombre")
PARTS_WITHOUT_SPACES = _names("chem, chem2, chimie, fchim, pow")
FRACTIONS = _names("frac, fraction, sfrac, bruch")
CENTURIES = _names("s, s-, s2, siècle")
CENTURIES_BEFORE_CHRIST = _names("-s, -s-, siècle av jc")
SHIPS = _names("uss, hms, ss, hmas, hmcs, rms, usns, sms, mv, ms")
FLAGS = _names("flag, flagu, flagcountry, drapeau2")
JAPANESE = _names("nihongo, nihongo2, nihongo3, nihongo foot, japonais")

# A sign or a word. Two line feeds end a paragraph.
LITERALS = {
    "nbsp": " ", "space": " ", "spaces": " ", "thinsp": " ", "thin space": " ", "hair space": " ", "nnbsp": " ",
    "shy": "", "wbr": "", "br": " ", "clear": "\n\n", "-": "\n\n", "snd": " – ", "spnd": " – ", "snds": " – ",
    "spaced ndash": " – ", "spaced en dash": " – ", "ndash": "–", "en dash": "–", "endash": "–", "mdash": "—",
    "em dash": "—", "emdash": "—", "mdashb": " — ", "spaced mdash": " — ", "dash": " – ", "'": "'", "'s": "'s",
    "\"'": "\"'", "'\"": "'\"", "·": " · ", "dot": " · ", "!": "|", "pipe": "|", "=": "=", "(": "(", ")": ")",
    "...": "…", "ellipsis": "…", "okina": "ʻ", "hamza": "ʾ", "ayin": "ʿ", "minus": "−", "times": "×",
    "n°": "n°", "numéro": "n°", "m.": "M.", "mme": "Mme", "mlle": "Mlle", "1er": "1er", "ier": "Ier", "1re": "1re",
    "av jc": "av. J.-C.", "ap jc": "apr. J.-C.",
}  # fmt: skip


@dataclass(frozen=True)
class Call:
    """A template in a text: its name in lower case, and its arguments as plain text.

    It is a program on the wiki that a dump does not run. Templates that show a sign or one of their arguments are known
    by name; all others (boxes, notes, references, navigation) are left out.
    """

    name: str
    positional: tuple[str, ...]
    named: dict[str, str]

    def argument(self, number: int, *other_names: str) -> str:
        """The argument of one of these names, or else at this place, counted from 1."""
        for name in (*other_names, str(number)):
            if name in self.named:
                return self.named[name]
        return self.positional[number - 1] if number <= len(self.positional) else ""


def text_of(call: Call) -> str:
    """What a reader sees of a template.

    >>> text_of(Call("convert", ("5", "km", "mi"), {})), text_of(Call("lang", ("fr", "mot"), {}))
    ('5 km', 'mot')
    >>> text_of(Call("infobox town", ("x",), {}))
    ''
    """
    if call.name in LITERALS:
        return LITERALS[call.name]
    if call.name in _RULES:
        return _RULES[call.name](call)
    if _FOR_LANGUAGE.fullmatch(call.name):
        return call.argument(1)
    return call.name.removeprefix("formatnum:").strip() if call.name.startswith("formatnum:") else ""


def _measure(call: Call) -> str:
    """A measure as it was given, not what it converts to: 5 to 10 km."""
    taken: list[str] = []
    for value in map(str.strip, call.positional):
        taken.append(_RANGES.get(value, value))
        if len(taken) > 1 and value not in _RANGES and not _NUMBER.fullmatch(value):
            break
    return " ".join(taken)


def _as_of(call: Call) -> str:
    if "alt" in call.named:
        return call.named["alt"]
    words = "since" if "since" in call.named else "as of"
    date = " ".join(reversed([value for value in call.positional[:3] if value]))
    return f"{words if 'lc' in call.named else words.capitalize()} {date}"


def _japanese(call: Call) -> str:
    inside = ", ".join(value for value in call.positional[1:3] if value)
    return f"{call.argument(1)} ({inside})" if inside else call.argument(1)


def _fraction(call: Call) -> str:
    *whole, top, bottom = ["1", *call.positional] if len(call.positional) == 1 else ["", *call.positional, ""][:-1]
    return f"{' '.join(whole)} {top}/{bottom}".strip()


def _century(call: Call) -> str:
    numeral = call.argument(1)
    before = " av. J.-C." if call.name in CENTURIES_BEFORE_CHRIST else ""
    return f"{numeral}{'er' if numeral == 'I' else 'e'} siècle{before}" if numeral else ""


def _quoted(call: Call) -> str:
    """In French a passage in quotation marks; in English, with named arguments only, a reference."""
    return f"« {call.positional[0]} »" if call.positional else ""


def _items(call: Call) -> str:
    return "".join(f"{ITEM}{value.strip()}" for value in call.positional) + BLOCK


_Rule = Callable[[Call], str]


def _rules(*groups: tuple[Iterable[str], _Rule]) -> dict[str, _Rule]:
    return {name: rule for group, rule in groups for name in group}


_RULES = _rules(
    (FIRST, lambda call: call.argument(1)),
    (SECOND, lambda call: call.argument(2) or call.argument(1)),
    (LAST, lambda call: "".join(call.positional[-1:])),
    (QUOTES, lambda call: f"{BLOCK}{call.argument(1, 'text', 'quote', 'testo')}{BLOCK}"),
    (LISTS, _items),
    (MEASURES, _measure),
    (PARTS_WITH_SPACES, lambda call: " ".join(filter(None, call.positional))),
    (PARTS_WITHOUT_SPACES, lambda call: "".join(call.positional)),
    (FRACTIONS, _fraction),
    (CENTURIES, _century),
    (CENTURIES_BEFORE_CHRIST, _century),
    (SHIPS, lambda call: f"{call.name.upper()} {call.argument(1)}"),
    (FLAGS, lambda call: call.argument(1, "name")),
    (JAPANESE, _japanese),
    (["as of", "asof"], _as_of),
    (["circa", "c.", "ca."], lambda call: "c. " + "–".join(filter(None, call.positional[:2]))),
    (["val"], lambda call: f"{call.argument(1)} {call.named.get('u', call.named.get('ul', ''))}".strip()),
    (["citation"], _quoted),
    (['"'], lambda call: f"„{call.argument(1, 'text')}“"),
)
