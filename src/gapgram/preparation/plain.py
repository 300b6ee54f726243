"""Plain text to sentences: blank lines end paragraphs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from gapgram.preparation.conversion import Options, Outcome, Prepared, converted, prepare
from gapgram.preparation.languages import Language, language_of
from gapgram.preparation.records import Malformed, Record, as_utf8
from gapgram.text.files import check_line, display_name, read_chunks

LONGEST_PARAGRAPH_BYTES = 1 << 20


def prepare_text(
    texts: Sequence[str | Path],
    output: str | Path,
    language: str,
    options: Options = Options(),  # noqa: B008 - frozen
) -> Prepared:
    """Write plain text as one sentence a line.

    Lines belong to one paragraph until a blank line, so a sentence may run over several. Each paragraph
    counts as a document.
    """
    known = language_of(language)
    convert = partial(convert_paragraph, known)
    return prepare(list(texts), output, known, read=read_paragraphs, convert=convert, options=options)


def read_paragraphs(
    path: str | Path, on_bytes: Callable[[int], None] = lambda n: None, *, longest_bytes: int = LONGEST_PARAGRAPH_BYTES
) -> Iterator[Record | Malformed]:
    """The paragraphs of a file; one of more than `longest_bytes` is cut at the end of a line."""
    name = display_name(path)
    lines: list[bytes] = []
    first = size = 0
    for number, line in enumerate(_lines(name, as_utf8(name, read_chunks(path, on_bytes))), 1):
        if line.strip():
            first = first or number
            lines.append(line)
            size += len(line)
        if lines and (not line.strip() or size > longest_bytes):
            yield Record(name, first, b"".join(lines))
            lines, first, size = [], 0, 0
    if lines:
        yield Record(name, first, b"".join(lines))


def convert_paragraph(language: Language, paragraph: Record) -> Outcome:
    """The sentences of a paragraph."""
    try:
        text = paragraph.data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = paragraph.line + paragraph.data.count(b"\n", 0, error.start)
        byte = f"0x{paragraph.data[error.start]:02x}"
        return Malformed(paragraph.name, line, f"the byte {byte} is not valid UTF-8: convert the file first")
    return converted([text], language)


def _lines(name: str, chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of a stream, with their ends, which may be of Unix, Windows or old Macs."""
    rest: list[bytes] = []
    number, held = 1, 0
    for chunk in filter(None, chunks):
        if rest and _is_ended(rest[-1], chunk):
            yield b"".join(rest)
            rest, number, held = [], number + 1, 0
        *lines, last = chunk.splitlines(keepends=True)
        check_line(name, number, held + len(lines[0] if lines else last))
        if lines:
            yield b"".join([*rest, lines[0]])
            yield from lines[1:]
            rest, number, held = [], number + len(lines), 0
        rest.append(last)
        held += len(last)
    if rest:
        yield b"".join(rest)


def _is_ended(line: bytes, after: bytes) -> bool:
    """Whether a line is whole, by its last bytes and by those after it: `\\r\\n` is one end."""
    return line.endswith(b"\n") or (line.endswith(b"\r") and not after.startswith(b"\n"))
