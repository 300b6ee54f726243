"""How a model lies on a card: all its arrays one after the other in one buffer of 64-bit words.

A kernel then takes one array in the place of thirty, each of which costs ten microseconds a call. The buffer begins
with two words for each array of `CardArrays`, in their order: at which word it begins, and how many words it has.
Arrays of two dimensions are flat.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import cuda

from gapgram.kernels.tables.model_arrays import ModelArrays


class CardArrays(NamedTuple):
    """What kernels on the card read of `ModelArrays` in the fast layout; grams are uint32."""

    grams: Any
    contexts: Any
    places: Any
    parts: Any
    large_at: Any
    large_counts: Any
    class_of: Any
    discounts: Any
    row_values: Any
    given_class: Any
    edge_base: Any
    edge_to: Any
    edge_weight: Any
    start_base: Any
    starts: Any
    gate_table: Any


def packed(arrays: ModelArrays) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """The buffer of a model."""
    tables = arrays.tables
    each = CardArrays(
        tables.grams, tables.contexts, tables.places, tables.parts, tables.large_at, tables.large_counts,
        tables.class_of, arrays.discounts, arrays.row_values, arrays.given_class, arrays.edge_base, arrays.edge_to,
        arrays.edge_weight, arrays.start_base, arrays.starts, arrays.gate_table,
    )  # fmt: skip
    words = [_as_words(array) for array in each]
    sizes = [array.size for array in words]
    begins = 2 * len(each) + np.cumsum([0, *sizes[:-1]])
    head = np.column_stack([begins, sizes]).astype(np.uint64).ravel()
    return np.concatenate([head, *words])


def _as_words(array: np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.uint64]]:
    flat = np.ascontiguousarray(array).reshape(-1)
    if flat.itemsize == 4 and flat.size % 2:
        flat = np.append(flat, flat.dtype.type(0))
    return flat.view(np.uint64)


@cuda.jit(device=True, inline="always")
def _words_of(buffer, k):
    begin = np.int64(buffer[2 * k])
    return buffer[begin : begin + np.int64(buffer[2 * k + 1])]


@cuda.jit(device=True, inline="always")
def arrays_of(buffer):
    """The arrays in a buffer."""
    return CardArrays(
        _words_of(buffer, 0).view(np.uint32),
        _words_of(buffer, 1).view(np.int64),
        _words_of(buffer, 2).view(np.int64),
        _words_of(buffer, 3).view(np.int64),
        _words_of(buffer, 4).view(np.int64),
        _words_of(buffer, 5).view(np.int64),
        _words_of(buffer, 6).view(np.int32),
        _words_of(buffer, 7).view(np.float64),
        _words_of(buffer, 8).view(np.float64),
        _words_of(buffer, 9).view(np.float64),
        _words_of(buffer, 10).view(np.int64),
        _words_of(buffer, 11).view(np.int64),
        _words_of(buffer, 12).view(np.float64),
        _words_of(buffer, 13).view(np.int64),
        _words_of(buffer, 14).view(np.int64),
        _words_of(buffer, 15).view(np.float64),
    )
