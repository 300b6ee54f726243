"""Lists of hypotheses and references, read from files.

A hypothesis a line: id, scores and text, separated by tabs; or as Moses writes them,
`id ||| text ||| scores ||| total`. Scores are numbers separated by blanks, each with its name before it or not
(`lm: -3.2`, `lm=-3.2`). Lines of one id follow each other, the best by the system itself first.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from gapgram.errors import TextError
from gapgram.text.corpus import numbered_lines
from gapgram.text.files import display_name

_MOSES = "|||"
_NAME = re.compile(r"\S+[:=]\s*")


class ListedText(NamedTuple):
    """A text and its scores; more is better."""

    text: str
    scores: tuple[float, ...]


class NBest(NamedTuple):
    """The hypotheses for one input, the best by the system itself first."""

    id: str
    hypotheses: list[ListedText]


def read_nbest(path: str | Path) -> list[NBest]:
    """All lists of a file."""
    hypotheses = list(_parsed(path))
    lists = [NBest(name, [one for _, one in group]) for name, group in groupby(hypotheses, key=lambda pair: pair[0])]
    if not lists:
        raise TextError(f"{display_name(path)}: no hypothesis in it: expected id, scores and text a line")
    names = [one.id for one in lists]
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise TextError(f"{display_name(path)}: the lines of id {twice!r} do not follow each other: sort them by id")
    return lists


def _parsed(path: str | Path) -> Iterator[tuple[str, ListedText]]:
    n_scores = None
    for number, line in _lines(path):
        where = f"{display_name(path)}:{number}"
        if _MOSES in line:
            fields = [field.strip() for field in line.split(_MOSES)]
            name, text, numbers = (*fields, "", "")[:3]
        else:
            fields = line.split("\t")
            if len(fields) != 3:
                raise TextError(f"{where}: {len(fields)} fields: expected id, scores and text, separated by tabs")
            name, numbers, text = fields
        scores = _numbers(numbers, where)
        n_scores = len(scores) if n_scores is None else n_scores
        if len(scores) != n_scores:
            raise TextError(f"{where}: {len(scores)} scores, the lines before have {n_scores}")
        yield name.strip(), ListedText(" ".join(text.split()), scores)


def _numbers(text: str, where: str) -> tuple[float, ...]:
    try:
        scores = tuple(float(number) for number in _NAME.sub(" ", text).split())
    except ValueError:
        raise TextError(f"{where}: scores {text[:60]!r}: expected numbers") from None
    if not all(map(math.isfinite, scores)):
        raise TextError(f"{where}: scores {text[:60]!r}: expected finite numbers")
    return scores


def read_references(path: str | Path, lists: list[NBest]) -> list[list[str]]:
    """The words of the reference of each list: lines of id, tab and text, or a line for each list in their order."""
    lines = [line for _, line in _lines(path)]
    if all("\t" in line for line in lines):
        by_id = {name.strip(): text.split() for name, _, text in (line.partition("\t") for line in lines)}
        missing = [one.id for one in lists if one.id not in by_id]
        if missing:
            raise TextError(f"{display_name(path)}: no reference for id {missing[0]!r} (and {len(missing) - 1} others)")
        return [by_id[one.id] for one in lists]
    if len(lines) != len(lists):
        raise TextError(f"{display_name(path)}: {len(lines)} references for {len(lists)} lists: expected as many")
    return [line.split() for line in lines]


def _lines(path: str | Path) -> Iterator[tuple[int, str]]:
    return ((number, line) for number, line in numbered_lines(path) if line.strip())
