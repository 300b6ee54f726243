"""Models are looked up, converted and pruned in limited memory: with the same result, and within the limit."""

from __future__ import annotations

import mmap
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.corpora import corpus_of, toy_text
from tests.support.running import HANGING_SECONDS

import gapgram
from gapgram import GapgramError, Model
from gapgram.compression.pruning.prune import prune, store_for
from gapgram.estimation.weights.sample import threads_within
from gapgram.estimation.weights.statistics import statistics_of
from gapgram.kernels.lookup import availability
from gapgram.kernels.special_words import START_ID
from gapgram.models import file as model_file
from gapgram.models.open import load_own
from gapgram.system import mapped_pages as pages_module
from gapgram.system.array_store import IN_MEMORY, InFolder
from gapgram.system.mapped_pages import AROUND, Pages

pytestmark = pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning")

KINDS: dict[str, dict[str, Any]] = {
    "mkn": {"model": "mkn"},
    "learned": {},
    "custom": {"weights": "uniform", "lattice": "11,1001,1011"},
    "classes": {"classes": 6},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of each kind, and one that is pruned, in both layouts and quantised."""
    folder = tmp_path_factory.mktemp("models")
    for name, options in KINDS.items():
        gapgram.train(sentences=toy_text(200, seed=3), order=4, output=folder / name, **options)
    opened(folder / "learned").pruned(keep=0.9, output=folder / "pruned")
    for name in (*KINDS, "pruned"):
        opened(folder / name).with_layout("compact", output=folder / f"{name}.compact")
        opened(folder / name).quantised(2).save(folder / f"{name}.quantised")
    return folder


@pytest.fixture
def little(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few grams, or contexts, at a time."""
    monkeypatch.setattr("gapgram.counts.compact.CHUNK", 128)
    monkeypatch.setattr("gapgram.counts.layouts.CHUNK", 60)


def opened(path: Path, memory: int | None = None) -> Model:
    return load_own(path, wanted_by="the test", memory=memory)


def mapping_of(path: Path) -> mmap.mmap:
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def test_pages_are_given_back_when_there_are_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_bytes(bytes(100))
    given: list[mmap.mmap] = []
    monkeypatch.setattr(pages_module, "let_go", given.append)
    monkeypatch.setattr(pages_module, "resident", lambda: 500 << 20)
    one, two = mapping_of(tmp_path / "file"), mapping_of(tmp_path / "file")
    pages = Pages(600 << 20, one)
    pages.add(two)
    assert (pages.give_back(), given) == (100 << 20, [])
    pages = Pages(510 << 20, one, two)
    assert pages.give_back() == 32 << 20
    assert set(given) == {one, two}
    del two, given[:]
    pages.give_back()
    assert given == [one]


@pytest.mark.parametrize("lattice", ["full", "full+chain", "11,1001,1011"])
@pytest.mark.parametrize("threads", [1, 99, 10**9])
def test_statistics_are_the_same_one_pattern_at_a_time(
    lattice: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = corpus_of(toy_text(60))
    monkeypatch.setattr(pages_module, "LEAST", 6 * AROUND * 200)
    model = gapgram.train(sentences=toy_text(60), order=4, classes=5 if "+" in lattice else None, lattice=lattice)
    starts = np.append(np.flatnonzero(corpus.ids == START_ID), corpus.ids.size)
    available = availability(corpus.ids, starts, 4)
    whole = statistics_of(model.counts, corpus.ids, available)
    limited = replace(model.counts, pages=Pages(0))
    assert whole[:, :, 0].max() > 1
    assert np.array_equal(whole, statistics_of(limited, corpus.ids, available, threads))


def test_as_many_threads_look_up_a_sample_as_memory_allows() -> None:
    assert threads_within(50 << 20, 136) == 1
    assert threads_within(4 << 30, 16) > 100


@pytest.mark.parametrize("kind", [*KINDS, "pruned"])
def test_converting_in_little_memory(folder: Path, kind: str, tmp_path: Path, little: None) -> None:
    one, two = folder / kind, folder / f"{kind}.compact"
    opened(one, memory=1).with_layout("compact", output=tmp_path / "compact")
    opened(two, memory=1).with_layout("fast", output=tmp_path / "fast")
    opened(two, memory=1).with_layout("compact", output=tmp_path / "same")
    assert (tmp_path / "compact").read_bytes() == two.read_bytes() == (tmp_path / "same").read_bytes()
    assert (tmp_path / "fast").read_bytes() == one.read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {"compact", "fast", "same"}


@pytest.mark.parametrize("kind", [*KINDS, "pruned"])
def test_quantising_in_little_memory(folder: Path, kind: str, tmp_path: Path, little: None) -> None:
    opened(folder / kind, memory=1).quantised(2, output=tmp_path / "little")
    assert (tmp_path / "little").read_bytes() == (folder / f"{kind}.quantised").read_bytes()


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("mkn", {"counts": "0,0,1"}),
        ("mkn", {"keep": 0.8}),
        ("learned", {"counts": "0,0,0,1", "keep": 0.85}),
        ("classes", {"keep": 0.8}),
        ("custom", {"counts": "0,1"}),
        ("pruned", {"keep": 0.8}),
        ("learned.compact", {"counts": "0,1"}),
    ],
    ids=str,
)
def test_pruning_in_little_memory(folder: Path, kind: str, options: dict[str, Any], tmp_path: Path) -> None:
    opened(folder / kind).pruned(**options).save(tmp_path / "whole")
    parts = opened(folder / kind, memory=1).parts
    assert parts.counts.pages is not None
    (tmp_path / "files").mkdir()
    store = InFolder(tmp_path / "files", parts.counts.pages, most_entries=90)
    pruned = prune(parts, **options, store=store)
    assert not list((tmp_path / "files").iterdir())  # they have no name
    model_file.write(tmp_path / "little", pruned)
    assert (tmp_path / "little").read_bytes() == (tmp_path / "whole").read_bytes()


def test_a_model_is_pruned_in_files_where_memory_would_not_do(folder: Path, tmp_path: Path) -> None:
    opened(folder / "mkn").pruned(keep=0.8).save(tmp_path / "whole")
    limited = opened(folder / "mkn", memory=1)
    assert store_for(limited.counts, tmp_path) is IN_MEMORY  # a small model fits into any limit
    many = replace(limited.counts, tables=limited.counts.tables._replace(places=limited.counts.tables.places << 30))
    assert isinstance(store_for(many, tmp_path), InFolder)
    assert store_for(replace(many, pages=None), tmp_path) is IN_MEMORY
    assert limited.pruned(keep=0.8, output=tmp_path / "little").counts.pages is not None
    assert (tmp_path / "little").read_bytes() == (tmp_path / "whole").read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {"whole", "little"}


def test_training_in_little_memory_to_a_compact_or_a_pruned_model(tmp_path: Path) -> None:
    lines = toy_text(200, seed=3)
    for options in ({"layout": "compact"}, {"prune": "0,0,1"}, {"size": "150K", "layout": "compact"}):
        for name, memory in (("whole", "1T"), ("little", 30_000)):
            gapgram.train(sentences=lines, order=4, output=tmp_path / name, memory=memory, **options)  # type: ignore[arg-type]
        assert (tmp_path / "whole").read_bytes() == (tmp_path / "little").read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {"whole", "little"}


def test_commands_take_a_limit(folder: Path, cli: Callable[..., Any], tmp_path: Path) -> None:
    assert cli("convert", folder / "mkn", "-o", tmp_path / "c", "--memory", "50M", "-q").code == 0
    assert (tmp_path / "c").read_bytes() == (folder / "mkn.compact").read_bytes()
    assert cli("prune", folder / "mkn", "-o", tmp_path / "p", "--counts", "0,1", "--memory", "50M", "-q").code == 0
    opened(folder / "mkn").pruned(counts="0,1").save(tmp_path / "q")
    assert (tmp_path / "p").read_bytes() == (tmp_path / "q").read_bytes()
    assert "expected a size such as 4G" in cli("prune", folder / "mkn", "-o", tmp_path / "p", "--memory", "x").err


def test_a_full_disk_while_converting_leaves_nothing(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("gapgram.system.array_file.make_room", full)
    with pytest.raises(GapgramError, match="no room left while writing"):
        opened(folder / "mkn").with_layout("compact", output=tmp_path / "c")
    assert not list(tmp_path.iterdir())


PEAKS = """
import re, sys, gapgram
from pathlib import Path
from gapgram.system import memory
from gapgram.system import mapped_pages as pages
memory.PROGRAM_BYTES, pages.LEAST = 0, 2 << 20

def status(name):
    return int(re.search(name + r":\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1000

def work(path, limit):
    model = gapgram.load(path, memory=limit)
    steps = {
        "convert": lambda: model.with_layout("compact", output=sys.argv[3]),
        "counts": lambda: model.pruned(counts="0,0,1", output=sys.argv[3]),
        "loss": lambda: model.pruned(keep=0.5, output=sys.argv[3]),
    }
    for name, step in steps.items():
        memory.trim()
        Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
        before = status("VmRSS")
        step()
        yield name, status("VmHWM") - before

dict(work(sys.argv[1], "1T"))
for limit in ("8M", "1T"):
    print(limit, *(round(peak) for _, peak in work(sys.argv[2], limit)))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the system does not tell the peak of a while")
def test_the_peak_of_memory_is_what_was_allowed(tmp_path: Path) -> None:
    lines = toy_text(6000, vocabulary=5000)
    for name, some in (("small", lines[:100]), ("large", lines)):
        gapgram.train(sentences=some, order=6, weights="uniform", output=tmp_path / name)
    arguments = [sys.executable, "-W", "ignore", "-c", PEAKS, *(str(tmp_path / n) for n in ("small", "large", "out"))]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=HANGING_SECONDS)
    assert not done.returncode, done.stderr
    limited, unlimited = (list(map(int, line.split()[1:])) for line in done.stdout.splitlines())
    assert max(limited) < 20, "megabytes: 8 are allowed, and one operation may take a few"
    assert max(unlimited) > 40
