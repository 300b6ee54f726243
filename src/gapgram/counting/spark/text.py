"""Lines of text as Spark reads them, and the vocabulary of all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from platform import node
from posixpath import basename

import numpy as np
import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from gapgram.arrays import Integers
from gapgram.counting.spark.batches import LineSum, batch_of, blocks_of, bytes_of
from gapgram.errors import EngineError, TextError, UsageError
from gapgram.kernels.text import words as kernels
from gapgram.kernels.text.special_words import SPECIAL
from gapgram.signature import __version__
from gapgram.text.corpus import Reader, TextFacts, TextRules, TextTally
from gapgram.text.vocabulary import Vocabulary, slots_for
from gapgram.text.word_table import WordSample, WordTable, sampled

_COUNTED = pa.schema([("word", pa.binary()), ("count", pa.int64())])
_MAX_PARTITIONS = 2000  # that words are shuffled into
_BATCH_WORDS = 1 << 16
_FACT = b"\n"  # facts are counted as words are, under names that no word can have


class RefusedError(Exception):
    """Some line breaks the rules; `refusal.first_refused` says which."""


@dataclass(frozen=True)
class Learned:
    """What a text is, its vocabulary, how often each id is met, and the words of a model of spelling, if asked for.

    line_sum: `LineSum` of all lines.
    """

    facts: TextFacts
    longest_sentence: int
    vocabulary: Vocabulary
    word_counts: Integers
    word_sample: WordSample | None
    line_sum: int


def checked_paths(paths: Iterable[object]) -> list[str]:
    """The paths as Spark takes them; refuses those that it would pass over in silence."""
    names = [str(path) for path in paths]
    for path in names:
        if path == "-":
            raise UsageError("standard input: Spark reads files alone; name them, or use the local engine")
        name = basename(path.rstrip("/"))
        if name.startswith(("_", ".")) and name not in (".", ".."):
            raise UsageError(f"{path}: Spark passes over names that start with _ or a dot; give the file another")
    return names


def read_lines(spark: SparkSession, paths: list[str], *also: str) -> DataFrame:
    """The bytes of every line with its newline as `line`, their `hash`, and columns of Spark's metadata by name."""
    # Spark keeps the bytes of a line as they are, valid or not, and gives them back as binary.
    text = spark.read.options(ignoreCorruptFiles="false", ignoreMissingFiles="false").text(paths, lineSep="\n")
    line = sql.concat(sql.col("value").cast("binary"), sql.lit(b"\n")).alias("line")
    hashed = sql.xxhash64(sql.col("value").cast("binary")).alias("hash")
    return text.select(line, hashed, *(sql.col(f"_metadata.{name}").alias(name) for name in also))


def learn(lines: DataFrame, rules: TextRules) -> Learned:
    """The vocabulary and the facts of a text, as `corpus.read_corpus` learns them."""
    per_partition = lines.mapInArrow(_Learning(rules, __version__), "word binary, count bigint")
    n_partitions = min(max(lines.rdd.getNumPartitions(), 1), _MAX_PARTITIONS)
    by_word = per_partition.repartition(n_partitions, "word").groupBy("word")
    counted = by_word.agg(sql.sum("count").alias("count"), sql.max("count").alias("largest"))
    counted = counted.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        is_fact = sql.substring("word", 1, 1) == sql.lit(_FACT)
        tally, line_sum = _tally(counted.where(is_fact).toArrow())
        words = counted.where(~is_fact).select("word", "count")
        kept = words.where(sql.col("count") >= rules.min_count)
        if rules.vocab_limit is not None:
            kept = kept.orderBy(sql.desc("count"), "word").limit(rules.vocab_limit)
        kept_words = _sorted(kept)
        sample = _sample(_sorted(words), len(kept_words)) if rules.open_vocabulary else None
    finally:
        counted.unpersist()
    facts, counts = tally.facts(rules), kept_words["count"].to_numpy()
    special = [facts.words - int(counts.sum()), facts.sentences, facts.sentences]
    vocabulary, all_counts = _vocabulary(kept_words["word"]), np.concatenate([special, counts])
    return Learned(facts, tally.longest_sentence, vocabulary, all_counts, sample, line_sum)


def _sorted(words: DataFrame) -> pa.Table:
    """Words and their counts, on this machine, in the order of a vocabulary."""
    return words.toArrow().sort_by([("count", "descending"), ("word", "ascending")])


def _sample(words: pa.Table, n_kept: int) -> WordSample:
    """The words that a model of spelling is trained on; the first so many are kept in the vocabulary."""
    taken, times = sampled(words["count"].to_numpy(), n_kept)
    texts = words["word"].to_pylist()[taken]
    offsets = np.zeros(len(texts) + 1, np.int64)
    np.cumsum([len(text) for text in texts], out=offsets[1:])
    return WordSample(np.frombuffer(b"".join(texts), np.uint8), offsets, times)


@dataclass(frozen=True)
class _Learning:
    """How often each word occurs in a partition, and the partition's facts."""

    rules: TextRules
    version: str

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if self.version != __version__:
            where = f"gapgram {__version__} on {node()}, {self.version} on the driver"
            raise EngineError(f"{where}: install the same version on all machines")
        reader, lines = Reader(rules=self.rules), LineSum()
        try:
            for block in blocks_of(lines.over(batches)):
                for _ in reader.read_block(block):
                    pass
        except TextError:
            yield batch_of(_COUNTED, [_FACT + b"refused"], [1])
            return
        facts = asdict(reader.tally)
        for name, total in (("digest", facts.pop("digest")), ("lines", lines.total)):
            facts |= {f"{name}_low": total & 0xFFFFFFFF, f"{name}_high": total >> 32}  # so that sums stay in range
        yield batch_of(_COUNTED, [_FACT + name.encode() for name in facts], list(facts.values()))
        yield from _word_batches(reader.table)


def _word_batches(table: WordTable) -> Iterator[pa.RecordBatch]:
    first = len(SPECIAL)
    counts, offsets = table.counts[first : table.n], table.offsets[first : table.n + 1]
    words = pa.Array.from_buffers(
        pa.large_binary(), counts.size, [None, pa.py_buffer(offsets), pa.py_buffer(table.pool)]
    )
    for begin in range(0, counts.size, _BATCH_WORDS):
        some = words.slice(begin, _BATCH_WORDS).cast(pa.binary())
        yield pa.RecordBatch.from_arrays([some, pa.array(counts[begin : begin + _BATCH_WORDS])], schema=_COUNTED)


def _tally(table: pa.Table) -> tuple[TextTally, int]:
    """What the partitions have counted, added up, and the sum over all lines."""
    rows = {row["word"].removeprefix(_FACT).decode(): row for row in table.to_pylist()}
    if "refused" in rows:
        raise RefusedError
    facts = {name: row["largest" if name == "longest_sentence" else "count"] for name, row in rows.items()}
    digest, lines = (
        ((facts.pop(f"{name}_high", 0) << 32) + facts.pop(f"{name}_low", 0)) % (1 << 64) for name in ("digest", "lines")
    )
    return TextTally(**facts, digest=digest), lines


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
    kernels.fill_slots(slots, pool, all_offsets, all_offsets.size - 1, np.uint64(0))
    return Vocabulary(pool, all_offsets, slots)
