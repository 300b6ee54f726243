"""What a reader sees of a template.

A template is a program on the wiki that a dump does not run. Those that show a sign or one of their
arguments are known by name; all others (boxes, notes, references, navigation) are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from gapgram.preparation import template_names as names

BLOCK, ITEM = "\n\n", "\n\x04"

_NUMBER = re.compile(r"[-+−]?[\d.,/+⁄e ]+")
_RANGES = {"-": "–", "–": "–", "to": "to", "to(-)": "to", "and": "and", "and(-)": "and", "or": "or", "by": "by",
           "x": "×", "×": "×", "xx": "×", "+/-": "±", "±": "±", ",": ","}  # fmt: skip
_FOR_LANGUAGE = re.compile(r"(?:lang|ipa)-[a-z-]+")


@dataclass(frozen=True)
class Call:
    """A template in a text: its name in lower case, and its arguments as plain text."""

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
    if call.name in names.LITERALS:
        return names.LITERALS[call.name]
    if call.name in _RULES:
        return _RULES[call.name](call)
    if _FOR_LANGUAGE.fullmatch(call.name):
        return call.argument(1)
    return call.name.removeprefix("formatnum:").strip() if call.name.startswith("formatnum:") else ""


def _second(call: Call) -> str:
    return call.argument(2) or call.argument(1)


def _last(call: Call) -> str:
    return call.positional[-1] if call.positional else ""


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


def _value(call: Call) -> str:
    return f"{call.argument(1)} {call.named.get('u', call.named.get('ul', ''))}".strip()


def _century(call: Call) -> str:
    numeral = call.argument(1)
    before = " av. J.-C." if call.name in names.CENTURIES_BEFORE_CHRIST else ""
    return f"{numeral}{'er' if numeral == 'I' else 'e'} siècle{before}" if numeral else ""


def _circa(call: Call) -> str:
    return "c. " + "–".join(value for value in call.positional[:2] if value)


def _ship(call: Call) -> str:
    return f"{call.name.upper()} {call.argument(1)}"


def _quoted(call: Call) -> str:
    """In French a passage in quotation marks; in English, with named arguments only, a reference."""
    return f"« {call.positional[0]} »" if call.positional else ""


def _german_quoted(call: Call) -> str:
    return f"„{call.argument(1, 'text')}“"


def _quote(call: Call) -> str:
    return f"{BLOCK}{call.argument(1, 'text', 'quote', 'testo')}{BLOCK}"


def _items(call: Call) -> str:
    return "".join(f"{ITEM}{value.strip()}" for value in call.positional) + BLOCK


_Rule = Callable[[Call], str]


def _rules(*groups: tuple[Iterable[str], _Rule]) -> dict[str, _Rule]:
    return {name: rule for group, rule in groups for name in group}


_RULES = _rules(
    (names.FIRST, lambda call: call.argument(1)),
    (names.SECOND, _second),
    (names.LAST, _last),
    (names.QUOTES, _quote),
    (names.LISTS, _items),
    (names.MEASURES, _measure),
    (names.PARTS_WITH_SPACES, lambda call: " ".join(filter(None, call.positional))),
    (names.PARTS_WITHOUT_SPACES, lambda call: "".join(call.positional)),
    (names.FRACTIONS, _fraction),
    (names.CENTURIES, _century),
    (names.CENTURIES_BEFORE_CHRIST, _century),
    (names.SHIPS, _ship),
    (names.FLAGS, lambda call: call.argument(1, "name")),
    (names.JAPANESE, _japanese),
    (["as of", "asof"], _as_of),
    (["circa", "c.", "ca."], _circa),
    (["val"], _value),
    (["citation"], _quoted),
    (['"'], _german_quoted),
)
