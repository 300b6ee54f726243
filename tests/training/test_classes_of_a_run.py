"""What a run is asked for, and what it makes of it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.corpora import toy_text

import gapgram
from gapgram import Lattice, TextRules
from gapgram.classes.exchange import automatic_k
from gapgram.training.choose_classes import EFFORTS, LEAST_POSITIONS, ClassSource, with_classes
from gapgram.training.task import TrainingTask

FULL = Lattice.full(3)
pytestmark = pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning")


def task_of(lattice: Lattice, classes: tuple[ClassSource, ...]) -> TrainingTask:
    others: dict[str, Any] = {"prune": None, "size": None, "threads": 1, "progress": False, "layout": "fast", "seed": 1}
    others["documents"] = False
    return TrainingTask(
        texts=None, sentences=[], held_out_texts=None, rules=TextRules(), model="glm", lattice=lattice,
        weights="learned", classes=classes, **others,
    )  # fmt: skip


def test_classes_are_the_default_where_the_text_is_large_enough() -> None:
    task = task_of(*with_classes(None, "full", 3, None, fitted=True))
    assert (task.lattice.name, task.classes) == ("full+chain", EFFORTS["default"])
    assert task.for_text_of(LEAST_POSITIONS) is task
    smaller = task.for_text_of(LEAST_POSITIONS - 1)
    assert (smaller.lattice, smaller.classes) == (FULL, ())
    assert not gapgram.train(sentences=toy_text(60), order=3).counts.class_names


def test_classes_that_are_asked_for_are_found_in_any_text() -> None:
    for asked in (5, "5"):
        task = task_of(*with_classes(FULL, "full", 3, asked, fitted=True))
        assert (task.lattice.name, task.classes) == ("full+chain", (ClassSource(k=5),))
        assert task.for_text_of(9) is task
    of_classes = FULL.with_classes("full")
    assert with_classes(of_classes, "full", 3, "auto", fitted=True) == (of_classes, (ClassSource(),))
    trained = gapgram.train(sentences=toy_text(200), order=3, lattice="full+full", classes="auto")
    assert 2 < len(trained.counts.class_names) - 3 < 60


def test_an_effort_chooses_clusterings() -> None:
    for effort, n_clusterings in {"fast": 0, "default": 1, "best": 5}.items():
        lattice, sources = with_classes(None, "full", 3, None, fitted=True, effort=effort)
        assert len(lattice.of_classes) == len(sources) == n_clusterings
        assert task_of(lattice, sources).for_text_of(LEAST_POSITIONS - 1).lattice == FULL
    lattice, sources = with_classes(None, "full", 5, None, fitted=True, effort="small")
    assert (lattice.name, lattice.order, sources) == ("chain+chain", 3, EFFORTS["small"])
    assert task_of(lattice, sources).for_text_of(LEAST_POSITIONS - 1).lattice.name == "chain"
    sizes = [automatic_k(1_000_000, source.share) for source in EFFORTS["best"]]
    assert sizes[0] == automatic_k(1_000_000) == 300 and len(set(sizes)) == len(sizes)
    assert automatic_k(9, 0.2) == 2
    lattice, sources = with_classes(FULL.with_classes("chain", "full"), "full", 3, None, fitted=True)
    assert lattice.name == "full+chain+full" and len(sources) == 2


def test_nothing_else_has_classes_unless_they_are_asked_for() -> None:
    assert with_classes(None, "full", 3, None, fitted=False) == (FULL, ())
    assert with_classes(FULL, "full", 3, None, fitted=True) == (FULL, ())
    assert with_classes(None, "full", 3, "none", fitted=True) == (FULL, ())
    assert with_classes(None, "chain", 3, None, fitted=False) == (Lattice.chain(3), ())
