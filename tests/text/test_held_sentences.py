"""Sentences in memory as lines of text: those of a list are those of any other source."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gapgram.errors import UsageError
from gapgram.text.files import Block
from gapgram.text.held_sentences import blocks_of_sentences, pieces_of_sentences

ODD = st.text(st.characters(exclude_categories=[]) | st.sampled_from("\n a"), max_size=30)  # halves of pairs, too


def lines_of(blocks: list[Block]) -> list[bytes]:
    for i, block in enumerate(blocks):
        assert block.first_line == 1 + sum(other.data.count(b"\n") for other in blocks[:i])
    return b"".join(block.data for block in blocks).split(b"\n")


@given(st.lists(ODD), st.sampled_from([1, 20, 1 << 22]))
def test_lists_of_strings(sentences: list[str], block_bytes: int) -> None:
    blocks = list(blocks_of_sentences(sentences, block_bytes=block_bytes))
    assert lines_of(blocks)[:-1] == [s.replace("\n", " ").encode("utf-8", "surrogatepass") for s in sentences]
    assert lines_of(blocks) == lines_of(list(blocks_of_sentences(iter(sentences), block_bytes=block_bytes)))


@given(st.lists(st.text("ab ") | st.lists(st.sampled_from(["a", "b\u00e9"]))), st.sampled_from([1, 20, 1 << 22]))
def test_strings_and_lists_of_words(sentences: list[str | list[str]], block_bytes: int) -> None:
    blocks = list(blocks_of_sentences(sentences, block_bytes=block_bytes))
    assert lines_of(blocks)[:-1] == [(s if isinstance(s, str) else " ".join(s)).encode() for s in sentences]
    flags = [block.is_tokenised for block in blocks for _ in range(block.data.count(b"\n"))]
    assert flags == [not isinstance(s, str) for s in sentences]


def test_sentences_that_become_longer_and_shorter() -> None:
    sentences = ["a"] * 5000 + ["long " * 100] * 300 + ["b"] * 5000
    sizes = [len(block.data) for block in blocks_of_sentences(sentences, block_bytes=1000)]
    assert sum(size > 2000 for size in sizes) <= 1  # the first that holds long ones
    assert len(sizes) < 500


@given(
    st.lists(ODD | st.lists(st.sampled_from(["a", "b\u00e9"]))), st.sampled_from([1, 20, 1 << 22]), st.booleans()
)
def test_pieces_hold_all_sentences(sentences: list[str | list[str]], piece_bytes: int, as_list: bool) -> None:
    pieces = list(pieces_of_sentences(sentences if as_list else iter(sentences), piece_bytes))
    assert [sentence for piece in pieces for sentence in piece.sentences] == sentences
    first = 1
    for piece in pieces:
        assert piece.first == first
        first += len(piece.sentences)
    blocks = [block for piece in pieces for block in piece.blocks()]
    assert lines_of(blocks) == lines_of(list(blocks_of_sentences(sentences)))
    for piece in pieces:
        if all(isinstance(s, str) and "\n" not in s for s in piece.sentences):
            assert [piece.as_strings()] == list(piece.blocks())


def test_pieces_become_smaller() -> None:
    pieces = list(pieces_of_sentences(["a b c"] * 20_000, 1200))
    sizes = [len(piece.as_strings().data) for piece in pieces]
    assert sizes[0] == 1200
    assert sizes[-2] == 300
    assert sizes == sorted(sizes, reverse=True)


def test_pieces_of_sentences_that_become_longer() -> None:
    sentences = ["a"] * 5000 + ["long " * 100] * 300 + ["b"] * 5000
    sizes = [sum(map(len, piece.sentences)) for piece in pieces_of_sentences(sentences, 1000)]
    assert sum(size > 4000 for size in sizes) <= 1  # the first that holds long ones


def test_what_is_no_sentence_is_named_by_its_number() -> None:
    with pytest.raises(UsageError, match="sentence 4: expected a string or a list of words"):
        list(blocks_of_sentences(["a", "b", "c", 4], block_bytes=1))  # type: ignore[list-item]
