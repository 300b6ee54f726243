"""Windows come out of few bytes as they went in, from any number of blobs in any order."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gapgram.kernels.counting import sorting, window_codec
from gapgram.kernels.text.special_words import END_ID, START_ID

WORD = st.one_of(st.just(0), st.integers(3, 9), st.sampled_from([127, 128, 16_383, 16_384, 2_097_152, 2**31 - 1]))


@given(st.lists(st.lists(WORD, min_size=1, max_size=6), min_size=1, max_size=5), st.integers(1, 7))
def test_windows_are_packed_without_loss(sentences: list[list[int]], order: int) -> None:
    ids = np.array([i for words in sentences for i in (START_ID, *words, END_ID)], np.int32)
    positions = np.argsort(ids, kind="stable").astype(np.int32)
    for first in np.unique(ids).tolist():
        own = positions[ids[positions] == first]
        out = np.empty(own.size * (order + 1) * window_codec.NUMBER_BYTES, np.uint8)
        blob = out[: window_codec.pack_windows(ids, own, 0, own.size, first, order, out)]
        counts = np.zeros(1, np.int64)
        window_codec.count_packed(blob, first, order, counts)
        windows = np.full((int(counts[0]), order + 1), -1, np.int32)
        window_codec.unpack_windows(blob, first, order, np.zeros(1, np.int64), windows)
        assert windows.tolist() == sorting.windows_at(ids, own, order).tolist()


def test_blobs_of_several_words_are_merged() -> None:
    ids = np.array([START_ID, 5, 300, 5, END_ID, START_ID, 300, 4, END_ID], np.int32)
    positions, starts = sorting.positions_by_word(ids, 301)
    halves = []
    for begin, end in ((starts[3], starts[5]), (starts[5], starts[301])):  # words 3 and 4; from 5 on
        out = np.empty(100, np.uint8)
        halves.append(out[: window_codec.pack_windows(ids, positions, begin, end, 3, 3, out)].copy())
    counts = np.zeros(298, np.int64)
    for blob in reversed(halves):
        window_codec.count_packed(blob, 3, 3, counts)
    assert {w + 3: int(counts[w]) for w in np.flatnonzero(counts)} == {4: 1, 5: 2, 300: 2}
    windows = np.full((5, 4), -1, np.int32)
    places = np.cumsum(counts) - counts
    for blob in reversed(halves):
        window_codec.unpack_windows(blob, 3, 3, places, windows)
    assert windows.tolist() == sorting.windows_at(ids, positions[starts[3] :], 3).tolist()
    assert sum(map(len, halves)) < windows.nbytes // 3
