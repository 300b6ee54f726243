"""Arrow batches as arrays and blocks of text, without a copy where it can be helped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gapgram.arrays import Bytes, Integers
from gapgram.text.files import Block


def bytes_of(array: pa.Array) -> tuple[Bytes, Integers]:
    """All bytes of a binary array, one value after the other, and where each begins, with a closing entry."""
    kind = np.int64 if pa.types.is_large_binary(array.type) else np.int32
    _, offsets, data = array.buffers()
    if not len(array):
        return np.empty(0, np.uint8), np.zeros(1, np.int64)
    begins = np.frombuffer(offsets, kind)[array.offset : array.offset + len(array) + 1].astype(np.int64)
    text = np.frombuffer(data or b"", np.uint8)[begins[0] : begins[-1]]
    return text, begins - begins[0]


def values_of(array: pa.Array) -> list[Bytes]:
    """Each value of a binary array."""
    data, begins = bytes_of(array)
    return [data[a:b] for a, b in zip(begins[:-1].tolist(), begins[1:].tolist(), strict=True)]


def blocks_of(batches: Iterable[pa.RecordBatch]) -> Iterator[Block]:
    """The lines of batches as blocks of text; their file and numbers are not known."""
    for batch in batches:
        text, _ = bytes_of(batch.column("line"))
        if text.size:
            yield Block("", 1, text.tobytes())


class LineSum:
    """The sum of the hashes of lines that pass, whatever their order: two readings of a text have the same."""

    def __init__(self) -> None:
        self.total = 0

    def over(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The same batches."""
        for batch in batches:
            hashes = batch.column("hash").to_numpy(zero_copy_only=False).view(np.uint64)
            self.total = (self.total + int(hashes.sum(dtype=np.uint64))) % (1 << 64)
            yield batch


def signed(number: int) -> int:
    """A sum as Spark keeps whole numbers: signed, of 64 bits."""
    return number - (1 << 64) if number >= 1 << 63 else number


def runs(batch: pa.RecordBatch, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The stretches of a batch in which these columns do not change."""
    n = batch.num_rows
    changes = np.zeros(max(n - 1, 0), bool)
    for name in columns:
        column = batch.column(name)
        changes |= pc.not_equal(column.slice(1), column.slice(0, max(n - 1, 0))).to_numpy(zero_copy_only=False)
    ends = [*(np.flatnonzero(changes) + 1).tolist(), n] if n else []
    for begin, end in zip([0, *ends], ends, strict=False):
        yield batch.slice(begin, end - begin)


def batch_of(schema: pa.Schema, *columns: Sequence[object] | Integers) -> pa.RecordBatch:
    """A batch of columns of values."""
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
