"""Lines are cut into words, and words found, wherever they lie in the chunks of bytes that are looked at together."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.sample_kernels import Samples

from gapgram.kernels.text.cut_words import hash_word
from gapgram.kernels.text.words import ALLOW_UNKNOWN, DONE, encode_lines, find_word
from gapgram.text.vocabulary import Vocabulary

SIZES = [1, 2, 7, 8, 9, 15, 16, 17, 40, 63, 64, 65, 127, 128, 129, 300]
WORDS = sorted({bytes(97 + (size + i + k) % 26 for i in range(size)) for size in SIZES for k in range(3)})
VOCABULARY = Vocabulary.of(WORDS)
WHITE = re.compile(rb"[ \t\v\f\r]+")


def expected_ids(text: bytes) -> list[int]:
    """The ids of all lines, by a dictionary."""
    number = {word: i for i, word in enumerate(WORDS, 3)}
    lines = [[number.get(word, 0) for word in WHITE.split(line) if word] for line in text.split(b"\n")[:-1]]
    return [i for ids in lines if ids for i in (1, *ids, 2)]


def encoded(text: bytes) -> list[int]:
    """The same by the kernel."""
    taken = np.frombuffer(text, np.uint8)
    out = np.empty(2 * taken.size + 2, np.int32)
    arrays = VOCABULARY.slots, VOCABULARY.pool, VOCABULARY.offsets
    status, stopped, used, lines, _ = encode_lines(taken, ALLOW_UNKNOWN, False, *arrays, out)
    assert (status, stopped, lines) == (DONE, len(text), text.count(b"\n"))
    return [int(each) for each in out[:used]]


PIECES = st.one_of(
    st.sampled_from(WORDS),
    st.sampled_from([b" ", b"\n", b"\t", b"\v", b"\f", b"\r", b"  ", b"\n\n", b" \n", b"\x00", b"\x1c", "é".encode()]),
    st.binary(max_size=12).map(lambda some: some.replace(b"\n", b"")),
)


@given(st.lists(PIECES, max_size=60))
@settings(max_examples=300)
def test_any_text_is_cut_at_white_space_and_nowhere_else(pieces: list[bytes]) -> None:
    text = b"".join(pieces) + b"\n"
    assert encoded(text) == expected_ids(text)


@pytest.mark.parametrize("size", SIZES)
def test_a_word_is_found_wherever_it_begins(size: int) -> None:
    word = next(word for word in WORDS if len(word) == size)
    for before in range(130):
        for text in (b" " * before + word + b"\n", b"x" * before + b" " + word + b" y\n"):
            assert encoded(text) == expected_ids(text)


@pytest.mark.parametrize("n", [255, 256, 257, 320, 321, 1000])
def test_any_number_of_words_is_encoded(n: int) -> None:
    for text in (b"a " * n + b"\n", b"\n" * n + b"a\n", b"a\n" * n, WORDS[-1] + b" b" * n + b"\n"):
        assert encoded(text) == expected_ids(text)


def test_words_that_differ_in_their_last_byte_are_told_apart(samples: Samples) -> None:
    for word in WORDS:
        taken = np.frombuffer(word + b"\n", np.uint8)
        assert samples.hash_of_first(taken) == hash_word(taken, 0, len(word))
        arrays = VOCABULARY.slots, VOCABULARY.pool, VOCABULARY.offsets
        assert find_word(np.frombuffer(word, np.uint8), *arrays) == VOCABULARY.id(word.decode())
        assert encoded(word[:-1] + b"!\n") == [1, 0, 2]
