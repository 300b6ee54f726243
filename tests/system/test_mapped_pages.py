"""PageBudget of mapped files are given back when the process holds too many."""

from __future__ import annotations

import mmap
from pathlib import Path

import pytest

from gapgram.system import mapped_pages as pages_module
from gapgram.system.mapped_pages import PageBudget


def mapping_of(path: Path) -> mmap.mmap:
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def test_pages_are_given_back_when_there_are_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_bytes(bytes(100))
    given: list[mmap.mmap] = []
    monkeypatch.setattr(pages_module, "release_pages", given.append)
    monkeypatch.setattr(pages_module, "resident", lambda: 500 << 20)
    one, two = mapping_of(tmp_path / "file"), mapping_of(tmp_path / "file")
    pages = PageBudget(600 << 20, one)
    pages.add(two)
    assert (pages.release(), given) == (100 << 20, [])
    pages = PageBudget(510 << 20, one, two)
    assert pages.release() == 32 << 20
    assert set(given) == {one, two}
    del two, given[:]
    pages.release()
    assert given == [one]
