"""The law of every engine: the same model file as the local one, bit for bit, however the text is cut."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.support.corpora import golden_text, toy_text

from gapgram import Lattice, TextRules
from gapgram.counting.in_memory import TextInMemory, counts_in_memory
from gapgram.counting.plan import Split
from gapgram.counts.assemble import assemble
from gapgram.counts.streaming import seen_of
from gapgram.text.corpus import read_corpus
from gapgram.text.files import blocks_of_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Both = Callable[..., tuple[bytes, bytes]]


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """A text in three files, one of them compressed."""
    lines = toy_text(120, vocabulary=20)
    parts = [tmp_path / "a.txt", tmp_path / "b.txt", tmp_path / "c.txt.gz"]
    for path, part in zip(parts, (lines[:50], lines[50:51], lines[51:]), strict=True):
        data = "\n".join(part).encode()
        path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return parts


@pytest.mark.parametrize(
    ("partition_bytes", "options"),
    [
        (1 << 20, {"model": "mkn", "order": 3}),
        (700, {"model": "glm", "weights": "uniform", "order": 4, "prune": "0,1,1,2"}),
        (400, {"model": "glm", "weights": "learned", "order": 3, "rules": TextRules(min_count=2), "seed": 5}),
        (1 << 20, {"weights": "counts", "order": 6, "rules": TextRules(vocab_limit=12), "lattice": "11,1001,101011"}),
        (1 << 20, {"model": "mkn", "order": 1}),
        (700, {"model": "mkn", "order": 2, "open_vocabulary": True, "rules": TextRules(vocab_limit=12)}),
        (700, {"order": 3, "classes": "5,9"}),
        (1 << 20, {"order": 3, "classes": 4, "lattice": "11,111,22,202", "rules": TextRules(min_count=2)}),
    ],
)
def test_the_model_file_is_that_of_the_local_engine(
    both: Both, files: list[Path], partition_bytes: int, options: dict[str, Any]
) -> None:
    local, spark = both(files, partition_bytes=partition_bytes, **options)
    assert spark == local


def test_a_sample_is_that_of_the_local_engine(spark: SparkSession, tmp_path: Path) -> None:
    from gapgram.counting.spark import open_text
    from gapgram.counting.spark.session import session_for

    path = tmp_path / "text"
    path.write_text("\n".join(golden_text()))
    local = TextInMemory(read_corpus(blocks_of_files(path)), threads=1)
    spark.conf.set("spark.sql.files.maxPartitionBytes", "30000")
    shards = f"{tmp_path}/shards"
    with session_for(spark, None, {}) as session, open_text(session, [path], TextRules(), shards=shards) as text:
        for limit in (1, 500, 9000):
            sample = text.sample(seed=1, limit=limit)
            assert limit <= sample.size < local.ids.size
            assert np.array_equal(sample, local.sample(seed=1, limit=limit))


def test_patterns_are_chosen_as_by_the_local_engine(both: Both, tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("\n".join(golden_text()))
    local, spark = both([path], order=3, lattice="auto:4")
    assert spark == local


def test_weights_may_be_learned_from_held_out_text(both: Both, files: list[Path]) -> None:
    local, spark = both(files[2], held_out_texts=files[0], order=2, rules=TextRules(min_count=3))
    assert spark == local


@pytest.mark.parametrize(
    "rules", [TextRules("skip", "replace"), TextRules("unk", "replace")], ids=lambda rules: rules.special
)
def test_odd_bytes_are_read_as_the_local_engine_reads_them(both: Both, tmp_path: Path, rules: TextRules) -> None:
    odd = [
        b"\xef\xbb\xbfa byte-order mark\r",  # \r is white space
        b"a zero\x00byte and a form\x0cfeed", b"", b" \t",
        b"a line\xe2\x80\xa8separator\xc2\x85of Unicode\xc2\xa0is none",
        b"a <unk> word and <unk> again" + (b" </s> <s>" if rules.special == "skip" else b""),
        b"broken \xff\xfe bytes \xe2\x80", b"\xef\xbb\xbfa mark inside, and no newline at the end",
    ]  # fmt: skip
    (tmp_path / "odd.txt").write_bytes(b"\n".join(odd))
    (tmp_path / "plain.txt").write_text("a byte-order mark\n" * 3)
    (tmp_path / "empty.txt").write_text("")
    files = [tmp_path / f"{name}.txt" for name in ("odd", "plain", "empty")]
    local, spark = both(files, rules=rules, order=3, weights="uniform")
    assert spark == local


@pytest.mark.parametrize(
    ("lattice", "partition_bytes", "cut"),
    [
        (Lattice.full(2), 1 << 20, {"bands": 1}),
        (Lattice.full(3), 1 << 20, {"bands": 1000}),
        # Words that occur more than `max_windows` times are counted in parts.
        (Lattice.parse("1011", 5), 1 << 20, {"bands": 3, "max_windows": 115}),
        (Lattice.full(2), 700, {"bands": 2, "max_windows": 100}),
        # Pairs and triples of words, too.
        (Lattice.full(4), 700, {"bands": 2, "max_windows": 20}),
    ],
)
def test_counts_do_not_depend_on_how_the_text_is_cut(
    spark: SparkSession, tmp_path: Path, files: list[Path], lattice: Lattice, partition_bytes: int, cut: dict[str, Any]
) -> None:
    from gapgram.counting.spark import open_text
    from gapgram.counting.spark.session import session_for

    spark.conf.set("spark.sql.files.maxPartitionBytes", str(partition_bytes))
    corpus = read_corpus(blocks_of_files(files))
    cuts = {p: 1 + len(p) for p in lattice.stored if p.mask} if cut.get("max_windows") == 20 else {}
    held = TextInMemory(corpus, threads=1)
    local = counts_in_memory(held, lattice, (), threads=1, cuts=cuts)
    shards, rules = f"{tmp_path}/shards", TextRules()
    with (
        session_for(spark, None, {}) as session,
        open_text(session, files, rules, shards=shards, **cut) as text,
    ):
        assert (text.facts, text.longest_sentence) == (local.text, corpus.longest_sentence)
        assert list(text.vocabulary) == list(local.vocabulary)
        assert np.array_equal(text.word_counts, corpus.word_counts)
        share = text.bands(lattice, cuts)
        pieces = share.pieces()
        tables = assemble(lattice.stored, {p: list(pieces(p)) for p in lattice.stored})
        splits = [band for band in share.bands if isinstance(band, Split)]
        assert len(splits) > 2 if "max_windows" in cut else not splits
        inner = [part for band in splits for parts in band.jobs_by_step.values() for part in parts]
        if cut.get("max_windows") == 20:
            assert any(isinstance(part, Split) for part in inner), "pairs are cut by their third words"
        assert len(share.bands) >= min(cut["bands"], len(text.vocabulary) - 1)
        sample = text.sample(seed=1, limit=corpus.ids.size)
    assert sorted(sample) == sorted(corpus.ids)
    assert all(np.array_equal(n, local.seen[p]) for p, n in seen_of(cuts, pieces).items())
    for name, array in local.tables._asdict().items():
        assert name == "parts" or np.array_equal(getattr(tables, name), array), name


def test_text_and_shards_may_be_on_any_file_system_of_spark(both: Both, tmp_path: Path, spark: SparkSession) -> None:
    # One that the driver cannot open itself: files of this machine under another scheme.
    (tmp_path / "text").mkdir()
    (tmp_path / "counts").mkdir()
    (tmp_path / "tmp").mkdir()
    for i in range(3):
        (tmp_path / "text" / f"part-{i}").write_text("\n".join(toy_text(40, seed=i)))
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()
    for name in ("text", "counts"):
        hadoop.set(f"fs.viewfs.mounttable.far.link./{name}", (tmp_path / name).as_uri())
    from gapgram import SparkOptions, train

    options: dict[str, Any] = {"model": "mkn", "order": 3}
    local = train(sorted((tmp_path / "text").iterdir()), output=tmp_path / "local", **options)
    far = train(
        ["viewfs://far/text/part-[01]", "viewfs://far/text/*2"],
        output="viewfs://far/counts/model", tmp=tmp_path / "tmp",
        spark=SparkOptions(session=spark, shards="viewfs://far/counts/new"), **options,
    )  # fmt: skip
    assert far.path is None
    assert far.score("w1 w2") == local.score("w1 w2")
    assert (tmp_path / "counts" / "model").read_bytes() == (tmp_path / "local").read_bytes()
    assert list((tmp_path / "counts" / "new").glob("*/*.parquet")), "shards that were named are kept"
    assert not list((tmp_path / "counts" / "new").glob("*-tables")), "parts are not"
    assert not list((tmp_path / "tmp").iterdir()), "copies are not"
