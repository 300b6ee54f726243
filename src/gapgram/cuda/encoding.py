"""Bytes to word ids on a card: text in, `<s> ids </s>` for every line out.

Every thread takes a piece of the text. First it counts the words and lines that begin and end there; from the running
sums of these it knows where its ids belong, and looks its words up.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import cuda

from gapgram.cuda.card import THREADS, for_card
from gapgram.kernels.text.cut_words import hash_word
from gapgram.kernels.text.special_words import END_ID, START_ID, UNKNOWN_ID
from gapgram.kernels.text.words import find_slot, refused

_PIECE = 64  # bytes that one thread takes
_LINE_SHIFT = np.int64(32)  # a sum holds the number of lines above the number of words
_WORDS = np.int64((1 << 32) - 1)
_NEWLINE = 10


class WordsOnCard(NamedTuple):
    """The table of words of a model (`kernels.text.words`) on the card."""

    slots: Any
    pool: Any
    offsets: Any


class EncodedOnCard(NamedTuple):
    """ids, and 1 where a line begins, of every position; where lines begin and the last ends. All on the card."""

    ids: Any
    starts_here: Any
    begins: Any


@cuda.jit(device=True)
def _is_space(byte):
    return byte == 32 or 9 <= byte <= 13


@cuda.jit(device=True)
def _begins_word(text, i):
    return not _is_space(text[i]) and (i == 0 or _is_space(text[i - 1]))


@cuda.jit
def _count(text, sums):
    piece = cuda.grid(1)
    if piece < sums.size:
        total = np.int64(0)
        for i in range(piece * _PIECE, min((piece + 1) * _PIECE, text.size)):
            if text[i] == _NEWLINE:
                total += np.int64(1) << _LINE_SHIFT
            elif _begins_word(text, i):
                total += 1
        sums[piece] = total


@cuda.jit
def _sum_blocks(values, totals):
    """In each block, make of every value the sum of those before it; totals: of whole blocks."""
    shared = cuda.shared.array(THREADS, np.int64)
    i, own = cuda.grid(1), cuda.threadIdx.x
    value = values[i] if i < values.size else np.int64(0)
    shared[own] = value
    cuda.syncthreads()
    distance = 1
    while distance < THREADS:
        before = shared[own - distance] if own >= distance else np.int64(0)
        cuda.syncthreads()
        shared[own] += before
        cuda.syncthreads()
        distance *= 2
    if i < values.size:
        values[i] = shared[own] - value
    if own == THREADS - 1:
        totals[cuda.blockIdx.x] = shared[own]


@cuda.jit
def _add_totals(values, totals):
    i = cuda.grid(1)
    if i < values.size:
        values[i] += totals[cuda.blockIdx.x]


def running_sums(values: Any) -> int:
    """Make of every value on the card the sum of those before it; returns the sum of all."""
    blocks = -(-values.size // THREADS)
    totals = cuda.device_array(blocks, np.int64)
    _sum_blocks[blocks, THREADS](values, totals)
    if blocks == 1:
        return int(totals.copy_to_host()[0])
    whole = running_sums(totals)
    _add_totals[blocks, THREADS](values, totals)
    return whole


@cache
def _encode() -> Any:
    find, hashed, is_refused = for_card(find_slot), for_card(hash_word), for_card(refused)

    @cuda.jit(device=True)
    def id_of(text, begin, slots, pool, offsets):
        """The id of the word that begins at a byte; -1 where the table has none."""
        end = begin
        while not _is_space(text[end]):
            end += 1
        slot = slots[find(text, begin, end, hashed(text, begin, end), slots, pool, offsets)]
        return slot & 0xFFFFFFFF if slot >= 0 else np.int64(-1)

    @cuda.jit
    def encode(text, sums, special, bos, eos, slots, pool, offsets, ids, starts_here, begins, refused_at):
        piece = cuda.grid(1)
        if piece >= sums.size:
            return
        words, lines = sums[piece] & _WORDS, sums[piece] >> _LINE_SHIFT
        if piece == 0 and bos:
            ids[0] = START_ID
        if piece == 0:
            begins[0] = 0
            starts_here[0] = 1
        for i in range(piece * _PIECE, min((piece + 1) * _PIECE, text.size)):
            at = words + lines * (bos + eos) + bos
            if text[i] == _NEWLINE:
                if eos:
                    ids[at] = END_ID
                lines += 1
                begin = words + lines * (bos + eos)
                begins[lines] = begin
                if begin < ids.size:
                    starts_here[begin] = 1
                    if bos:
                        ids[begin] = START_ID
            elif _begins_word(text, i):
                word = id_of(text, i, slots, pool, offsets)
                if is_refused(word, special):
                    cuda.atomic.min(refused_at, 0, i)
                ids[at] = max(word, UNKNOWN_ID)
                words += 1

    return encode


def encode_on_card(text: Any, vocabulary: WordsOnCard, special: int, *, bos: bool, eos: bool) -> EncodedOnCard | int:
    """The lines of a text that lies on the card; every line ends in a newline.

    The byte of the first word that may not be there, by the rule for special words, where there is one.
    """
    pieces = -(-text.size // _PIECE)
    blocks = -(-pieces // THREADS)
    sums = cuda.device_array(pieces, np.int64)
    _count[blocks, THREADS](text, sums)
    whole = running_sums(sums)
    n_lines, n_words = whole >> int(_LINE_SHIFT), whole & int(_WORDS)
    n_ids = n_words + n_lines * (bos + eos)
    ids, begins = cuda.device_array(n_ids, np.int32), cuda.device_array(n_lines + 1, np.int64)
    starts_here = cuda.to_device(np.zeros(max(n_ids, 1), np.uint8))
    refused_at = cuda.to_device(np.full(1, text.size, np.int64))
    _encode()[blocks, THREADS](
        text, sums, special, int(bos), int(eos), *vocabulary, ids, starts_here, begins, refused_at
    )
    stopped = int(refused_at.copy_to_host()[0])
    return stopped if stopped < text.size else EncodedOnCard(ids, starts_here, begins)


@cuda.jit
def sum_lines(scores, begins, sums):
    """The sum of the scores of each line, first to last; a thread a line."""
    line = cuda.grid(1)
    if line < sums.size:
        total = 0.0
        for t in range(begins[line], begins[line + 1]):
            total += scores[t]
        sums[line] = total
