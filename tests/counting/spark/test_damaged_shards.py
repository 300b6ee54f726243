"""Counts that are damaged or missing after they were written, and a text that changes between two readings."""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.support.corpora import toy_text

import gapgram
from gapgram.errors import DiscountWarning, EngineError, UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Change = Callable[[list[Path]], None]


def largest(paths: list[Path]) -> Path:
    return max(paths, key=os.path.getsize)


def flip_a_bit(paths: list[Path]) -> None:
    data = bytearray(largest(paths).read_bytes())
    data[len(data) // 3] ^= 64
    largest(paths).write_bytes(data)


FILE = r"s/pieces-\d+: "
CHANGES: dict[str, tuple[Change, str]] = {
    "bit": (flip_a_bit, FILE + "damaged counts, train again with a new folder"),
    "cut": (lambda paths: os.truncate(largest(paths), os.path.getsize(largest(paths)) // 2), FILE + "damaged counts"),
    "empty": (lambda paths: os.truncate(largest(paths), 0), FILE + "damaged counts"),
    "missing": (lambda paths: largest(paths).unlink(), FILE + "counted and not there: .* not one that all machines sh"),
}


@pytest.fixture
def train(spark: SparkSession, tmp_path: Path) -> Callable[..., Path]:
    """A model that Spark makes of a text, its shards in a folder `s`."""
    text = tmp_path / "text"
    text.write_text("\n".join([*toy_text(200), ""]))

    def trained(**options: Any) -> Path:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DiscountWarning)
            engine = gapgram.SparkOptions(session=spark, shards=f"file:{tmp_path}/s")
            gapgram.train(text, order=2, model="mkn", output=tmp_path / "model", spark=engine, **options)
        return tmp_path / "model"

    return trained


@pytest.mark.parametrize("name", CHANGES)
def test_what_was_done_to_a_file_is_said_in_a_sentence(
    train: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    engine: Any = import_module("gapgram.counting.spark.engine")
    change, said = CHANGES[name]
    count = engine.ShardFolder.count

    def changed(*given: Any) -> Any:
        counted = count(*given)
        change(sorted((tmp_path / "s").glob("pieces-*")))
        return counted

    monkeypatch.setattr(engine.ShardFolder, "count", changed)
    with pytest.raises(EngineError, match=said):
        train()
    assert not (tmp_path / "model").exists()


def test_a_part_of_the_model_that_is_damaged_is_said(
    train: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts: Any = import_module("gapgram.counting.spark.parts")
    place = parts.InParts._place

    def changed(*given: Any) -> None:
        place(*given)
        flip_a_bit(sorted((tmp_path / "s").glob("tables-*")))

    with monkeypatch.context() as patch:
        patch.setattr(parts.InParts, "_place", changed)
        with pytest.raises(EngineError, match=r"s/tables-0-\d+: damaged, go on with --resume"):
            train()
    assert train(resume=True).exists()
    assert not list((tmp_path / "s").glob("tables-*")), "parts go when they are in the model"


# Each word is as frequent as before: nothing but the lines tells.
SILENT: dict[str, Callable[[str], str]] = {
    "words in another order": lambda text: "\n".join(" ".join(reversed(line.split())) for line in text.split("\n")),
    "two words exchanged in a line": lambda text: text.replace("w1 w2", "w2 w1", 1) + "",
}


@pytest.mark.parametrize("name", SILENT)
def test_a_text_that_changes_between_the_readings_is_refused(
    train: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    engine: Any = import_module("gapgram.counting.spark.engine")
    learn, text = engine.learn, tmp_path / "text"

    def changed(*arguments: Any) -> Any:
        learned = learn(*arguments)
        before = text.read_text()
        text.write_text(SILENT[name](before))
        assert text.read_text() != before
        return learned

    monkeypatch.setattr(engine, "learn", changed)
    with pytest.raises(EngineError, match="the text changed while it was read: leave it alone and start again"):
        train()


def test_lines_in_another_order_are_the_same_text(
    train: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine: Any = import_module("gapgram.counting.spark.engine")
    learn, text = engine.learn, tmp_path / "text"

    def changed(*arguments: Any) -> Any:
        learned = learn(*arguments)
        text.write_text("\n".join([*reversed(text.read_text().strip().split("\n")), ""]))
        return learned

    monkeypatch.setattr(engine, "learn", changed)
    assert train().exists()


def test_a_run_goes_on_with_what_is_counted(
    train: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = train().read_bytes()
    shutil.rmtree(tmp_path / "s")
    engine: Any = import_module("gapgram.counting.spark.engine")
    count = engine.ShardFolder.count

    def interrupted(*given: Any) -> Any:
        count(*given)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(engine.ShardFolder, "count", interrupted)
        with pytest.raises(KeyboardInterrupt):
            train()
    lost, *kept = sorted((tmp_path / "s").glob("pieces-*"))
    (tmp_path / "s" / f"{lost.name}.of-a-worker-that-was-killed").write_bytes(b"half")
    os.truncate(lost, 10)
    times = [path.stat().st_mtime_ns for path in kept]
    with pytest.raises(UsageError, match="exists; name a new folder"):
        train()
    assert train(resume=True).read_bytes() == expected
    assert [path.stat().st_mtime_ns for path in kept] == times, "what was counted is not counted again"
    with pytest.raises(UsageError, match="counts of another run, text or version"):
        train(resume=True, prune="0,1")
