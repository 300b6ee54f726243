"""Texts with their labels: lines `label<TAB>text` or `__label__NAME text`, or folders and files named by label."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gapgram.errors import TextError
from gapgram.text.corpus import numbered_lines
from gapgram.text.files import display_name

_FASTTEXT = "__label__"
_LONGEST_LABEL = 200


def read_labelled(path: str | Path, *, progress: bool = False) -> Iterator[tuple[str, str]]:
    """(label, text) of the lines of a file, or of a folder with a folder or file for each label; no empty ones."""
    source = Path(path)
    if str(path) != "-" and source.is_dir():
        yield from _of_folder(source, progress)
        return
    for number, line in numbered_lines(path, progress=progress):
        if line.strip():
            yield _parsed(line, f"{display_name(path)}:{number}")


def _of_folder(folder: Path, progress: bool) -> Iterator[tuple[str, str]]:
    entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    if not entries:
        raise TextError(f"{folder}: an empty folder: expected a folder or a file for each label")
    for entry in entries:
        files = sorted(p for p in entry.rglob("*") if p.is_file()) if entry.is_dir() else [entry]
        label = entry.name if entry.is_dir() else entry.name.partition(".")[0]
        for file in files:
            for _, line in numbered_lines(file, progress=progress):
                if line.strip():
                    yield label, line


def _parsed(line: str, where: str) -> tuple[str, str]:
    if line.startswith(_FASTTEXT):
        label, _, text = line.partition(" ")
        label = label.removeprefix(_FASTTEXT)
    else:
        label, tab, text = line.partition("\t")
        if not tab:
            raise TextError(f"{where}: no label: expected label, tab and text, or {_FASTTEXT}NAME and text")
    if not label.strip() or len(label) > _LONGEST_LABEL or not label.isprintable():
        raise TextError(
            f"{where}: the label {label[:40]!r}: expected 1 to {_LONGEST_LABEL} characters that can be printed"
        )
    return label.strip(), text
