"""Lines of text as Spark reads them, and the vocabulary of all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from posixpath import basename

import numpy as np
import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from gapgram.arrays import Integers
from gapgram.counting.spark.batches import batch_of, blocks_of, bytes_of
from gapgram.counts.counts import TextInfo
from gapgram.errors import TextError, UsageError
from gapgram.kernels import words as kernels
from gapgram.text.corpus import PartOfText, Reader, TextRules
from gapgram.text.vocabulary import Vocabulary, slots_for

_COUNTED = pa.schema([("word", pa.binary()), ("count", pa.int64())])
_MOST_PARTITIONS = 2000  # that words are shuffled into
_WORDS = 1 << 16  # that go into one batch
_FACT = b"\n"  # facts are counted as words are, under names that no word can have


class RefusedError(Exception):
    """Some line breaks the rules; `refusal.first_refused` says which."""


@dataclass(frozen=True)
class Learned:
    """The vocabulary of a text, how often each id occurs in it, and what the text is."""

    vocabulary: Vocabulary
    counts: Integers
    info: TextInfo
    longest: int


def checked_paths(paths: Iterable[object]) -> list[str]:
    """The paths as Spark takes them; refuses those that it would pass over in silence."""
    found = [str(path) for path in paths]
    for path in found:
        if path == "-":
            raise UsageError("standard input: Spark reads files alone; name them, or use the local engine")
        name = basename(path.rstrip("/"))
        if name.startswith(("_", ".")) and name not in (".", ".."):
            raise UsageError(f"{path}: Spark passes over names that start with _ or a dot; give the file another")
    return found


def read_lines(spark: SparkSession, paths: list[str], *also: str) -> DataFrame:
    """The bytes of every line with its newline as `line`, and columns of Spark's metadata by name."""
    # Spark keeps the bytes of a line as they are, valid or not, and gives them back as binary.
    text = spark.read.options(ignoreCorruptFiles="false", ignoreMissingFiles="false").text(paths, lineSep="\n")
    line = sql.concat(sql.col("value").cast("binary"), sql.lit(b"\n")).alias("line")
    return text.select(line, *(sql.col(f"_metadata.{name}").alias(name) for name in also))


def learn(lines: DataFrame, *, rules: TextRules, min_count: int, vocab_limit: int | None) -> Learned:
    """The vocabulary and the facts of a text, as `corpus.read_corpus` learns them."""
    per_part = lines.mapInArrow(_Learning(rules), "word binary, count bigint")
    per_part = per_part.repartition(min(max(lines.rdd.getNumPartitions(), 1), _MOST_PARTITIONS), "word")
    counted = per_part.groupBy("word").agg(sql.sum("count").alias("count"), sql.max("count").alias("largest"))
    counted = counted.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        is_fact = sql.substring("word", 1, 1) == sql.lit(_FACT)
        facts = _facts(counted.where(is_fact).toArrow())
        kept = counted.where(~is_fact & (sql.col("count") >= min_count)).select("word", "count")
        if vocab_limit is not None:
            kept = kept.orderBy(sql.desc("count"), "word").limit(vocab_limit)
        words = kept.toArrow().sort_by([("count", "descending"), ("word", "ascending")])
    finally:
        counted.unpersist()
    counts = words["count"].to_numpy()
    sentences, n_words = facts["sentences"], facts["words"]
    rule = f"min_count={min_count},limit={vocab_limit or 'none'},special={rules.special}"
    digest = ((facts["digest_high"] << 32) + facts["digest_low"]) % (1 << 64)
    return Learned(
        _vocabulary(words["word"]),
        np.concatenate([[n_words - int(counts.sum()), sentences, sentences], counts]),
        TextInfo(sentences, n_words, f"{digest:016x}", rule),
        facts["longest"],
    )


@dataclass(frozen=True)
class _Learning:
    """How often each word occurs in a partition, and the partition's facts."""

    rules: TextRules

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        reader = Reader(rules=self.rules)
        try:
            for block in blocks_of(batches):
                for _ in reader.read_block(block):
                    pass
        except TextError:
            yield batch_of(_COUNTED, [_FACT + b"refused"], [1])
            return
        part = reader.part()
        facts = {**{name: getattr(part, name) for name in ("lines", "sentences", "words", "longest")},
                 "digest_low": part.digest & 0xFFFFFFFF, "digest_high": part.digest >> 32}  # fmt: skip
        yield batch_of(_COUNTED, [_FACT + name.encode() for name in facts], list(facts.values()))
        yield from _word_batches(part)


def _word_batches(part: PartOfText) -> Iterator[pa.RecordBatch]:
    buffers = [None, pa.py_buffer(part.offsets), pa.py_buffer(part.pool)]
    words = pa.Array.from_buffers(pa.large_binary(), part.counts.size, buffers)
    for begin in range(0, part.counts.size, _WORDS):
        some = words.slice(begin, _WORDS).cast(pa.binary())
        yield pa.RecordBatch.from_arrays([some, pa.array(part.counts[begin : begin + _WORDS])], schema=_COUNTED)


def _facts(table: pa.Table) -> dict[str, int]:
    rows = {row["word"].removeprefix(_FACT).decode(): row for row in table.to_pylist()}
    if "refused" in rows:
        raise RefusedError
    facts = {name: row["largest" if name == "longest" else "count"] for name, row in rows.items()}
    if not facts.get("lines"):
        raise TextError("the text is empty: expected one sentence a line")
    if not facts["sentences"]:
        raise TextError(f"the text has {facts['lines']:,} lines and all are empty: expected one sentence a line")
    if facts["words"] == 1:
        raise TextError("the text is one word in all: a model needs more to count")
    return facts


def _vocabulary(words: pa.ChunkedArray) -> Vocabulary:
    """The special words and these, the same as `Vocabulary.of` makes, without touching a word."""
    start = Vocabulary.of([])
    pools, offsets, end = [start.pool], [start.offsets], start.pool.size
    for chunk in words.chunks:
        text, begins = bytes_of(chunk)
        pools.append(text)
        offsets.append(begins[1:] + end)
        end += text.size
    pool, all_offsets = np.concatenate(pools), np.concatenate(offsets)
    pool.flags.writeable = False
    slots = np.empty(slots_for(all_offsets.size - 1), np.int64)
    kernels.fill_slots(slots, pool, all_offsets, all_offsets.size - 1)
    return Vocabulary(pool, all_offsets, slots)
