"""Patterns that are chosen for a text: those that pay in it, the same ones for every engine, within a budget."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.made_models import sorted_words

import gapgram
from gapgram import Lattice, Model
from gapgram.counting.in_memory import TextInMemory
from gapgram.errors import UsageError
from gapgram.estimation.weights.pattern_gain import mixed_in
from gapgram.system.work_folder import WorkFolder
from gapgram.text.corpus import blocks_of_sentences, read_corpus
from gapgram.training.choose_classes import ChosenClasses
from gapgram.training.choose_lattice import TextToChooseOn, choose_lattice, parse_budget, placeholder

pytestmark = pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning")


def text_that_skips(lines: int, *, distance: int, classes: int = 0, seed: int = 1) -> list[str]:
    """Sentences in which most words follow from the one so many places before; of classes, any word of a class."""
    draw, sentences, n = random.Random(seed), [], 40
    for _ in range(lines):
        words = [draw.randrange(n) for _ in range(distance)]
        while len(words) < 12:
            following = (7 * words[-distance] + 3) % n
            if classes:
                following = draw.randrange(n // classes) * classes + (words[-distance] + 1) % classes
            words.append(following if draw.random() < 0.7 else draw.randrange(n))
        sentences.append(" ".join(f"w{word}" for word in words))
    return sentences


SKIPPING = text_that_skips(800, distance=2)


@pytest.fixture(scope="module")
def chosen(tmp_path_factory: pytest.TempPathFactory) -> Model:
    """A model of a text in which words follow from the last but one."""
    path = tmp_path_factory.mktemp("chosen") / "model"
    return gapgram.train(sentences=SKIPPING, order=4, lattice="auto:6", output=path, threads=1)


def test_the_pattern_that_makes_the_text_is_chosen(chosen: Model) -> None:
    lattice = chosen.counts.lattice
    assert {"1", "11", "111", "1111", "101"} <= set(map(str, lattice.patterns))
    assert len(lattice.stored) <= 6
    far = gapgram.train(sentences=text_that_skips(800, distance=4), order=6, lattice="auto:12", threads=1)
    assert "10001" in map(str, far.counts.lattice.patterns)


def test_nothing_is_chosen_that_does_not_pay() -> None:
    model = gapgram.train(sentences=text_that_skips(800, distance=1), order=3, lattice="auto", threads=1)
    assert model.counts.lattice == Lattice.chain(3)
    tiny = gapgram.train(sentences=SKIPPING[:50], order=3, lattice="auto", threads=1)
    assert tiny.counts.lattice == Lattice.chain(3)


def test_a_clustering_is_chosen_where_its_classes_tell_more() -> None:
    by_class = text_that_skips(1600, distance=1, classes=4)
    model = gapgram.train(sentences=by_class, order=3, lattice="auto:8", classes=[2, 4], threads=1)
    assert {"2", "22", "222"} <= set(map(str, model.counts.lattice.patterns))
    assert model.counts.n_classes[0] == 4  # those of the two classes bring nothing more
    without = gapgram.train(sentences=SKIPPING, order=3, lattice="auto:4", classes=4, threads=1)
    assert not without.counts.class_names  # there is no room for the three tables of classes


def test_the_choice_does_not_depend_on_threads_order_of_lines_or_memory(chosen: Model, tmp_path: Path) -> None:
    assert chosen.path is not None
    text = tmp_path / "text"
    text.write_text("\n".join([*reversed(SKIPPING), ""]))
    others: list[dict[str, Any]] = [{"threads": 2}, {"threads": 1, "memory": 4 << 20}]
    for i, options in enumerate(others):
        again = gapgram.train(text, order=4, lattice="auto:6", output=tmp_path / f"model{i}", **options)
        assert again.path is not None
        assert again.path.read_bytes() == chosen.path.read_bytes()
    with pytest.raises(UsageError, match="choosing patterns takes about 3MiB of memory, and 1MiB are left"):
        gapgram.train(text, order=4, lattice="auto:6", output=tmp_path / "model", memory=1 << 20)


def test_the_laws_hold(chosen: Model) -> None:
    for context in ([], ["<s>"], ["<s>", "w1"], ["w3", "w5", "w1"], ["zzz", "w2", "w1"]):
        assert chosen.distribution(context).sum() == pytest.approx(1.0, abs=1e-9)
    pruned = chosen.pruned(counts="0,0,1")
    assert pruned.distribution(["w3", "w5"]).sum() == pytest.approx(1.0, abs=1e-9)
    line = SKIPPING[0]
    assert Model(chosen.parts.in_layout("compact")).score(line) == chosen.score(line)
    top = [(word.word, word.probability) for word in chosen.predict(["w3", "w5"], 3)]
    assert top == sorted_words(chosen, ["w3", "w5"])[:3]


def test_held_out_text_decides_where_it_is_given(tmp_path: Path) -> None:
    held_out = tmp_path / "held-out"
    held_out.write_text("\n".join([*text_that_skips(400, distance=2, seed=2), ""]))
    model = gapgram.train(sentences=SKIPPING, order=3, lattice="auto", held_out_texts=held_out, threads=1)
    assert "101" in map(str, model.counts.lattice.patterns)


def test_a_run_that_goes_on_keeps_its_choice(tmp_path: Path) -> None:
    text: Any = TextInMemory(read_corpus(blocks_of_sentences(SKIPPING)), threads=1)
    seen = TextToChooseOn(text, ChosenClasses(), order=3, seed=1, unseen=None, memory=None, threads=1)
    folder = WorkFolder.begin(tmp_path / "work", {})
    lattice, clusterings = choose_lattice(seen, 4, folder=folder)
    assert (str(lattice), clusterings.classes) == ("full 1 11 101 111", ())
    text = None  # which is not read again
    assert choose_lattice(replace(seen, text=text), 4, folder=folder)[0] == lattice
    folder.remove()


def test_a_budget_is_read() -> None:
    assert (parse_budget("auto", 5), parse_budget("AUTO", 16), parse_budget("auto:7", 5)) == (24, 32, 7)
    assert parse_budget("full", 5) is None
    for wrong in ("auto:", "auto:x", "auto:4", "auto:-8", "auto:2000"):
        with pytest.raises(UsageError, match="expected auto:N for N patterns at most, from 5, those without gaps"):
            parse_budget(wrong, 5)


def test_what_cannot_be_chosen_is_refused() -> None:
    with pytest.raises(UsageError, match="patterns are chosen for learned weights alone; name them"):
        gapgram.train(sentences=SKIPPING, lattice="auto", weights="counts")
    with pytest.raises(UsageError, match="a lattice of your own is for model glm"):
        gapgram.train(sentences=SKIPPING, lattice="auto", model="mkn")
    with pytest.raises(UsageError, match="patterns are yet to be chosen; give counts such as 0,0,1"):
        gapgram.train(sentences=SKIPPING, order=3, lattice="auto", prune="111=1")


def test_a_placeholder_has_as_many_tables_as_may_be_chosen() -> None:
    for order, budget in ((3, 4), (5, 9), (10, 24), (16, 32)):
        lattice = placeholder(order, budget)
        assert set(Lattice.chain(order).stored) <= set(lattice.stored)
        assert budget - order < len(lattice.stored) <= budget


def test_a_pattern_that_knows_nothing_gains_nothing() -> None:
    drawn = np.random.default_rng(1)
    probabilities, buckets = drawn.uniform(0.01, 0.2, 20_000), 3 * drawn.integers(1, 4, 20_000).astype(np.int32)
    longest = np.zeros(20_000, np.int64)
    worse = mixed_in(probabilities, probabilities * 0.5, buckets, longest)
    assert np.array_equal(worse, probabilities)
    better = mixed_in(probabilities, np.where(buckets == 3, 2.0, 0.5) * probabilities, buckets, longest)
    assert (better[buckets == 3] > 1.9 * probabilities[buckets == 3]).all()
