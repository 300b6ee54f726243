"""The page of the mathematics: its equations are numbered one after the other, and the code names only these."""

from __future__ import annotations

import re
from pathlib import Path

import gapgram

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "ideas" / "mathematics.md"
SOURCE = Path(gapgram.__file__).parent


def numbered() -> list[int]:
    """The numbers of the page's equations, in their order."""
    return [int(n) for n in re.findall(r"\\qquad \((\d+)\)\$\$$", PAGE.read_text(), flags=re.MULTILINE)]


def named(text: str) -> set[int]:
    """The numbers that a text names, those between two of them included.

    >>> sorted(named("Equations (2) to (4), (7) and (9) of docs/ideas/mathematics.md."))
    [2, 3, 4, 7, 9]
    """
    found: set[int] = set()
    for names in re.findall(r"[Ee]quations?((?:\s|,|and|to|\(\d+\))+)", text):
        found.update(int(n) for n in re.findall(r"\((\d+)\)", names))
        found.update(n for a, b in re.findall(r"\((\d+)\)\s+to\s+\((\d+)\)", names) for n in range(int(a), int(b) + 1))
    return found


def test_equations_are_numbered_one_after_the_other() -> None:
    numbers = numbered()
    assert numbers == list(range(1, len(numbers) + 1))


def test_the_code_names_equations_that_there_are_and_all_of_them() -> None:
    paths = {path: named(path.read_text()) for path in SOURCE.rglob("*.py")}
    numbers = set(numbered())
    assert {str(path): found - numbers for path, found in paths.items() if found - numbers} == {}
    fast = set().union(*(found for path, found in paths.items() if "reference" not in path.parts))
    assert numbers - fast <= {1, 5}, "but for what contexts and totals are, compiled code or its Python computes all"
