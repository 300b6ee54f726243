"""Limited memory equals unlimited memory, bit for bit; nothing is left behind."""

from __future__ import annotations

import errno
import os
import shutil
from collections import namedtuple
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.corpora import corpus_of, texts_and_lattices, toy_text
from tests.support.limited import LINES, SMALL, interrupt_at, names, train

import gapgram
from gapgram import GapgramError, Lattice, TextRules
from gapgram.counting.band import Band
from gapgram.counting.in_memory import count
from gapgram.counting.memory_needs import window_bytes
from gapgram.counting.on_disk import count as spilled
from gapgram.counting.on_disk.count import SpilledCount
from gapgram.counting.on_disk.piece_files import PieceFile
from gapgram.counting.on_disk.scatter import Scattered, checksum_of
from gapgram.counting.on_disk.stored_text import StoredText, store_text
from gapgram.counting.plan import cut_words
from gapgram.counts.streaming import InTurn
from gapgram.system.work_folder import WorkFolder
from gapgram.text.corpus import Reader, blocks_of_sentences
from gapgram.text.files import guessed_positions
from gapgram.text.sentences import sample_sentences

pytestmark = pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning")

def store(text: list[Any], folder: Path) -> tuple[StoredText, WorkFolder]:
    work = WorkFolder.begin(folder, {})
    reader = Reader()
    return store_text([], reader.read(blocks_of_sentences(text)), reader, work), work


def streamed(text: list[Any], lattice: Lattice, folder: Path, memory: int) -> dict[str, np.ndarray[Any, Any]]:
    stored, work = store(text, folder)
    try:
        pieces = SpilledCount(stored, lattice, work, memory=memory, threads=2).pieces()
        streams = InTurn(lattice.stored, pieces).streams()
        return {s.name: np.concatenate([c.reshape(-1) for c in s.chunks]).view(s.dtype) for s in streams}
    finally:
        work.remove()


@pytest.mark.parametrize("memory", [9_000, SMALL, 100_000, 400_000, 3_000_000, "1T"])
def test_the_same_file_whatever_the_memory(text: Path, whole: bytes, memory: int | str) -> None:
    assert train(text, memory=memory) == whole
    assert names(text.parent) == {"text", "model"}


@pytest.mark.parametrize(
    "options",
    [
        {"model": "mkn", "order": 1},
        {"model": "mkn", "order": 5},
        {"weights": "counts", "order": 2},
        {"weights": "uniform", "order": 8, "memory": 300_000},
        {"lattice": "11,1001,1011", "rules": TextRules(min_count=3)},
        {"rules": TextRules(vocab_limit=20), "seed": 5, "memory": 100_000},
        {"classes": 7, "order": 3, "memory": 150_000},
    ],
    ids=str,
)
def test_the_same_file_for_every_kind_of_model(text: Path, options: dict[str, Any]) -> None:
    assert train(text, **options) == train(text, **{**options, "memory": "1T"})


def test_an_interrupted_run_with_classes_goes_on(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"classes": 5, "order": 3, "memory": 150_000}
    whole = train(text, **{**options, "memory": "1T"})
    with monkeypatch.context() as patch:
        interrupt_at(patch, "tables", "before")
        with pytest.raises(KeyboardInterrupt):
            train(text, **options)
    with pytest.raises(GapgramError, match="the interrupted run had another number of classes"):
        train(text, **{**options, "classes": 6}, resume=True)
    monkeypatch.setattr("gapgram.training.choose_classes.find_classes", None)
    assert train(text, **options, resume=True) == whole
    assert names(text.parent) == {"text", "model"}


def test_memory_that_is_too_small_to_find_classes(text: Path) -> None:
    with pytest.raises(GapgramError, match=r"finding classes takes about .* of memory, and .* are left"):
        train(text, classes=5)
    assert names(text.parent) == {"text"}


def test_the_same_file_with_held_out_text_and_from_sentences(text: Path) -> None:
    held_out = text.parent / "held_out"
    held_out.write_text("\n".join([*toy_text(50, seed=9), ""]))
    assert train(text, held_out_texts=[held_out]) == train(text, held_out_texts=[held_out], memory="1T")
    gapgram.train(sentences=LINES, order=3, output=text.parent / "b", memory=SMALL)
    assert train(text, order=3) == (text.parent / "b").read_bytes()


@given(texts_and_lattices(), st.integers(3, 60))
@settings(max_examples=25)
def test_random_texts_in_bands_of_a_few_windows(
    tmp_path_factory: pytest.TempPathFactory, made: tuple[list[list[str]], Lattice], windows: int
) -> None:
    text, lattice = made
    expected = count(corpus_of(text), lattice, threads=1).tables._asdict()
    folder = tmp_path_factory.mktemp("work")
    found = streamed(text, lattice, folder, windows * window_bytes(lattice.order))
    assert set(expected) - set(found) == {"packed", "packed_places"}  # of the compact layout
    for name in found:
        assert np.array_equal(expected[name].reshape(-1), found[name]), name


@pytest.mark.parametrize("piece", [1, 7, 50])
def test_the_windows_of_a_long_line_are_written_in_pieces(tmp_path: Path, piece: int) -> None:
    """Three runs of two chunks, written as by one who has them all at once."""
    windows, asked = np.arange(2 * 30 * 4, dtype=np.int32).reshape(2, 30, 4), list[int]()
    starts = np.array([[0, 11, 11, 30], [0, 5, 29, 30]])

    def some_of(chunk: int, some: slice) -> Any:
        asked.append(some.stop - some.start)
        return windows[chunk, some]

    with Scattered(tmp_path / "windows", np.array([0, 16, 40]), 4, 2, piece=piece) as target:
        for chunk in (0, 1):
            target.add(partial(some_of, chunk), starts[chunk])
    cut = [np.split(windows[chunk], starts[chunk, 1:-1]) for chunk in (0, 1)]
    expected = [cut[chunk][run] for run in range(3) for chunk in (0, 1)]
    assert (tmp_path / "windows").read_bytes() == np.concatenate(expected).tobytes()
    assert target.checksum == checksum_of(tmp_path / "windows")
    assert max(asked) == min(piece, 30)


def test_no_more_windows_are_counted_at_once_than_fit(tmp_path: Path) -> None:
    lattice = Lattice.full(4)
    stored, work = store(LINES, tmp_path / "work")
    memory, sizes = 20 * window_bytes(4), []

    class Watched(Band):
        def __init__(self, windows: Any, *others: Any) -> None:
            sizes.append(len(windows))
            super().__init__(windows, *others)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spilled, "Band", Watched)
        SpilledCount(stored, lattice, work, memory=memory, threads=1).pieces()
    assert len(sizes) > 100
    assert 10 < max(sizes) <= 20
    work.remove()


def test_words_are_cut_into_runs() -> None:
    assert cut_words(np.array([9, 1, 1, 3, 0, 0, 9]), 5) == [0, 1, 6, 7]
    assert cut_words(np.array([1, 1, 1, 1]), 2) == [0, 2, 4]


def test_sentences_are_chosen_alike_from_one_array_and_from_parts() -> None:
    ids = corpus_of(LINES).ids
    ends = np.flatnonzero(ids == 2) + 1
    whole = sample_sentences([ids], seed=3, limit=200)
    for size in (1, 7, 100):
        assert np.array_equal(whole, sample_sentences(np.split(ids, ends[size:-1:size]), seed=3, limit=200))
    halves = np.split(ids, [ends[100]])
    of_halves = [sample_sentences([half], seed=3, limit=200) for half in halves]
    assert np.array_equal(whole, sample_sentences(of_halves, seed=3, limit=200))


# Errors


def test_an_error_of_the_text_leaves_nothing(text: Path) -> None:
    text.write_bytes(text.read_bytes() * 3 + b"bad \xff byte\n")
    with pytest.raises(GapgramError, match="not valid UTF-8"):
        train(text, memory=SMALL)
    assert names(text.parent) == {"text"}


def test_a_full_disk_keeps_what_is_done(text: Path, whole: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "pieces-0")

    with monkeypatch.context() as patch:
        patch.setattr(PieceFile, "write", staticmethod(full))
        with pytest.raises(GapgramError, match=r"pieces-0: No space left .* kept in .*\.work: go on with --resume"):
            train(text)
    assert train(text, resume=True) == whole


def test_a_full_disk_of_the_model_keeps_what_is_done(
    text: Path, whole: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr("gapgram.system.array_file._write_section", full)
        with pytest.raises(GapgramError, match=r"model: no room left while writing .*; what is done is kept"):
            train(text)
    assert names(text.parent) == {"text", ".model.work"}
    assert train(text, resume=True) == whole


def test_a_mistake_in_held_out_text_leaves_nothing(text: Path) -> None:
    with pytest.raises(GapgramError, match=r"no such file$"):
        train(text, held_out_texts=text.parent / "none")
    assert names(text.parent) == {"text"}


@pytest.mark.parametrize("moment", ["before reading", "after reading"])
def test_too_little_room_on_the_disk(text: Path, monkeypatch: pytest.MonkeyPatch, moment: str) -> None:
    usage = namedtuple("usage", "free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(100_000))
    if moment == "before reading":
        monkeypatch.setattr(Reader, "read", None)
    else:
        monkeypatch.setattr("gapgram.training.run.guessed_positions", lambda _: 0)
    with pytest.raises(GapgramError, match=r"about .* of disk are needed in .*, 98KiB are free: make room"):
        train(text)
    assert names(text.parent) == {"text"}


def test_a_text_that_fits_needs_no_disk(text: Path, whole: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(0))
    assert train(text, memory="1T") == whole


def test_a_folder_for_temporary_files(text: Path, whole: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp = text.parent / "tmp"
    with pytest.raises(GapgramError, match=r"tmp: no such folder for temporary files"):
        train(text, tmp=tmp)
    tmp.mkdir()
    with monkeypatch.context() as patch:
        interrupt_at(patch, "windows", "after")
        with pytest.raises(KeyboardInterrupt):
            train(text, tmp=tmp)
    assert len(names(tmp)) == 1
    assert names(text.parent) == {"text", "tmp"}
    assert train(text, tmp=tmp, resume=True) == whole
    assert not names(tmp)


def test_a_folder_of_somebody_else_is_left_alone(text: Path) -> None:
    other = text.parent / ".model.work"
    other.mkdir()
    (other / "mine").touch()
    with pytest.raises(GapgramError, match="holds other files"):
        train(text)
    assert names(other) == {"mine", "lock"}


def test_a_place_where_no_folder_can_be(text: Path) -> None:
    (text.parent / ".model.work").touch()
    with pytest.raises(GapgramError, match=r"\.model\.work: cannot be used for temporary files"):
        train(text)


def test_a_damaged_work_folder(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        interrupt_at(patch, "windows", "after")
        with pytest.raises(KeyboardInterrupt):
            train(text)
    (text.parent / ".model.work" / "run.json").write_text("{")
    with pytest.raises(GapgramError, match="not as gapgram leaves it; start anew, without --resume"):
        train(text, resume=True)
    train(text)


def test_limits_are_for_a_model_that_is_written() -> None:
    wrong: list[dict[str, Any]] = [{"memory": "1G"}, {"tmp": "."}, {"resume": True}]
    for options in wrong:
        with pytest.raises(GapgramError, match="memory, tmp and resume are for a model that is written"):
            gapgram.train(sentences=LINES, **options)


@pytest.mark.parametrize("size", ["", "4X", "much", "0", "-1G"])
def test_sizes_that_make_no_sense(text: Path, size: str) -> None:
    with pytest.raises(GapgramError, match="expected a size such as 4G, 400MB or 400MiB"):
        train(text, memory=size)


def test_the_size_of_a_text_is_guessed(tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(b"four\n" * 100)
    (tmp_path / "packed").write_bytes(b"\x1f\x8b" + b"0" * 98)
    assert guessed_positions(tmp_path / "plain") == 100
    assert guessed_positions([tmp_path / "packed", "-"]) == 80


@pytest.mark.parametrize("limit", [{}, {"memory": SMALL}])
def test_long_lines_are_said(tmp_path: Path, limit: dict[str, Any]) -> None:
    from gapgram.errors import LineWarning
    from gapgram.training.run import LONG_LINE

    text = tmp_path / "text"
    text.write_text("\n".join([*toy_text(200), "a " * (LONG_LINE + 50), ""]))
    with pytest.warns(LineWarning, match="a line of 1,000,050 words: lines are held whole, .*; is it a sentence?"):
        gapgram.train(text, order=2, model="mkn", output=tmp_path / "model", **limit)
    assert (tmp_path / "model").exists()
