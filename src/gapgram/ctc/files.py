"""Logits, labels and hot words, read from files; nothing in them is executed."""

from __future__ import annotations

import json
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np

from gapgram.ctc.alphabet import Alphabet
from gapgram.ctc.logits import as_array, highest_of
from gapgram.errors import TextError, TextFileError, TextNotFoundError, UsageError

MOST_UNPACKED = 1 << 28  # bytes of an array that may have any number of times the bytes that it is packed in
MOST_TIMES = 100  # otherwise; logits are packed to a tenth at best
LIKE_ZIP, LIKE_ARRAY = b"PK", b"\x93NUMPY"
# What NumPy and its packers raise where a file of arrays is not whole, or says that it is larger than memory
_ODD = (
    ValueError, KeyError, SyntaxError, TokenError, NotImplementedError, RecursionError, OverflowError, EOFError,
    OSError, MemoryError, zipfile.BadZipFile, zlib.error, lzma.LZMAError,
)  # fmt: skip


def read_logits(
    path: str | Path, n_labels: int | None = None, *, most_unpacked: int = MOST_UNPACKED
) -> Iterator[tuple[str, Any]]:
    """(id, logits) of each utterance of a file: .npz, .npy, or JSON lines with "id" and "logits".

    n_labels: logits that are not those of so many labels, or have what is no number, are refused.
    """
    for name, logits in _utterances(path, most_unpacked):
        if any(mark in name for mark in "\t\n\r"):  # it would look like other lines of what is printed
            raise TextError(f"{path}: id {name!r}: expected no tab and no new line in it")
        if n_labels is not None:
            try:
                highest_of(as_array(logits), n_labels)
            except UsageError as error:
                raise TextError(f"{path}: {name}: {error}") from None
        yield name, logits


def _utterances(path: str | Path, most_unpacked: int) -> Iterator[tuple[str, Any]]:
    file = Path(path)
    head = _content(file, 6)
    if head.startswith((LIKE_ZIP, LIKE_ARRAY)):
        yield from _arrays(file, most_unpacked)
        return
    for number, line in enumerate(_content(file).split(b"\n"), 1):
        if line.strip():
            try:
                one = json.loads(line)
                name, logits = str(one.get("id", number)), np.array(one["logits"], np.float64)
            except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
                expected = 'JSON with "logits", a list of numbers for each frame'
                raise TextError(f"{file}:{number}: {line[:40]!r}: expected {expected}") from None
            yield name, logits


def _arrays(file: Path, most_unpacked: int) -> Iterator[tuple[str, Any]]:
    try:
        with file.open("rb") as opened:
            held = np.load(opened, allow_pickle=False)
            if isinstance(held, np.ndarray):
                yield file.stem, held
                return
            for packed in held.zip.infolist():
                if packed.file_size > max(most_unpacked, MOST_TIMES * packed.compress_size):
                    raise ValueError(f"{packed.filename} would fill {packed.file_size:,} bytes")
            for name in held.files:
                yield name, held[name]
    except _ODD as error:
        raise TextFileError(f"{file}: no whole file of arrays: {error}; write it again with numpy.savez") from None


def read_labels(path: str | Path) -> list[str] | Alphabet:
    """The labels of a file: a JSON list, {"label": column} or pyctcdecode's alphabet, or a label a line."""
    file = Path(path)
    try:
        text = _content(file).decode("utf-8")
    except UnicodeDecodeError:
        raise TextError(f"{file}: labels that are not UTF-8") from None
    if not text.lstrip().startswith(("[", "{")):
        return text.removesuffix("\n").split("\n")
    try:
        held = json.loads(text)
    except (ValueError, RecursionError):
        return text.removesuffix("\n").split("\n")  # a label may be a bracket
    if isinstance(held, dict) and "labels" in held:
        labels = held["labels"]
        if isinstance(labels, list) and "" in labels and all(isinstance(label, str) for label in labels):
            return Alphabet(tuple(labels), bool(held.get("is_bpe")))
        held = labels
    if isinstance(held, dict):  # transformers' vocab.json
        if any(type(column) is not int for column in held.values()) or sorted(held.values()) != [*range(len(held))]:
            raise TextError(f"{file}: columns other than 0 to {len(held) - 1}; expected one for each label")
        held = sorted(held, key=held.__getitem__)
    if not isinstance(held, list):
        raise TextError(f"{file}: expected a list of labels, as JSON or a label a line")
    return held


def read_hot_words(path: str | Path, weight: float) -> dict[str, float]:
    """A word, or several, a line, and its weight after a tab if it has one of its own."""
    out: dict[str, float] = {}
    try:
        lines = _content(Path(path)).decode("utf-8").split("\n")
    except UnicodeDecodeError:
        raise TextError(f"{path}: hot words that are not UTF-8") from None
    for number, line in enumerate(lines, 1):
        word, tab, given = line.strip("\r").partition("\t")
        try:
            if word.strip():
                out[word] = float(given) if tab else weight
        except ValueError:
            raise TextError(f"{path}:{number}: weight {given!r}: expected a number after the tab") from None
    return out


def _content(file: Path, n: int = -1) -> bytes:
    try:
        with file.open("rb") as opened:
            return opened.read(n)
    except FileNotFoundError:
        raise TextNotFoundError(f"{file}: no such file") from None
    except (OSError, ValueError) as error:
        raise TextFileError(f"{file}: cannot be read: {error}") from None
