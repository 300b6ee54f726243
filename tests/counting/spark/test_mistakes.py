"""What is wrong with a text, a cluster or an option is said in a sentence, as the local engine says it."""

from __future__ import annotations

import errno
import gzip
import lzma
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import pytest
from tests.support.corpora import toy_text

import gapgram
from gapgram import GapgramError, SparkOptions
from gapgram.errors import to_install

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Train = Callable[..., str]


@pytest.fixture
def mistake(spark: SparkSession, tmp_path: Path) -> Train:
    """What training on Spark says of a text; nothing may be left behind."""

    def said(*texts: object, order: int = 3, shards: str | None = None, **options: Any) -> str:
        output = tmp_path / "out" / "model"
        output.parent.mkdir()
        with pytest.raises(GapgramError) as raised:
            options["spark"] = SparkOptions(session=spark, shards=shards)
            gapgram.train([str(t) for t in texts], output=output, order=order, **options)
        assert not list(output.parent.iterdir())
        return str(raised.value)

    return said


@pytest.mark.parametrize("bad", [b"caf\xe9 au lait", b"the word </s> here"])
def test_a_line_that_breaks_the_rules_is_found_as_by_the_local_engine(
    mistake: Train, spark: SparkSession, tmp_path: Path, bad: bytes
) -> None:
    spark.conf.set("spark.sql.files.maxPartitionBytes", "1000")  # so that it is in a later split of its file
    lines = [line.encode() for line in toy_text(90)]
    (tmp_path / "good.txt").write_bytes(b"\n".join(lines[:9]))
    (tmp_path / "in this.txt").write_bytes(b"\n".join([*lines[:77], bad, *lines[77:], bad]))
    files = [tmp_path / "good.txt", tmp_path / "in this.txt"]
    with pytest.raises(GapgramError) as local:
        gapgram.train(files, order=3)
    assert f"{files[1]}:78: " in str(local.value)
    assert mistake(*files) == str(local.value)


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("a.txt", b"", "the text is empty: expected one sentence a line"),
        ("a.txt", b"\n \n\n", "the text has 3 lines and all are empty: expected one sentence a line"),
        ("a.txt", b"one\n", "the text is one word in all: a model needs more to count"),
        ("a.txt", b"a b\n\nc\n", "order 5 is larger than any sentence: the longest has 2 words"),
        ("a.txt.xz", lzma.compress(b"a b c\n"), "{}:1: xz data that Spark did not unpack: it goes by the name"),
        ("a.gz", gzip.compress(b"a b c\n")[:-9], "{}: Spark cannot read it: java.io.EOFException: Unexpected end"),
        ("_a.txt", b"a b c\n", "{}: Spark passes over names that start with _ or a dot; give the file another"),
    ],
    ids=["empty", "empty lines", "one word", "short", "xz", "cut off", "hidden"],
)
def test_a_text_that_cannot_be_counted(mistake: Train, tmp_path: Path, name: str, data: bytes, said: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    assert said.format(path) in mistake(path, order=5)


def test_a_text_that_is_not_there(mistake: Train, tmp_path: Path) -> None:
    assert mistake(tmp_path / "none.txt") == f"{tmp_path}/none.txt: no such file, nor any that the name stands for"


def test_held_out_text_is_missed_before_counting(mistake: Train, tmp_path: Path) -> None:
    assert mistake("no.text", held_out_texts=tmp_path / "none") == f"{tmp_path}/none: no such file"


def test_shards_that_exist_are_not_replaced(mistake: Train, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("a b c\n")
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "kept").write_text("")
    old = f"{tmp_path}/old"
    assert mistake(tmp_path / "text", shards=old) == f"{old}: exists; name a new folder for the counts (--shards)"
    assert (tmp_path / "old" / "kept").exists()


def test_standard_input_is_refused(mistake: Train) -> None:
    assert mistake("-") == "standard input: Spark reads files alone; name them, or use the local engine"


def test_a_text_that_changes_while_it_is_read(spark: SparkSession, tmp_path: Path) -> None:
    from gapgram.counting.spark import bands, engine, open_text
    from gapgram.counting.spark.session import session_for

    text = tmp_path / "text"
    text.write_text("a b c\n" * 9)

    def changed(*arguments: Any) -> Any:
        text.write_text("a b c\n" * 8)
        return bands.count_bands(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "count_bands", changed)
        opened = open_text(spark, [text], gapgram.TextRules(), shards=f"{tmp_path}/s")
        with (
            pytest.raises(GapgramError, match="the text changed while it was read"),
            session_for(spark, None, {}),
            opened as source,
        ):
            source.bands(gapgram.Lattice.full(2))


def test_a_running_session_keeps_its_master(cli: Callable[..., Any], spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("a b c\n")
    ran = cli("train", tmp_path / "text", "-o", tmp_path / "m", "--engine", "spark", "--master", "local[1]")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "gapgram: a Spark session is running: its master and settings are its own; leave them out\n"


def test_the_command_line_says_it_in_one_line(cli: Callable[..., Any], spark: SparkSession, tmp_path: Path) -> None:
    ran = cli("train", tmp_path / "none", "-o", tmp_path / "m", "--engine", "spark")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert ran.err.endswith("none: no such file, nor any that the name stands for\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--master", "yarn"], "a Spark master, settings and shards are for the engine spark (--engine spark)"),
        (["--engine", "spark", "--spark-conf", "novalue"], "'novalue': expected NAME=VALUE"),
    ],
)
def test_options_that_make_no_sense(cli: Callable[..., Any], tmp_path: Path, arguments: list[str], said: str) -> None:
    (tmp_path / "text").write_text("a b c\n")
    ran = cli("train", tmp_path / "text", "-o", tmp_path / "m", *arguments)
    assert ran.code == 2
    assert said in ran.err


def test_arguments_that_make_no_sense(tmp_path: Path) -> None:
    with pytest.raises(GapgramError, match="the engine spark writes a model file: name an output"):
        gapgram.train(["text"], spark=SparkOptions())
    with pytest.raises(GapgramError, match="the engine spark reads text files"):
        gapgram.train(sentences=["a b"], spark=SparkOptions(), output=tmp_path / "m")


@pytest.mark.parametrize("package", ["pyspark", "pyarrow"])
def test_the_extra_is_named_where_it_is_missing(
    cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, package: str
) -> None:
    for name in [name for name in sys.modules if name.startswith("gapgram.counting.spark")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr("gapgram.counting.spark", raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    (tmp_path / "text").write_text("a b c\n")
    ran = cli("train", tmp_path / "text", "-o", tmp_path / "m", "--engine", "spark")
    assert ran.code == 2
    assert ran.err == f"gapgram: counting with Spark needs PySpark and PyArrow: {to_install('spark')}\n"


def test_java_is_asked_for_where_it_is_missing_or_old(
    spark_here: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from gapgram.counting.spark.session import check_java

    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(GapgramError, match=r"Java 17 or later, and JAVA_HOME is .* and holds no bin/java: install"):
        check_java()
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_392\"' >&2\n")
    java.chmod(0o755)
    with pytest.raises(GapgramError, match=r"and .*/bin/java is Java 8: install Java 17"):
        check_java()
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    with pytest.raises(GapgramError, match="and no java was found: install Java 17"):
        check_java()


@pytest.mark.parametrize(
    ("thrown", "said"),
    [
        ("Job aborted.\n\tat java.Some\nCaused by: one\nCaused by: java.io.IOException: No space left\n\tat java.Other",
         "Spark failed: java.io.IOException: No space left"),
        ("Traceback\n  File x\nModuleNotFoundError: No module named 'gapgram'\n",
         "Spark failed: ModuleNotFoundError: No module named 'gapgram'"),
        ("Traceback\n  File x\ngapgram.errors.EngineError: too much\n\n\tat org.apache.Some\n", "too much"),
        ("All masters are unresponsive! Giving up.", "Spark failed: All masters are unresponsive! Giving up."),
        ("", "Spark failed: it did not say why"),
        (None, "Spark's Java process is gone (ConnectionRefusedError): it may have run out of memory; give it more "
         "(--spark-conf spark.driver.memory=4g)"),
    ],
    ids=["Java", "Python", "a worker", "one line", "nothing", "gone"],
)  # fmt: skip
def test_failures_of_spark_are_said_in_a_sentence(spark_here: None, thrown: str | None, said: str) -> None:
    from py4j.protocol import Py4JError

    from gapgram.counting.spark.session import sentences

    with pytest.raises(GapgramError) as raised, sentences():
        raise ConnectionRefusedError if thrown is None else Py4JError(thrown)
    assert str(raised.value) == said


def test_more_windows_than_can_be_numbered(spark_here: None) -> None:
    from gapgram.counting.spark.bands import unpacked

    window = np.array([0, 4, 5], np.uint8)  # the first word, 3 before it, 5 after it
    assert unpacked([window] * 3, 7, 8, 2, max_ids=12).tolist() == [[3, 7, 5]] * 3
    with pytest.raises(GapgramError, match="4 windows of order 2 have to be counted at once, at most 3 can be"):
        unpacked([window] * 4, 7, 8, 2, max_ids=12)


def test_a_folder_that_is_not_shared_is_said(spark_here: None, tmp_path: Path) -> None:
    from gapgram.counting.spark.shards import Target

    with pytest.raises(GapgramError, match="not the folder that the driver made: name one that all machines share"):
        list(Target(str(tmp_path), "run").written(0, "pieces-0", bool))


def test_other_versions_on_other_machines_are_said(spark_here: None) -> None:
    from gapgram.counting.spark.text import _Learning

    with pytest.raises(GapgramError, match=r"gapgram \S+ on \S+, 0\.0 on the driver: install the same version on all"):
        list(_Learning(gapgram.TextRules(), "0.0")([]))


def test_a_full_disk_is_said(spark_here: None, tmp_path: Path) -> None:
    from gapgram.counting.spark.shards import Target

    def full(file: BinaryIO) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (tmp_path / "run").write_text("run")
    with pytest.raises(GapgramError, match="a worker cannot write there: No space left on device"):
        list(Target(str(tmp_path), "run").written(0, "pieces-0", full))
    assert [path.name for path in tmp_path.iterdir()] == ["run"], "nothing half-written"
