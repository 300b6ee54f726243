"""A piece of XML as a flat list of its elements, by expat; entities of its own are refused."""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.parsers import expat


@dataclass
class Element:
    """An element: its name without prefix, its attributes, how deep it is, and all text inside it."""

    name: str
    attributes: dict[str, str]
    depth: int
    parts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.parts)


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
    found: list[Element] = []
    path: list[Element] = []

    def start(name: str, attributes: dict[str, str]) -> None:
        path.append(Element(name.rpartition(":")[2], attributes, len(path)))
        found.append(path[-1])

    def text(data: str) -> None:
        for element in path:
            element.parts.append(data)

    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = start, lambda name: path.pop()
    parser.CharacterDataHandler, parser.EntityDeclHandler = text, _refuse_entity
    try:
        parser.Parse(data, whole)
    except expat.ExpatError as error:
        raise XmlError(expat.ErrorString(error.code), error.lineno - 1) from None
    except _EntityDeclared:
        raise XmlError("declares entities, which are not followed", parser.CurrentLineNumber - 1) from None
    return found


class _EntityDeclared(Exception):
    pass


def _refuse_entity(*declaration: object) -> None:
    raise _EntityDeclared
