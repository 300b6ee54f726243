"""Counting on a card: the same lines with NumPy in the place of CuPy; on a card where there is one."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.corpora import sentences, toy_text
from tests.support.running import Ran

import gapgram
from gapgram.classes.exchange import Exchange, count_pairs, find_classes
from gapgram.counting.in_memory import TextInMemory, counts_in_memory
from gapgram.counts.assemble import assemble
from gapgram.cuda.card import find_sorter
from gapgram.cuda.classes import CardClasses, pairs_on_card
from gapgram.cuda.counting import CardText, TextCountedOnCard
from gapgram.errors import DeviceError, UsageError
from gapgram.lattice import Lattice
from gapgram.text.corpus import blocks_of_sentences, read_corpus

pytestmark = pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning")


@given(sentences(), st.sampled_from(["full", "chain", "1,11,101,1101"]), st.lists(st.integers(1, 8), max_size=3))
def test_the_tables_are_those_of_the_cpu_however_the_words_are_cut(
    text: list[list[str]], lattice: str, inner: list[int]
) -> None:
    corpus = read_corpus(blocks_of_sentences([*text, ["a", "b", "a", "c"]]))
    n, patterns = len(corpus.vocabulary), Lattice.parse(lattice, 4)
    theirs = counts_in_memory(TextInMemory(corpus, threads=1), patterns, (), threads=1).tables
    held = CardText.of(np, corpus.ids, n)
    cuts = sorted({0, n, *(cut for cut in inner if cut < n)})
    bands = [held.pieces(patterns, first, last) for first, last in pairwise(cuts)]
    ours = assemble(patterns.stored, {p: [band[p] for band in bands] for p in patterns.stored})
    for name, array in ours._asdict().items():
        assert np.array_equal(array, getattr(theirs, name)), name


@given(sentences())
def test_neighbours_are_those_of_the_cpu(text: list[list[str]]) -> None:
    ids = read_corpus(blocks_of_sentences(text)).ids
    n_words = int(ids.max()) + 1
    texts = ids, ids[:3]
    counted = [pairs_on_card(np, each, n_words) for each in texts], count_pairs(texts, n_words)
    for ours, theirs in zip(*counted, strict=True):
        assert [array.tolist() for array in ours] == [array.tolist() for array in theirs]


def test_statistics_that_are_too_large_to_be_packed_are_counted_the_same() -> None:
    corpus = read_corpus(blocks_of_sentences(["a b"] * 40_000 + ["a c", "b c", "c a b c"]))
    patterns = Lattice.full(3)
    theirs = counts_in_memory(TextInMemory(corpus, threads=1), patterns, (), threads=1).tables
    for free_bytes in (1 << 40, 30_000_000):  # in one piece, and in several
        text = TextCountedOnCard(corpus, np, free_bytes, threads=2)
        ours = counts_in_memory(text, patterns, (), threads=1).tables
        assert np.array_equal(ours.grams, theirs.grams)
        assert np.array_equal(ours.contexts, theirs.contexts)
        assert np.array_equal(ours.rows, theirs.rows)


def test_a_model_trained_on_a_card_is_that_of_the_cpu(tmp_path: Path) -> None:
    try:
        find_sorter()
    except DeviceError as missing:
        pytest.skip(str(missing))
    lines, classes = toy_text(400), tmp_path / "classes"
    classes.write_text("".join(f"w{i}\t{i % 4}\n" for i in range(1, 61)))
    ours, theirs = (
        gapgram.train(sentences=lines, order=4, classes=classes, device=device) for device in ("cuda", "cpu")
    )
    for name, array in ours.counts.tables._asdict().items():
        assert np.array_equal(array, getattr(theirs.counts.tables, name)), name
    assert ours.parts.weights.gate_table == pytest.approx(theirs.parts.weights.gate_table, abs=1e-9)
    assert ours.parts.discounts.values == pytest.approx(theirs.parts.discounts.values, abs=1e-9)


def test_classes_found_on_a_card_are_as_good_as_those_of_the_cpu_and_always_the_same() -> None:
    try:
        xp, _ = find_sorter()
    except DeviceError as missing:
        pytest.skip(str(missing))
    corpus = read_corpus(blocks_of_sentences(toy_text(3000, vocabulary=500)))
    n, engines = corpus.word_counts.size, (CardClasses(xp), CardClasses(xp), None)
    found = [find_classes(corpus.ids, n, 20, engine=engine).of_word for engine in engines]
    assert np.array_equal(found[0], found[1])
    pairs = count_pairs([corpus.ids], n)[0]
    ours, theirs = (Exchange(pairs, of_word.copy(), 20).objective for of_word in found[1:])
    assert ours > 1.001 * theirs  # both below 0


def test_without_the_package_a_sentence_says_so_and_auto_goes_on(
    cli: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gapgram.cuda.card.find_spec", lambda name: None)
    text = tmp_path / "text"
    text.write_text("\n".join(toy_text(50)))
    with pytest.raises(DeviceError, match="training needs the package CuPy, which is missing: pip install"):
        gapgram.train(text, device="cuda")
    command = ("train", str(text), "-n", "2", "--model", "mkn")
    insisted = cli(*command, "-o", str(tmp_path / "a"), "--device", "cuda")
    assert insisted.code == 2
    assert "CuPy, which is missing" in insisted.err
    assert not (tmp_path / "a").exists()
    wished = cli(*command, "-o", str(tmp_path / "b"), "--device", "auto")
    assert wished.code == 0
    assert "the CPU does the work" in wished.err
    cli(*command, "-o", str(tmp_path / "c"))
    assert (tmp_path / "b").read_bytes() == (tmp_path / "c").read_bytes()


def test_other_devices_and_other_engines_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="device 'tpu': expected cpu or cuda"):
        gapgram.train(sentences=["a b"], device="tpu")
