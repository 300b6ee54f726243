"""Training on documents: their weights are fitted without what was counted of them, and kept with the model."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.limited import interrupt_at, names
from tests.support.running import Ran

import gapgram
from gapgram import GapgramError, Model, TextRules
from gapgram.counting.in_memory import TextInMemory
from gapgram.kernels.text.special_words import SPECIAL
from gapgram.text.corpus import blocks_of_sentences, read_corpus
from gapgram.text.files import Block
from gapgram.training.documents import LineMarks, draw_documents, drawn_ranges

pytestmark = pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning")

OPTIONS: dict[str, Any] = {"order": 3, "classes": "none"}


def documents(seed: int, *, repeating: bool, n: int = 100) -> list[str]:
    """Documents of ten sentences, an empty line after each; repeating ones draw from seven words of their own."""
    draw, words, lines = random.Random(seed), [f"w{i}" for i in range(200)], []
    for _ in range(n):
        own = draw.sample(words, 7) if repeating else words
        lines += [" ".join(draw.choice(own) for _ in range(6)) for _ in range(10)]
        lines.append("")
    return lines


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Model:
    path = tmp_path_factory.mktemp("documents") / "model"
    return gapgram.train(sentences=documents(1, repeating=True), output=path, documents=True, **OPTIONS)


def test_weights_are_fitted_and_kept(trained: Model) -> None:
    session = gapgram.load(str(trained.path)).session()
    assert "|history:documents|" in session.signature
    unseen = documents(2, repeating=True, n=20)
    plain = gapgram.train(sentences=documents(1, repeating=True), **OPTIONS)
    assert plain.session().signature.endswith("|history:shipped|read:0")
    assert plain.perplexity(sentences=unseen).as_dict() == trained.perplexity(sentences=unseen).as_dict()
    fitted, shipped = (
        sum(
            model.session().perplexity(sentences=unseen[i : i + 11]).log10_prob for i in range(0, len(unseen), 11)
        )
        for model in (trained, plain)
    )
    assert fitted > shipped + 5.0


def test_without_documents_the_file_is_as_it_was(trained: Model, tmp_path: Path) -> None:
    plain = gapgram.train(sentences=documents(1, repeating=True), output=tmp_path / "plain", **OPTIONS)
    sections, metadata = plain.parts.contents()
    more, others = trained.parts.contents()
    assert {*more} - {*sections} == {"history_logits", "history_squares"}
    assert {*others} - {*metadata} == {"history"}
    assert all(np.array_equal(more[name], array) for name, array in sections.items())


def test_an_order_that_says_nothing_is_learned_to_be_ignored() -> None:
    # All words have the same chances, wherever they stand: the past of a document is of no use.
    model = gapgram.train(sentences=documents(3, repeating=False), documents=True, **OPTIONS)
    unseen = documents(4, repeating=False, n=30)
    static, learning = model.perplexity(sentences=unseen), model.session().perplexity(sentences=unseen)
    assert learning.perplexity < 1.03 * static.perplexity


def test_pruned_and_compact_models_keep_them(trained: Model, tmp_path: Path) -> None:
    small = trained.pruned(counts="0,0,1").with_layout("compact", output=tmp_path / "small")
    history, kept = trained.parts.history, small.parts.history
    assert history is not None
    assert kept is not None
    assert history.views == kept.views
    assert np.array_equal(history.logits, kept.logits)
    assert Model(trained.parts).quantised(4).parts.history is not None


@pytest.mark.parametrize("memory", [60_000, "1T"])
def test_the_same_file_whatever_the_memory(trained: Model, tmp_path: Path, memory: int | str) -> None:
    text, out = tmp_path / "text", tmp_path / "model"
    text.write_text("\n".join([*documents(1, repeating=True), ""]))
    gapgram.train(text, output=out, documents=True, memory=memory, **OPTIONS)
    assert trained.path is not None
    assert out.read_bytes() == trained.path.read_bytes()
    assert names(tmp_path) == {"text", "model"}


def test_a_run_that_stopped_goes_on(trained: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text, out = tmp_path / "text", tmp_path / "model"
    text.write_text("\n".join([*documents(1, repeating=True), ""]))
    with monkeypatch.context() as patched:
        interrupt_at(patched, "tables", "after")
        with pytest.raises(KeyboardInterrupt):
            gapgram.train(text, output=out, documents=True, memory=60_000, **OPTIONS)
    gapgram.train(text, output=out, documents=True, memory=60_000, resume=True, **OPTIONS)
    assert trained.path is not None
    assert out.read_bytes() == trained.path.read_bytes()


def test_spark_says_that_it_keeps_no_order(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("a b\n")
    with pytest.raises(GapgramError, match="Spark does not keep the order of lines; use the local engine"):
        gapgram.train(
            tmp_path / "text", output=tmp_path / "model", order=2, documents=True, spark=gapgram.SparkOptions()
        )


def test_empty_lines_are_one_thing() -> None:
    rules = TextRules(empty_lines="count")
    with pytest.raises(GapgramError, match="cannot count as sentences too"):
        gapgram.train(sentences=["a b", ""], order=2, rules=rules, documents=True)


def test_a_text_too_small_to_hold_anything_out_keeps_the_shipped_weights() -> None:
    model = gapgram.train(sentences=["a b c", "", "a c"] * 9, order=2, model="mkn", documents=True)
    assert "|history:shipped|" in model.session().signature


def test_the_command_says_that_a_text_is_too_small(cli: Callable[..., Ran], tmp_path: Path) -> None:
    (tmp_path / "text").write_text("a b c\n\na c\n" * 9)
    command = ["train", tmp_path / "text", "-o", tmp_path / "model", "-n", "2", "--model", "mkn"]
    said = "too little text to fit how sessions learn; they keep the weights that are shipped"
    assert said in cli(*command, "--documents").err
    assert said not in cli(*command).err


@pytest.mark.filterwarnings("always::gapgram.errors.DocumentWarning")
def test_a_text_of_one_document_is_noticed(cli: Callable[..., Ran], tmp_path: Path) -> None:
    (tmp_path / "text").write_text("a b c\na c\n" * 9)
    command = ["train", tmp_path / "text", "-o", tmp_path / "model", "-n", "2", "--model", "mkn", "--quiet"]
    said = "gapgram: warning: documents: no empty line in the text, so that all of it is one document; put one between"
    assert said in cli(*command, "--documents").err
    assert said not in cli(*command).err
    (tmp_path / "text").write_text("a b c\n\na c\n" * 9)
    assert said not in cli(*command, "--documents").err


# Where documents begin, and which are drawn.


def test_documents_begin_after_empty_lines_and_with_files() -> None:
    marks = LineMarks(TextRules())
    blocks = [Block("one", 1, b"a\nb\n\n \nc\n"), Block("one", 6, b"d\n"), Block("two", 1, b"e\n\nf\n")]
    assert list(marks.watch(blocks)) == blocks
    assert marks.begins.tolist() == [0, 2, 4, 5, 6]
    odd = LineMarks(TextRules())
    list(odd.watch([Block("text", 1, b"a\rb\r\n\r\nc\n"), Block("text", 4, b"\x0b\nd\n")]))
    assert odd.begins.tolist() == [0, 1, 2, 3]  # a carriage return is white space and ends no line
    skipping = LineMarks(TextRules(special="skip"))
    list(skipping.watch(blocks_of_sentences(["a", "<s> <unk>", "b"])))
    assert skipping.begins.tolist() == [0, 1, 2]


def test_long_documents_are_cut_and_some_text_is_left() -> None:
    one = drawn_ranges(np.full(1000, 10), np.array([0, 1000]), 500, seed=1)
    assert sum(last - first for first, last in one) == 50
    assert drawn_ranges(np.array([10, 10]), np.array([0, 1, 2]), 10**6, seed=1) in ([(0, 1)], [(1, 2)])


def test_the_rest_holds_nothing_of_what_was_drawn() -> None:
    lines = [line for i in range(60) for line in (*[f"own{i} a b own{i}"] * 25, "")]
    marks = LineMarks(TextRules())
    corpus = read_corpus(marks.watch(blocks_of_sentences(lines)))
    drawn = draw_documents(
        TextInMemory(corpus, threads=1, documents=marks.begins), (), seed=1, threads=1, folder=None
    )
    assert drawn is not None
    words = list(drawn.rest.vocabulary)
    n_held = sum(one.ids.size for one in drawn.documents)
    assert 0 < n_held <= 0.1 * corpus.ids.size + 25 * 6
    assert drawn.rest.positions == corpus.ids.size - n_held
    assert all(int(one.ids.max()) >= len(words) for one in drawn.documents)  # their own words are not in the rest
    assert drawn.rest.word_counts[len(SPECIAL) :].min() > 0
