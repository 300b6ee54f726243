"""Counts that are damaged, missing or doubled after they were written, and a text that changes between two readings."""

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
from gapgram.errors import DiscountWarning, EngineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Change = Callable[[list[Path]], None]


def largest(paths: list[Path]) -> Path:
    return max(paths, key=os.path.getsize)


def flip_a_bit(paths: list[Path]) -> None:
    """In the middle of the largest table of grams: other places of a file may hold nothing that is read."""
    import pyarrow.parquet as pq

    path = largest(paths)
    metadata = pq.read_metadata(path)
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    columns = [group.column(i) for group in groups for i in range(group.num_columns)]
    grams = max((c for c in columns if c.path_in_schema == "grams"), key=lambda c: c.total_compressed_size)
    data = bytearray(path.read_bytes())
    data[grams.data_page_offset + grams.total_compressed_size * 2 // 3] ^= 64
    path.write_bytes(data)


def change_numbers(paths: list[Path]) -> None:
    """As Parquet may be written by others: whole, with another count."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = largest(paths)
    table = pq.read_table(path)
    columns = {name: table[name].to_pylist() for name in table.column_names}
    at = max(range(table.num_rows), key=lambda i: len(columns["grams"][i]))
    data = bytearray(columns["grams"][at])
    data[0] ^= 1
    columns["grams"][at] = bytes(data)
    pq.write_table(pa.table(columns, schema=table.schema), path, row_group_size=1, compression="zstd")


def double(paths: list[Path]) -> None:
    shutil.copy(largest(paths), paths[0].parent / "part-copy.parquet")


FILE = r"s-?\w*/part-\S+\.parquet: "
CHANGES: dict[str, tuple[Change, str]] = {
    "bit": (flip_a_bit, FILE + "damaged counts, train again with a new folder: "),
    "numbers": (change_numbers, FILE + "damaged counts, .*: a table of grams does not match its checksum"),
    "cut": (lambda paths: os.truncate(largest(paths), os.path.getsize(largest(paths)) // 2), FILE + "damaged counts"),
    "empty": (lambda paths: os.truncate(largest(paths), 0), FILE + "damaged counts"),
    "missing": (lambda paths: largest(paths).unlink(), r"/s: \d+ rows of counts were written and \d+ are there"),
    "double": (double, FILE + r"what it holds is in \S+\.parquet, too: remove one of the two"),
}


@pytest.fixture
def train(spark: SparkSession, tmp_path: Path) -> Callable[[], Path]:
    """A model that Spark makes of a text, its shards in a folder `s`."""
    text = tmp_path / "text"
    text.write_text("\n".join([*toy_text(200), ""]))

    def trained() -> Path:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DiscountWarning)
            options = gapgram.SparkOptions(session=spark, shards=f"file:{tmp_path}/s")
            gapgram.train(text, order=2, model="mkn", output=tmp_path / "model", spark=options)
        return tmp_path / "model"

    return trained


@pytest.mark.parametrize("name", CHANGES)
def test_what_was_done_to_a_file_is_said_in_a_sentence(
    train: Callable[[], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    engine: Any = import_module("gapgram.counting.spark.engine")
    change, said = CHANGES[name]
    write = engine.write_shards

    def changed(tables: Any, folder: str) -> Any:
        n_rows = write(tables, folder)
        change(sorted((tmp_path / "s").glob("*.parquet")))
        return n_rows

    monkeypatch.setattr(engine, "write_shards", changed)
    with pytest.raises(EngineError, match=said):
        train()
    assert not (tmp_path / "model").exists()


# Each word is as frequent as before: nothing but the lines tells.
SILENT: dict[str, Callable[[str], str]] = {
    "words in another order": lambda text: "\n".join(" ".join(reversed(line.split())) for line in text.split("\n")),
    "two words exchanged in a line": lambda text: text.replace("w1 w2", "w2 w1", 1) + "",
}


@pytest.mark.parametrize("name", SILENT)
def test_a_text_that_changes_between_the_readings_is_refused(
    train: Callable[[], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
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
    train: Callable[[], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine: Any = import_module("gapgram.counting.spark.engine")
    learn, text = engine.learn, tmp_path / "text"

    def changed(*arguments: Any) -> Any:
        learned = learn(*arguments)
        text.write_text("\n".join([*reversed(text.read_text().strip().split("\n")), ""]))
        return learned

    monkeypatch.setattr(engine, "learn", changed)
    assert train().exists()
