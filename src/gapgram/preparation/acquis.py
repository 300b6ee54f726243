"""JRC-Acquis documents (TEI XML) to sentences."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from html.entities import html5
from pathlib import Path

from gapgram.errors import TextError
from gapgram.preparation.conversion import Options, Outcome, Prepared, converted, prepare
from gapgram.preparation.languages import Language, language_of
from gapgram.preparation.records import (
    CHUNK_BYTES,
    Element,
    Head,
    Malformed,
    Record,
    XmlError,
    elements_of,
    split_records,
)
from gapgram.text.files import display_name, read_chunks

_SUFFIXES = (".xml", ".xml.gz", ".xml.bz2", ".xml.xz", ".xml.zst")
_PARAGRAPHS = ("p", "head")
_ENTITY = re.compile(rb"&([A-Za-z][A-Za-z0-9]*);")
_CHARACTERS = {"quot": '"', "apos": "'", "amp": "&", "lt": "<", "gt": ">"}
# Some releases of the corpus hold %quot% and the like in place of the characters.
_ESCAPED = re.compile(f"%({'|'.join(_CHARACTERS)})%")


def prepare_acquis(
    sources: Sequence[str | Path],
    output: str | Path,
    language: str,
    options: Options = Options(),  # noqa: B008 - frozen
) -> Prepared:
    """Write the paragraphs of JRC-Acquis documents as one sentence a line.

    A folder stands for the XML files in it and below, in sorted order. A file may hold one `<TEI.2>`
    document or many. Paragraphs and headings of the body are text; the header of a document is not.
    """
    known = language_of(language)
    convert = partial(convert_document, known)
    return prepare(files_of(sources), output, known, read=read_documents, convert=convert, options=options)


def files_of(sources: Sequence[str | Path]) -> list[str | Path]:
    """The files themselves, and the XML files of folders."""
    files: list[str | Path] = []
    for source in sources:
        if not Path(source).is_dir():
            files.append(source)
            continue
        inside = sorted(p for p in Path(source).rglob("*") if p.name.lower().endswith(_SUFFIXES) and p.is_file())
        if not inside:
            raise TextError(f"{source}: no XML files in this folder (expected {', '.join(_SUFFIXES)})")
        files.extend(inside)
    return files


def read_documents(path: str | Path, on_bytes: Callable[[int], None]) -> Iterator[Record | Malformed]:
    """The documents of a file, not parsed yet; a file without any is malformed."""
    name, empty = display_name(path), True
    for item in split_records(name, read_chunks(path, on_bytes, block_bytes=CHUNK_BYTES), r"TEI(?:\.2)?"):
        if not isinstance(item, Head):
            empty = False
            yield item
    if empty:
        yield Malformed(name, 1, "no <TEI.2> document")


def convert_document(language: Language, document: Record) -> Outcome:
    """The sentences of a document."""
    try:
        elements = elements_of(_ENTITY.sub(_character, document.data))
    except XmlError as error:
        return Malformed(document.name, document.line + error.line, error.reason)
    if not any(element.name == "body" for element in elements):
        return Malformed(document.name, document.line, "a document without <body>")
    return converted(_paragraphs(elements), language)


def _paragraphs(elements: list[Element]) -> Iterator[str]:
    """The text of each paragraph of the body; what is inside a paragraph belongs to it."""
    body_depth = paragraph_depth = len(elements)
    for element in elements:
        if element.depth <= paragraph_depth:
            paragraph_depth = len(elements)
        if element.depth <= body_depth:
            body_depth = element.depth if element.name == "body" else len(elements)
        elif element.name in _PARAGRAPHS and element.depth < paragraph_depth:
            paragraph_depth = element.depth
            yield _ESCAPED.sub(lambda m: _CHARACTERS[m[1]], element.text)


def _character(match: re.Match[bytes]) -> bytes:
    """An entity of HTML as its character; the five of XML stay, and so do unknown ones, for expat to refuse."""
    name = match[1].decode()
    if name in _CHARACTERS or f"{name};" not in html5:
        return match[0]
    return html5[f"{name};"].encode()
