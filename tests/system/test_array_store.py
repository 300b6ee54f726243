"""Arrays are the same wherever they are kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gapgram.arrays import Integers
from gapgram.system import array_file, array_reading
from gapgram.system.array_file import Stream, Unfinished
from gapgram.system.array_store import ArrayStore, InFolder, InSections
from gapgram.system.mapped_pages import PageBudget
from gapgram.system.section_rules import Rule


def squares(begin: int, end: int) -> Integers:
    return np.arange(begin, end) ** 2


def stores(folder: Path) -> list[ArrayStore]:
    file = Unfinished(folder / "file", array_file.MODEL)
    pages = PageBudget(1 << 20)  # less than a process holds: pages go back all the time
    return [
        ArrayStore(most_entries=7), InFolder(folder, pages, most_entries=7),
        InSections(file, None), InSections(file, pages),
    ]  # fmt: skip


@pytest.mark.parametrize("size", [0, 1, 1000])
def test_arrays_begin_as_zeros_and_keep_what_they_are_filled_with(tmp_path: Path, size: int) -> None:
    for store in stores(tmp_path):
        array = store.array("zeros", np.float64, (size, 3))
        assert array.shape == (size, 3)
        assert not array.any()
        array[:] = 2.5
        store.release()
        assert (array == 2.5).all()
        assert np.array_equal(store.filled("squares", np.int64, size, squares), squares(0, size))
        assert np.array_equal(store.put("ready", squares(0, size)), squares(0, size))


def test_spans_cover_everything_once_and_are_never_too_long(tmp_path: Path) -> None:
    for store in stores(tmp_path):
        spans = list(store.spans(1000))
        assert [i for begin, end in spans for i in range(begin, end)] == list(range(1000))
        assert all(end - begin <= store.most_entries for begin, end in spans)
        assert list(store.spans(0)) == []


def test_files_of_a_folder_have_no_name(tmp_path: Path) -> None:
    store = InFolder(tmp_path, PageBudget(1 << 40))
    kept = store.array("kept", np.int64, (10,))
    streamed = store.streamed([Stream("squares", np.int64, (10,), (squares(0, 4), squares(4, 10)))])
    assert list(tmp_path.iterdir()) == []
    kept[:] = streamed["squares"]
    assert np.array_equal(kept, squares(0, 10))


def test_sections_are_those_of_the_file(tmp_path: Path) -> None:
    file = Unfinished(tmp_path / "file", array_file.MODEL)
    store = InSections(file, None)
    store.filled("squares", np.int64, 10, squares)
    store.put("ready", np.arange(3))
    file.complete({}, {})
    rules = {"squares": Rule("i8", "10"), "ready": Rule("i8", "n")}
    with array_reading.reading(tmp_path / "file", array_file.MODEL, rules) as contents:
        assert list(contents.arrays) == ["squares", "ready"]
        assert np.array_equal(contents.arrays["squares"], squares(0, 10))
