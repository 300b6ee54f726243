"""Logits, labels and hot words, read from files; nothing in them is executed."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gapgram.ctc.alphabet import Alphabet
from gapgram.errors import TextError, TextFileError, TextNotFoundError

LIKE_ZIP, LIKE_ARRAY = b"PK", b"\x93NUMPY"


def read_logits(path: str | Path) -> Iterator[tuple[str, Any]]:
    """(id, logits) of each utterance of a file: .npz, .npy, or JSON lines with "id" and "logits"."""
    file = Path(path)
    head = _content(file, 6)
    if head.startswith((LIKE_ZIP, LIKE_ARRAY)):
        yield from _arrays(file)
        return
    for number, line in enumerate(_content(file).split(b"\n"), 1):
        if line.strip():
            try:
                one = json.loads(line)
                name, logits = str(one.get("id", number)), np.array(one["logits"], np.float64)
            except (ValueError, TypeError, KeyError, AttributeError):
                expected = 'JSON with "logits", a list of numbers for each frame'
                raise TextError(f"{file}:{number}: {line[:40]!r}: expected {expected}") from None
            yield name, logits


def _arrays(file: Path) -> Iterator[tuple[str, Any]]:
    try:
        with file.open("rb") as opened:
            held = np.load(opened, allow_pickle=False)
            if isinstance(held, np.ndarray):
                yield file.stem, held
                return
            for name in held.files:
                yield name, held[name]
    except (ValueError, zipfile.BadZipFile, EOFError, OSError) as error:
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
    except ValueError:
        return text.removesuffix("\n").split("\n")  # a label may be a bracket
    if isinstance(held, dict) and "labels" in held:
        labels = held["labels"]
        if isinstance(labels, list) and "" in labels and all(isinstance(label, str) for label in labels):
            return Alphabet(tuple(labels), bool(held.get("is_bpe")))
        held = labels
    if isinstance(held, dict):  # transformers' vocab.json
        columns = sorted(held.values(), key=str)
        if sorted(map(str, columns)) != sorted(map(str, range(len(held)))):
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
