"""A piece of XML as a flat list of its elements, by expat; entities of its own and deep nesting are refused."""

from __future__ import annotations

from dataclasses import dataclass
from xml.parsers import expat

DEEPEST = 200


@dataclass
class Element:
    """An element: its name without prefix, its attributes, how deep it is.

    pieces: the pieces of text of the whole document; those from `first` up to `last` are inside the element.
    """

    name: str
    attributes: dict[str, str]
    depth: int
    pieces: list[str]
    first: int
    last: int | None = None

    @property
    def text(self) -> str:
        """All text inside it."""
        return "".join(self.pieces[self.first : self.last])


class XmlError(ValueError):
    """What is wrong with a piece of XML, and on which of its lines, counted from 0."""

    def __init__(self, reason: str, line: int) -> None:
        super().__init__(reason)
        self.reason, self.line = reason, line


def elements_of(data: bytes, *, whole: bool = True) -> list[Element]:
    """The elements in the order of their opening tags; `whole` is false for the head of a longer text.

    >>> [(e.name, e.text) for e in elements_of(b"<a>x<b>y</b>z</a>")]
    [('a', 'xyz'), ('b', 'y')]
    """
    elements: list[Element] = []
    path: list[Element] = []
    pieces: list[str] = []

    def start(name: str, attributes: dict[str, str]) -> None:
        if len(path) == DEEPEST:
            raise _Refused(f"elements nested more than {DEEPEST} deep")
        path.append(Element(name.rpartition(":")[2], attributes, len(path), pieces, len(pieces)))
        elements.append(path[-1])

    def end(name: str) -> None:
        path.pop().last = len(pieces)

    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler, parser.EntityDeclHandler = pieces.append, _refuse_entity
    try:
        parser.Parse(data, whole)
    except expat.ExpatError as error:
        raise XmlError(expat.ErrorString(error.code), error.lineno - 1) from None
    except _Refused as error:
        raise XmlError(str(error), parser.CurrentLineNumber - 1) from None
    return elements


class _Refused(Exception):
    """What expat would take and we do not."""


def _refuse_entity(*declaration: object) -> None:
    raise _Refused("declares entities, which are not followed")
