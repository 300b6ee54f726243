"""Paragraphs to sentences, by sentencex and a few rules on top of it.

sentencex would rather split than not after abbreviations that it does not know ("M. Dupont", "vol. 3") and
inside some that have no space ("a.C."); the rules put such pieces together again.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import groupby

from gapgram.preparation.languages import Language, words_of

# Soft hyphens, zero-width and direction marks, control characters: nothing that a reader sees.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\ufffc]"
)
_QUOTATION_MARK = re.compile("[\"“”„«»‘’‚‹›]|(?<!\\w)'|'(?!\\w)")
_LONG_CHARACTERS = 250
_AT_ONCE_CHARACTERS = 5_000  # given to sentencex, whose time grows with the square of it at worst
_LONGEST_WORD = 100
_SPACE = re.compile(r"\s+")
_LAST_WORD = re.compile(r"(?:(\w+)\s+)?[(\[\"“„«'’]*(\S*?)\.\s*$")
_APOSTROPHE = re.compile("['’]")
_WORD = re.compile(r"[^\W_]")


def lines_of(paragraphs: Iterable[str], language: Language) -> list[str]:
    """The sentences of paragraphs as lines of tokens; a line without a word is left out.

    >>> from gapgram.preparation.languages import language_of
    >>> lines_of(["It was 5 p.m. in St. Louis. He left!", "***"], language_of("en"))
    ['It was 5 p.m. in St. Louis .', 'He left !']
    """
    sentences = [
        tokens(sentence, language) for paragraph in paragraphs for sentence in sentences_of(clean(paragraph), language)
    ]
    return [" ".join(words) for words in sentences if any(_WORD.search(word) for word in words)]


def clean(paragraph: str) -> str:
    """A paragraph on one line, in composed characters (NFC), without what cannot be seen.

    >>> clean("a\\u00adb\\n c ")
    'ab c'
    """
    return _SPACE.sub(" ", _INVISIBLE.sub("", unicodedata.normalize("NFC", paragraph))).strip()


def sentences_of(paragraph: str, language: Language) -> list[str]:
    """The sentences of a paragraph; joined together they are the paragraph.

    >>> from gapgram.preparation.languages import language_of
    >>> sentences_of("M. Dupont est là. Il vient en 50 av. J.-C. ici.", language_of("fr"))
    ['M. Dupont est là. ', 'Il vient en 50 av. J.-C. ici.']
    """
    sentences: list[str] = []
    pieces: list[str] = []  # of one sentence
    end = ""  # of what was read of it
    for piece, goes_on in _pieces(paragraph, language.code):
        if pieces and not (goes_on or _continues(end, piece, language)):
            sentences.append("".join(pieces))
            pieces, end = [], ""
        pieces.append(piece)
        end = (end + piece)[-_LONGEST_WORD:]
    return [*sentences, "".join(pieces)] if pieces else sentences


def _pieces(paragraph: str, code: str) -> Iterator[tuple[str, bool]]:
    """The pieces that sentencex finds in some thousand characters at a time, and whether one was cut off before.

    What it finds last may go on behind the characters it saw, and is looked at again together with those, unless it
    is most of them.
    """
    begin, cut = 0, False
    while begin < len(paragraph):
        seen = paragraph[begin : begin + _AT_ONCE_CHARACTERS]
        segments = list(_segments(seen, code))
        more = begin + len(seen) < len(paragraph)
        again = more and len(segments[-1]) <= len(seen) // 2
        for piece in segments[:-1] if again else segments:
            yield piece, cut
            cut = False
        begin, cut = begin + len(seen) - (len(segments[-1]) if again else 0), more and not again


def _segments(text: str, code: str) -> Iterator[str]:
    """The pieces that sentencex finds. It keeps a quotation whole, and all after a quotation mark without
    its partner; a long piece is split again as if its quotation marks were not there."""
    import sentencex

    for piece in sentencex.segment(code, text):
        if len(piece) <= _LONG_CHARACTERS:
            yield piece
            continue
        start = 0
        for segment in sentencex.segment(code, _QUOTATION_MARK.sub("_", piece)):
            yield piece[start : start + len(segment)]
            start += len(segment)


def _continues(before: str, after: str, language: Language) -> bool:
    """Whether a piece goes on with the sentence before it."""
    if not after.strip() or not before[-1].isspace() or after[0].islower():
        return True
    last = _LAST_WORD.search(before)
    if last is None:
        return False
    earlier, word = (last[1] or "").lower(), _APOSTROPHE.split(last[2])[-1]
    initial = len(word) == 1 and word.isupper() and word != "I" and bool(earlier or len(before) <= 3)
    ordinal = word.isdecimal() and len(word) <= 2 and earlier in language.before_ordinals
    return initial or ordinal or word.lower() in language.abbreviations


_LOWER, _UPPER = "[a-zß-öø-ÿа-я]", "[A-ZÀ-ÖØ-ÞА-Я]"
_OPENING = "[(\\[\"“„«'‘]"
_ALONE = r"(?<![\w.'’-])"
_ABBREVIATIONS = words_of("al approx c ca cf etc ff incl op p pp v vol vs")
_MARKS = ".,;:!?'\"()[]-–—…«»„“”‘’‚‹›/%&§¿¡،؛؟।॥։。、"


def _combining() -> str:
    """The marks written onto letters (accents, vowel signs), as ranges for a character class."""
    points = [c for c in range(0x300, 0x10000) if unicodedata.category(chr(c)) in ("Mn", "Mc")]
    runs = [[c for _, c in run] for _, run in groupby(enumerate(points), lambda item: item[1] - item[0])]
    return "".join(f"{chr(run[0])}-{chr(run[-1])}" for run in runs)


# What it does not match (symbols, emoji, stray signs) is left out: a token holds a letter, a digit or a common mark.
@lru_cache
def _pattern(language: Language) -> re.Pattern[str]:
    word = rf"[^\W_][\w{_combining()}]*"
    joined = rf"(?:[-‐‑·&]{word}|(?<=\d)[.,:/]\d\w*|(?<=[^\W\d_])['’]{word}|\.(?={_LOWER}){word})"
    abbreviations = "|".join(sorted(language.abbreviations | _ABBREVIATIONS, key=len, reverse=True))
    alternatives = [
        r"(?:https?|ftp)://\S*[\w/]|www\.\S*[\w/]",
        r"[\w.+-]{1,64}@[\w-]+\.[\w.-]*\w",
        r"\b[A-Z](?:\+\+|\#)(?!\w)",
        rf"\b(?i:{language.elision})['’](?=\w)" if language.elision else "",
        # U.S. and i.e. keep their last dot even at the end of a sentence.
        r"(?<![\w.])(?:[^\W\d_]{1,2}\.){2,}(?:-[^\W\d_]+\.?)?(?!\w)",
        # Inside a sentence a dot ends abbreviations and ordinals: with more words after it …
        rf"{_ALONE}(?:{_UPPER}\w{{,3}}|\d{{1,2}}|(?i:{abbreviations}))\.(?=\s+{_OPENING}?\w)",
        # … a small letter or a digit, or a mark that cannot follow a full stop.
        rf"{_ALONE}[^\W\d_]+\.(?=\s+{_OPENING}?(?:{_LOWER}|\d)|\s?[,;:])",
        rf"(?<!\S)[-−+±](?=[$€£¥]?\d)[$€£¥]?{word}{joined}*°?",
        rf"(?<![^\s(])-(?=[^\W\d_]){word}{joined}*",
        rf"[$€£¥°\#@]?{word}{joined}*(?:°|-(?=[\s,;)]))?",
        r"\.{2,}",
        f"[{re.escape(_MARKS)}]",
    ]
    return re.compile("|".join(filter(None, alternatives)))


def tokens(sentence: str, language: Language) -> list[str]:
    """The tokens of a sentence.

    >>> from gapgram.preparation.languages import language_of
    >>> tokens("Dr. Smith didn't pay $3.50 (in the U.S.) ☺.", language_of("en"))
    ['Dr.', 'Smith', "didn't", 'pay', '$3.50', '(', 'in', 'the', 'U.S.', ')', '.']
    >>> tokens("L'homme d'État, aujourd'hui.", language_of("fr"))
    ["L'", 'homme', "d'", 'État', ',', "aujourd'hui", '.']
    """
    return _pattern(language).findall(sentence)
