"""Classes of small texts: found without each part of the text, and weights fitted on all of it."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.corpora import toy_text
from tests.support.limited import interrupt_at
from tests.support.made_models import trained

import gapgram
from gapgram import Lattice
from gapgram.classes.exchange import find_classes
from gapgram.counting.in_memory import TextInMemory, counts_in_memory
from gapgram.errors import UsageError
from gapgram.estimation.weights.sample import left_out, left_out_in_parts
from gapgram.system.memory import MemoryLimit
from gapgram.text.corpus import blocks_of_sentences, read_corpus, sentence_begins
from gapgram.training import choose_classes as choosing
from gapgram.training.choose_classes import CROSSWISE_POSITIONS, LEAST_POSITIONS, ClassSource, choose_classes
from gapgram.training.fitting_sample import PARTS, counts_without, find_crosswise, fitting_sample, parts_of

LATTICE = Lattice.full(3).with_classes("chain")
LINES = toy_text(3000, seed=5, vocabulary=300)
OPTIONS: dict[str, Any] = {"seed": 1, "memory": None, "folder": None, "threads": 1, "progress": False}


def text_of(lines: list[str]) -> TextInMemory:
    return TextInMemory(read_corpus(blocks_of_sentences(lines)), threads=1)


def test_parts_are_whole_sentences_and_make_up_the_text() -> None:
    ids = text_of(LINES[:23]).ids
    parts = parts_of(ids)
    assert len(parts) == PARTS
    for own, rest in parts:
        assert own.size + rest.size == ids.size
        assert own[0] == rest[0] == 1 and own[-1] == rest[-1] == 2
    assert sum(sentence_begins(own).size - 1 for own, _ in parts) == 23
    assert [own.size for own, _ in parts_of(ids[:0])] == [0] * PARTS


def test_classes_are_found_without_the_part_that_is_looked_up_in_them() -> None:
    text = text_of(LINES[:200])
    whole, crosswise = find_crosswise(text.ids, text, [4, 9], threads=1)
    n_words = text.word_counts.size
    assert [own.of_word.tolist() for own in whole] == [
        find_classes(text.ids, n_words, k, threads=1).of_word.tolist() for k in (4, 9)
    ]
    for classes, (own, rest) in zip(crosswise, parts_of(text.ids), strict=True):
        assert classes[1].of_word.tolist() == find_classes(rest, n_words, 9, later=own, threads=1).of_word.tolist()


def test_the_sample_is_that_of_all_parts(tmp_path: Path) -> None:
    text = text_of(LINES[:200])
    _, crosswise = find_crosswise(text.ids, text, [6], threads=1)
    parts = list(counts_without(text.ids, text, crosswise, LATTICE, threads=1))
    expected = [left_out(counts, own, seed=1, held_apart=True) for counts, own in parts]
    for folder in (None, tmp_path):
        found = left_out_in_parts(parts, LATTICE, text.ids.size, seed=1, folder=folder)
        for name in ("statistics", "features", "given"):
            joined = np.concatenate([getattr(one, name)[:] for one in expected])
            assert np.array_equal(getattr(found, name)[:], joined)
    assert found.source == expected[0].source


@pytest.mark.parametrize(
    ("n_lines", "source", "crosswise"),
    [(3000, ClassSource(k=5), True), (300, ClassSource(k=5), False), (3000, ClassSource(path=Path("classes")), False)],
)
def test_which_texts_are_fitted_crosswise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_lines: int, source: ClassSource, crosswise: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "classes").write_text("w1\ta\n")
    text = text_of(LINES[:n_lines])
    chosen = choose_classes([source], text, LATTICE, hold_apart=True, **OPTIONS)
    assert bool(chosen.crosswise) == crosswise == (source.path is None and text.positions >= LEAST_POSITIONS)
    assert text.positions < CROSSWISE_POSITIONS
    assert not choose_classes([source], text, LATTICE, hold_apart=False, **OPTIONS).crosswise


def test_larger_texts_are_fitted_to_some_of_their_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    text, lattice = text_of(LINES), Lattice.full(3).with_classes("chain", "chain")
    monkeypatch.setattr(choosing, "crosswise_parts", lambda *sizes: 2 if sizes == (text.positions, 2, 10) else 0)
    chosen = choose_classes([ClassSource(k=5), ClassSource(k=9)], text, lattice, hold_apart=True, **OPTIONS)
    assert chosen.held_apart is not None
    expected = find_crosswise(chosen.held_apart, text, [5, 9], threads=1)[1]
    found = [[own.of_word.tolist() for own in each] for each in chosen.crosswise]
    assert found == [[own.of_word.tolist() for own in each] for each in expected[:2]]
    counts = counts_in_memory(text, lattice, chosen.classes, threads=1)
    sample = fitting_sample(text, counts, chosen, None, seed=1, folder=None, threads=1)
    first, second = (own for own, _ in parts_of(chosen.held_apart)[:2])
    assert np.array_equal(np.sort(sample.words[:]), np.sort(np.concatenate([first, second])))


def test_too_little_memory_for_several_clusterings_is_told() -> None:
    text, lattice = text_of(LINES * 14), Lattice.full(3).with_classes("chain", "chain")
    assert text.positions >= CROSSWISE_POSITIONS
    options = {**OPTIONS, "memory": MemoryLimit(41 * text.positions, 1 << 40)}
    with pytest.raises(UsageError, match=r"fitting crosswise with several clusterings takes about .* or find one"):
        choose_classes([ClassSource(k=5), ClassSource(k=9)], text, lattice, hold_apart=True, **options)
    assert not choose_classes([ClassSource(k=2)], text, LATTICE, hold_apart=True, **options).crosswise


def test_classes_are_found_in_a_sample_of_the_size_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    module, sizes = import_module("gapgram.training.choose_classes"), list[int]()
    find = module.find_classes

    def found(ids: Any, *given: Any, **options: Any) -> Any:
        sizes.append(ids.size)
        return find(ids, *given, **options)

    monkeypatch.setattr(module, "find_classes", found)
    trained(LINES, order=2, classes=5, class_words=6000)
    assert 6000 <= sizes[0] < 6100
    with pytest.raises(UsageError, match="class words 0: expected 1 or more"):
        trained(LINES, order=2, classes=5, class_words=0)


def test_the_same_bytes_in_memory_through_files_and_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, output = tmp_path / "text", tmp_path / "model"
    path.write_text("\n".join(LINES[::-1]))
    trained(LINES, order=3, output=output)
    expected = output.read_bytes()
    assert len(gapgram.load(output).counts.class_names) > 10  # type: ignore[union-attr]
    options: dict[str, Any] = {"order": 3, "output": output, "memory": 1_500_000, "threads": 2}
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        interrupt_at(patch, "classes", "after")
        gapgram.train(path, **options)
    gapgram.train(path, resume=True, **options)
    assert output.read_bytes() == expected
