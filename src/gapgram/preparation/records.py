"""An XML file of any size as a stream of its documents, each parsed on its own.

The file is cut at the tags of its documents, without parsing it: so memory is bounded by one document, the
documents can be parsed on all cores, and one that is malformed does not hide those after it. Declarations
of entities are never used: a document is parsed without the head of its file.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from xml.parsers import expat

from gapgram.errors import TextError

# What was read of a chunk is lost if the compression breaks off inside it.
CHUNK_BYTES = 1 << 18
LONGEST_DOCUMENT_BYTES = 1 << 26
_DECLARATION_BYTES = 256
_LONGEST_TAG_BYTES = 4096
_DECLARED = re.compile(rb"<\?xml[^>]*?encoding\s*=\s*[\"']([A-Za-z0-9._-]+)[\"']")
_ROOT = re.compile(rb"<([A-Za-z][\w.:-]*)")
_DOCTYPE = re.compile(rb"<!DOCTYPE[^>\[]*(\[)?")
_END_OF_DOCTYPE = re.compile(rb"\]\s*>")
_NOT_SPACE = re.compile(rb"\S")
_MARKED = re.compile(rb"<[?!/][^<>]*>")
_NOT_FOR_TEXT = frozenset(("idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-7"))


@dataclass(frozen=True)
class Head:
    """What comes before the first document of a file."""

    name: str
    data: bytes


@dataclass(frozen=True)
class Record:
    """One document: a whole element in UTF-8, and the line where it starts."""

    name: str
    line: int
    data: bytes


@dataclass(frozen=True)
class Malformed:
    """Something that cannot be read, and where."""

    name: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.name}:{self.line}: {self.reason}"


Item = Head | Record | Malformed


def as_utf8(name: str, chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Bytes in the encoding that a byte-order mark or an XML declaration names, as UTF-8.

    >>> b"".join(as_utf8("f", ["<é/>".encode("utf-16")])).decode()
    '<é/>'
    """
    decoder: codecs.IncrementalDecoder | None = None
    for number, chunk in enumerate(_with_a_head(chunks)):
        if number == 0:
            encoding = _encoding(name, chunk)
            decoder = codecs.getincrementaldecoder(encoding)() if encoding else None
        yield _decoded(name, decoder, chunk)
    if decoder is not None:
        _decoded(name, decoder, b"", final=True)


def _with_a_head(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes, with the first chunk long enough to hold a declaration: a pipe may give single bytes."""
    head, rest = b"", iter(chunks)
    for chunk in rest:
        head += chunk
        if len(head) >= _DECLARATION_BYTES:
            break
    if head:
        yield head
    yield from rest


def _encoding(name: str, head: bytes) -> str:
    """The name of an encoding, or nothing for UTF-8."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if head.startswith((b"<\x00", b"\x00<")):
        return "utf-16-le" if head.startswith(b"<") else "utf-16-be"
    declared = _DECLARED.match(head)
    if declared is None:
        return ""
    try:
        b"x".decode(declared[1].decode(), "replace")  # codecs that do not give text are refused here
        encoding = codecs.lookup(declared[1].decode()).name
    except (LookupError, UnicodeError):
        encoding = "undefined"
    if encoding in _NOT_FOR_TEXT:
        raise TextError(f"{name}:1: unknown encoding {declared[1].decode()}")
    return "" if encoding in ("utf-8", "ascii") else encoding


def _decoded(name: str, decoder: codecs.IncrementalDecoder | None, data: bytes, *, final: bool = False) -> bytes:
    if decoder is None:
        return data
    try:
        return decoder.decode(data, final).encode("utf-8")
    except UnicodeError as error:
        raise TextError(f"{name}: the text is damaged or cut off: {error}") from None


class _Splitter:
    """The state between two chunks: `text[at:]` is not handed out yet and starts in line `line`."""

    def __init__(self, name: str, tag: str, longest_bytes: int) -> None:
        self.name, self.longest_bytes = name, longest_bytes
        self.tags = re.compile(rb"<(/?)(?:" + tag.encode() + rb")(?:\s[^<>]*)?>")
        self.text, self.at, self.searched, self.line = bytearray(), 0, 0, 1
        self.inside = self.head_seen = False
        self.root = b""

    def feed(self, chunk: bytes) -> Iterator[Item]:
        """The items that are complete with one more chunk."""
        del self.text[: self.at]
        self.text += chunk
        self.searched, self.at = self.searched - self.at, 0
        while match := self.tags.search(self.text, self.searched):
            self.searched = match.end()
            yield from self._closing(match.end()) if match[1] else self._opening(match.start())
        # A tag may be cut in two by the end of the chunk.
        self.searched = max(self.searched, len(self.text) - _LONGEST_TAG_BYTES)
        if len(self.text) - self.at > self.longest_bytes:
            yield self._malformed(f"more than {self.longest_bytes >> 20} MiB without an end", len(self.text))
            self.inside, self.searched = False, len(self.text)

    def end(self) -> Iterator[Item]:
        """What is left at the end of the file."""
        tail = bytes(self.text[self.at :])
        if self.inside:
            yield self._malformed("cut off: the file ends inside this document", len(self.text))
        elif not self.head_seen:
            yield Head(self.name, tail)
        else:
            yield from self._between(len(self.text))
            if self.root and not re.search(rb"</" + re.escape(self.root) + rb"\s*>", tail):
                yield Malformed(self.name, self.line, f"cut off: the file ends without </{self.root.decode()}>")

    def _opening(self, start: int) -> Iterator[Item]:
        if self.inside:
            yield self._malformed("not closed before the next document starts", start)
        elif self.head_seen:
            yield from self._between(start)
        else:
            head = self._take(start)
            self.root, self.head_seen = _root_of(head), True
            yield Head(self.name, head)
        self.inside = True

    def _closing(self, end: int) -> Iterator[Item]:
        if self.inside:
            line = self.line
            yield Record(self.name, line, self._take(end))
        elif self.head_seen:
            yield self._malformed("the end of a document that never started", end)
        self.inside = False

    def _between(self, end: int) -> Iterator[Item]:
        """Only white space, comments and declarations may stand between documents."""
        line, data = self.line, self._take(end)
        junk = _first_junk(data)
        if junk < len(data):
            yield Malformed(self.name, line + data.count(b"\n", 0, junk), "something outside of any document")

    def _take(self, end: int) -> bytes:
        data = bytes(self.text[self.at : end])
        self.at, self.line = end, self.line + data.count(b"\n")
        return data

    def _malformed(self, reason: str, end: int) -> Malformed:
        line = self.line
        self._take(end)
        return Malformed(self.name, line, reason)


def _root_of(head: bytes) -> bytes:
    """The name of the first element, after declarations and comments; nothing where there is none."""
    at = 0
    while (at := head.find(b"<", at)) >= 0:
        root = _ROOT.match(head, at)
        if root is not None:
            return root[1]
        at = _after_declaration(head, at)
    return b""


def _after_declaration(head: bytes, at: int) -> int:
    """Where a comment, an instruction or a document type ends that begins here."""
    for start, end in ((b"<!--", b"-->"), (b"<?", b"?>")):
        if head.startswith(start, at):
            at_end = head.find(end, at + len(start))
            return at_end + len(end) if at_end >= 0 else len(head)
    doctype = _DOCTYPE.match(head, at)
    if doctype is None or doctype[1] is None:
        return at + 1
    inside = _END_OF_DOCTYPE.search(head, doctype.end())
    return inside.end() if inside is not None else len(head)


def _first_junk(data: bytes) -> int:
    """Where something begins that is no white space, comment, declaration or end tag; the length if nothing does."""
    at, comments_end = 0, True
    while (match := _NOT_SPACE.search(data, at)) is not None:
        at = match.start()
        comment = data.find(b"-->", at + 4) if comments_end and data.startswith(b"<!--", at) else -1
        marked = _MARKED.match(data, at)
        if comment >= 0:
            at = comment + 3
        elif marked is not None:
            comments_end = comments_end and not data.startswith(b"<!--", at)
            at = marked.end()
        else:
            return at
    return len(data)


def split_records(
    name: str, chunks: Iterable[bytes], tag: str, *, longest_bytes: int = LONGEST_DOCUMENT_BYTES
) -> Iterator[Item]:
    """The head of a file, then its documents in order; `tag` is a regular expression.

    A file that breaks off (damaged compression, bad encoding) ends with a `Malformed` item, and a document of more
    than `longest_bytes` becomes one.

    >>> for item in split_records("f", [b"<all>\\n<d>1</", b"d>\\n<d>2</all>"], "d"): print(item)
    Head(name='f', data=b'<all>\\n')
    Record(name='f', line=2, data=b'<d>1</d>')
    f:3: cut off: the file ends inside this document
    """
    splitter, started = _Splitter(name, tag, longest_bytes), False
    try:
        for chunk in as_utf8(name, chunks):
            started = True
            yield from splitter.feed(chunk)
    except TextError as error:
        if not started:
            raise
        yield Malformed(name, splitter.line, str(error).removeprefix(f"{name}: "))
        return
    yield from splitter.end()


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
            raise XmlError(f"elements nested more than {DEEPEST} deep", parser.CurrentLineNumber - 1)
        path.append(Element(name.rpartition(":")[2], attributes, len(path), pieces, len(pieces)))
        elements.append(path[-1])

    def end(name: str) -> None:
        path.pop().last = len(pieces)

    def refuse_entity(*declaration: object) -> None:
        raise XmlError("declares entities, which are not followed", parser.CurrentLineNumber - 1)

    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler, parser.EntityDeclHandler = pieces.append, refuse_entity
    try:
        parser.Parse(data, whole)
    except expat.ExpatError as error:
        raise XmlError(expat.ErrorString(error.code), error.lineno - 1) from None
    return elements
