"""Text as the models of cc_net want it: lower case, no accents, digits as 0, punctuation of ASCII."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from gapgram.errors import UsageError

Normaliser = Callable[[str], str]

# Marks of other scripts and their nearest of ASCII; three of them become several characters.
_NEAREST = dict(zip("，、。∶：；？！（）〈〉【】％～’´–━►", ",,.::;?!()<>[]%~''---", strict=True))
_MARKS = str.maketrans({**_NEAREST, **dict.fromkeys("„”“«»「」《》", '"'), "…": "...", "．": ". ", "—": " - "})
_DIGIT = re.compile(r"\d")
_NOT_PRINTED = re.compile(f"[{re.escape(''.join(map(chr, (*range(32), *range(127, 160)))))}]")


def ccnet(line: str) -> str:
    """A line as cc_net's `normalize` leaves it, which its models were trained on.

    >>> ccnet("  Á la carte – 25 ％ …")
    'a la carte - 00 % ...'
    """
    line = line.strip()
    if not line:
        return line
    line = _DIGIT.sub("0", _without_accents(line.lower()))
    return _NOT_PRINTED.sub("", line.translate(_MARKS))


def _without_accents(line: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFD", line) if unicodedata.category(c) != "Mn")


_NORMALISERS: dict[str, Normaliser] = {"ccnet": ccnet}


def normaliser(name: str | None) -> Normaliser | None:
    """The normaliser of a name, which takes lines of text; None for none."""
    if name is None:
        return None
    if name not in _NORMALISERS:
        raise UsageError(f"normalisation {name!r}: expected {', '.join(_NORMALISERS)}")
    one = _NORMALISERS[name]
    return lambda text: "\n".join(map(one, text.split("\n")))
