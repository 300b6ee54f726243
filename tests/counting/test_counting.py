"""Counting by sorting equals counting as the definitions say, whatever the bands, threads and order of lines."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from reference.counts import ReferenceCounts
from tests.support.corpora import corpus_of, longest, sentences, texts_and_lattices, toy_text

from gapgram import Counts, GapgramError, Lattice, Pattern
from gapgram.counting.in_memory import TextInMemory, count, sorted_by_word
from gapgram.counts.assemble import assemble
from gapgram.kernels.fitting import sample as fitting
from gapgram.kernels.probability.query import availability
from gapgram.kernels.tables.arrays import ROW_BITS, ROW_MASK

Text = list[list[str]]


@given(st.lists(st.integers(0, 4), max_size=30), st.integers(1, 5))
def test_positions_sorted_by_word_do_not_depend_on_how_many_sort_them(words: list[int], threads: int) -> None:
    ids = np.array(words, np.int32)
    positions, starts = sorted_by_word(ids, 5, threads, least_span=3)
    assert positions.tolist() == np.argsort(ids, kind="stable").tolist()
    assert starts.tolist() == [int((ids < word).sum()) for word in range(6)]


def counts_of(text: Text | list[str], lattice: Lattice) -> Counts:
    return count(corpus_of(text), lattice, threads=1)


def assert_equal_tables(one: Counts, other: Counts) -> None:
    arrays, other_arrays = one.contents()[0], other.contents()[0]
    for name, array in arrays.items():
        assert np.array_equal(array, other_arrays[name]), name


def written(pattern: Pattern, context: tuple[str, ...], word: str) -> tuple[str | None, ...]:
    """A gram of the reference with None for each gap, as `Counts` gives it."""
    kept = dict(zip(reversed(pattern.offsets), context, strict=True))
    return (*[kept.get(k) for k in range(pattern.reach, 0, -1)], word)


def assert_equals_reference(counts: Counts, reference: ReferenceCounts) -> None:
    # The patterns that are stored only as contexts of others are counted by the same rule.
    for pattern in counts.lattice.stored:
        assert dict(counts.all_grams(pattern)) == {
            written(pattern, *gram): n for gram, n in reference.counts[pattern].items()
        }
        assert counts.size(pattern) == len(reference.counts[pattern])
        assert counts.counts_of_counts(pattern) == reference.counts_of_counts(pattern)
        assert_equal_contexts(counts, reference, pattern)


def assert_equal_contexts(counts: Counts, reference: ReferenceCounts, pattern: Pattern) -> None:
    """The row of every context holds its total, N1, N2, N3+, nothing missing; contexts are the grams of the tail."""
    if not pattern.mask:
        return
    contexts, rows, tail = counts.contexts(pattern), counts.rows(pattern), pattern.tail
    for i in range(len(counts.grams(tail))):
        context = tuple(w for w in counts.words_of(tail, i) if w is not None)
        row = rows[contexts[i] & ROW_MASK]
        assert row.tolist() == [reference.total(pattern, context), *reference.types(pattern, context), 0]
    ends = contexts >> ROW_BITS
    assert (ends[0], ends[-1]) == (0, counts.size(pattern))


def stored_lattice(lattice: Lattice) -> Lattice:
    return Lattice(lattice.order, lattice.stored)


@settings(max_examples=120)
@given(texts_and_lattices(max_order=8))
@example(([["a"] * 9] * 3, Lattice.full(8)))
@example(([["a", "b"] * 4, ["b", "a"] * 4], Lattice.full(8)))
@example(([["a", "b"]], Lattice.full(4)))  # the order is the length of the sentence with <s> and </s>
@example(([["a"], ["b"]], Lattice.full(1)))
def test_kernels_equal_the_reference(case: tuple[Text, Lattice]) -> None:
    text, lattice = case
    assert_equals_reference(counts_of(text, lattice), ReferenceCounts(text, stored_lattice(lattice)))


@given(sentences(), st.integers(2, 4))
def test_unknown_words_are_counted_as_one_word(text: Text, least: int) -> None:
    lattice = Lattice.full(min(4, longest(text)))
    corpus = corpus_of(text, min_count=least)
    known = set(corpus.vocabulary)
    replaced = [[w if w in known else "<unk>" for w in sentence] for sentence in text]
    assert_equals_reference(count(corpus, lattice, threads=1), ReferenceCounts(replaced, lattice))


@given(texts_and_lattices(max_order=6), st.integers(1, 7))
def test_neither_threads_nor_bands_change_a_bit(case: tuple[Text, Lattice], threads: int) -> None:
    text, lattice = case
    one_band = counts_of(text, lattice)
    many = count(corpus_of(text), lattice, threads=threads, band_positions=3)
    assert_equal_tables(one_band, many)


def test_neither_threads_nor_bands_change_a_bit_of_a_larger_text() -> None:
    text, lattice = toy_text(3000, vocabulary=900), Lattice.full(5)
    one_band = count(corpus_of(text), lattice, threads=1)
    for threads in (1, 2, 9):
        many = count(corpus_of(text), lattice, threads=threads, band_positions=3)
        assert_equal_tables(one_band, many)


@pytest.mark.parametrize("threads", [1, 3])
def test_memory_of_pieces_is_given_back_while_large_tables_are_filled(
    monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    text = TextInMemory(corpus_of(toy_text(200)), threads=threads, band_positions=30)
    lattice, trims = Lattice.full(4), list[int]()
    monkeypatch.setattr("gapgram.counts.assemble.trim", lambda: trims.append(1))

    def put_together(worth_bytes: int) -> list[bytes]:
        pieces = text.tables(lattice, ()).pieces
        held = {pattern: list(pieces(pattern)) for pattern in lattice.stored}
        tables = assemble(lattice.stored, held, threads=threads, worth_bytes=worth_bytes)
        return [array.tobytes() for array in tables if array is not None]

    without = put_together(1 << 40)
    assert not trims
    assert put_together(1) == without
    assert 2 < len(trims) <= 8


@given(texts_and_lattices(max_order=5), st.randoms(use_true_random=False))
def test_the_order_of_lines_does_not_matter(case: tuple[Text, Lattice], chance: random.Random) -> None:
    text, lattice = case
    shuffled = list(text)
    chance.shuffle(shuffled)
    assert_equal_tables(counts_of(text, lattice), counts_of(shuffled, lattice))


@given(sentences(), st.integers(2, 5))
def test_unique_from_is_the_shortest_gram_that_occurs_nowhere_else(text: Text, order: int) -> None:
    order = min(order, longest(text))
    corpus = corpus_of(text)
    counts = count(corpus, Lattice.full(order), threads=1)
    available = availability(corpus.ids, np.append(np.flatnonzero(corpus.ids == 1), corpus.ids.size), order)
    statistics = fitting.statistics_of(corpus.ids, available, counts.tables)
    chain = np.array([counts.index(Pattern.contiguous(k)) for k in range(order)])
    found = fitting.unique_from(statistics, available, chain)
    stream = "".join(chr(200 + i) for i in corpus.ids)
    for t, shortest in enumerate(found.tolist()):
        reach = t - stream.rfind(chr(201), 0, t + 1)  # the distance back to <s>
        grams = (stream[t - m : t + 1] for m in range(min(reach, order - 1) + 1))
        unique = [m for m, gram in enumerate(grams) if occurrences(stream, gram) == 1]
        if reach:  # <s> is never predicted
            assert shortest == (min(unique) if unique else 255)


def occurrences(stream: str, gram: str) -> int:
    return sum(stream.startswith(gram, i) for i in range(len(stream)))


def test_most_frequent_grams() -> None:
    # "the" "cat" thrice after <s>; the bigram counts below the top are of different words to the left.
    counts = counts_of(["the cat sat", "the cat ran", "the cat sat", "a cat sat"], Lattice.full(3))
    assert counts.most_frequent(Pattern.parse("111"), 2) == [(("<s>", "the", "cat"), 3), (("cat", "sat", "</s>"), 3)]
    assert counts.most_frequent(Pattern.parse("101"), 1) == [(("<s>", None, "cat"), 2)]  # filled by the, a
    # </s> follows sat and ran, cat follows the and a; </s> has the smaller id.
    assert counts.most_frequent(Pattern.of(), 2) == [(("</s>",), 2), (("cat",), 2)]
    assert len(counts.most_frequent(Pattern.of(), 99)) == counts.size(Pattern.of()) == 6
    assert counts.most_frequent(Pattern.of(1), 0) == []


def test_the_most_frequent_are_those_that_sorting_gives() -> None:
    counts = counts_of(toy_text(200), Lattice.full(4))
    for pattern in counts.lattice.stored:
        best = sorted((-n for _, n in counts.all_grams(pattern)))[:15]
        assert [-n for _, n in counts.most_frequent(pattern, 15)] == best


def test_counts_of_counts_reach_as_far_as_asked() -> None:
    counts = counts_of(["a a a a a b"], Lattice.chain(1))  # a five times, b once, </s> once
    assert counts.counts_of_counts(Pattern.of(), 6) == (2, 0, 0, 0, 1, 0)


def test_a_pattern_that_was_not_counted() -> None:
    counts = counts_of(["a b c"], Lattice.chain(3))
    with pytest.raises(GapgramError, match="pattern 101 was not counted: there are 1 11 111"):
        counts.counts_of_counts(Pattern.parse("101"))


def test_counts_saved_and_opened_are_the_same(tmp_path: Path) -> None:
    counts = counts_of(toy_text(100), Lattice.parse("1,11,1011,10001", order=5))
    counts.save(tmp_path / "c")
    opened = Counts.open(tmp_path / "c")
    assert_equal_tables(counts, opened)
    assert (opened.lattice, opened.text) == (counts.lattice, counts.text)
    assert list(opened.vocabulary) == list(counts.vocabulary)
    assert opened.most_frequent(Pattern.parse("1011")) == counts.most_frequent(Pattern.parse("1011"))


def test_an_order_larger_than_any_sentence() -> None:
    message = "order 6 is larger than any sentence: the longest has 3 words, which allow order 5 at most"
    with pytest.raises(GapgramError, match=message):
        counts_of(["a b c", "a b"], Lattice.chain(6))
    assert counts_of(["a b c", "a b"], Lattice.chain(5)).size(Pattern.contiguous(4)) == 1


@pytest.mark.parametrize("threads", [0, -2])
def test_threads_that_make_no_sense(threads: int) -> None:
    with pytest.raises(GapgramError, match=f"threads {threads}: expected 1 or more"):
        count(corpus_of(["a b"]), Lattice.chain(2), threads=threads)
