"""A sentence to its words and marks.

One regular expression says what a token is; whatever it does not match (symbols, emoji, stray signs) is
left out, so every token holds a letter, a digit or a common punctuation mark.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import groupby

from gapgram.preparation.languages import Language, words_of

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
