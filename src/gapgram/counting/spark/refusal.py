"""Which line of a text breaks the rules: looked for, in one more pass, only where some line does."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as sql

from gapgram.counting.spark.batches import batch_of, bytes_of, runs
from gapgram.counting.spark.session import shown_path
from gapgram.counting.spark.text import read_lines
from gapgram.errors import TextError
from gapgram.text.corpus import TextRules, encode
from gapgram.text.files import Block, decompressed
from gapgram.text.vocabulary import Vocabulary

_NONE = 1 << 62  # the line of nothing, past all others
_SPLIT = pa.schema(
    [
        ("file_path", pa.string()),
        ("file_block_start", pa.int64()),
        ("lines", pa.int64()),
        ("line", pa.int64()),
        ("refused", pa.string()),
    ]
)


def first_refused(spark: SparkSession, paths: list[str], rules: TextRules) -> TextError:
    """What the local engine would say of the first line, file by file, that breaks the rules."""
    lines = read_lines(spark, paths, "file_path", "file_block_start")
    schema = "file_path string, file_block_start bigint, lines bigint, line bigint, refused string"
    stretches = lines.mapInArrow(_Refusing(rules), schema)
    splits = stretches.groupBy("file_path", "file_block_start").agg(
        sql.sum("lines").alias("lines"), sql.min(sql.struct("line", "refused")).alias("first")
    )
    file, before = "", 0
    for split in splits.orderBy("file_path", "file_block_start").toLocalIterator():
        if split["file_path"] != file:
            file, before = split["file_path"], 0
        line, refused = split["first"]
        if refused:
            return TextError(f"{shown_path(file)}:{line + before}: {refused}")
        before += split["lines"]
    return TextError("the text changed while it was read: leave it alone and start again")


@dataclass(frozen=True)
class _Refusing:
    """How many lines each stretch of a file has, and the first that breaks the rules, with what is wrong."""

    rules: TextRules

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        split: tuple[str, int] | None = None
        lines = 0
        for batch in batches:
            for run in runs(batch, ("file_path", "file_block_start")):
                now = run["file_path"][0].as_py(), run["file_block_start"][0].as_py()
                lines = lines if now == split else 0
                split = now
                data = bytes_of(run["line"])[0].tobytes()
                line, refused = _refused(data, lines, self.rules, at_start=now[1] == 0)
                yield batch_of(_SPLIT, [now[0]], [now[1]], [run.num_rows], [line], [refused])
                lines += run.num_rows


def _refused(data: bytes, lines_before: int, rules: TextRules, *, at_start: bool) -> tuple[int, str]:
    """The line, counted from the start of the split, and what is wrong with it."""
    if at_start and not lines_before:
        kind, _ = decompressed(io.BytesIO(data[:6]))
        if kind != "plain":
            return 1, f"{kind} data that Spark did not unpack: it goes by the name (.gz, .bz2, .zst), and reads no xz"
    try:
        for _ in encode([Block("", lines_before + 1, data)], Vocabulary.of([]), rules):
            pass
    except TextError as error:
        _, line, message = str(error).split(":", 2)
        return int(line), message.strip()
    return _NONE, ""
