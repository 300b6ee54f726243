"""Predictions are the head of the sorted distribution, for every estimator, whatever is asked."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from tests.support.corpora import sentences, texts_and_lattices, toy_text
from tests.support.made_models import KINDS, sorted_words, trained

from gapgram import Model
from gapgram.cli.predict import command
from gapgram.errors import UsageError
from gapgram.kernels.topk import exact as topk

pytestmark = pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning")


def pairs(predictions: Any) -> list[tuple[str, float]]:
    return [(p.word, p.probability) for p in predictions]


def contexts_of(lines: list[str]) -> list[list[str]]:
    """Every beginning of every line, and every three words in a row."""
    words = [line.split() for line in lines]
    starts = [["<s>", *w[:i]] for w in words for i in range(len(w))]
    return starts + [w[i : i + 3] for w in words for i in range(len(w))]


@pytest.mark.parametrize("name", KINDS)
def test_predictions_are_the_head_of_the_sorted_distribution(made: dict[str, Model], name: str) -> None:
    """Some two thousand contexts of new text, words that the model does not know among them."""
    model = made[name]
    for i, context in enumerate(contexts_of(toy_text(130, seed=6, vocabulary=1000))):
        k = (1, 3, 10, 50)[i % 4]
        assert pairs(model.predict(context, k)) == sorted_words(model, context)[:k]


@pytest.mark.parametrize("name", KINDS)
def test_with_a_prefix_they_are_the_head_of_the_words_that_start_so(made: dict[str, Model], name: str) -> None:
    model = made[name]
    for i, context in enumerate(contexts_of(toy_text(20, seed=8, vocabulary=1000))):
        prefix = ("w", "w1", "w23", "w7")[i % 4]
        assert pairs(model.predict(context, 5, prefix=prefix)) == sorted_words(model, context, prefix=prefix)[:5]


@given(texts_and_lattices(), st.lists(st.sampled_from(["a", "b", "c", "ü", "zz"]), max_size=6), st.integers(1, 9))
def test_random_texts_and_lattices(case: Any, context: list[str], k: int) -> None:
    text, lattice = case
    model = trained(text, order=lattice.order, model="glm", lattice=lattice, weights="uniform")
    for special in (False, True):
        expected = sorted_words(model, context, special=special)
        assert pairs(model.predict(context, k, special=special)) == expected[:k]


@pytest.mark.parametrize("weights", ["counts", "learned"])
@given(sentences(), st.lists(st.sampled_from(["a", "b", "c", "ü", "zz"]), max_size=4))
def test_random_texts_with_weights(weights: str, text: Any, context: list[str]) -> None:
    model = trained(text, order=min(3, max(map(len, text)) + 2), model="glm", weights=weights)
    assert pairs(model.predict(context, 2)) == sorted_words(model, context)[:2]


def test_the_search_itself_answers_and_reads_few_words(made: dict[str, Model]) -> None:
    """The tests above would pass too if every word were looked at; ordinary contexts must not need that."""
    model = made["learned"]
    blocks = np.zeros(topk.n_blocks(model._arrays.tables.places), np.int64)
    for context in contexts_of(toy_text(20, seed=6, vocabulary=1000)):
        words, _, whole = topk.most_probable(model._context_ids(context), model._arrays, blocks, 3, False)
        assert whole
        assert 3 <= words.size < len(model.vocabulary) / 2


def test_a_search_for_more_words_than_it_may_find_says_so() -> None:
    lines = [f"w{i}" for i in range(3000)]
    model = trained(lines, order=2, model="mkn")
    assert pairs(model.predict([], 3)) == sorted_words(model, [])[:3]
    blocks = np.zeros(topk.n_blocks(model._arrays.tables.places), np.int64)
    assert not topk.most_probable(np.empty(0, np.int32), model._arrays, blocks, 3, False)[2]


def test_discounts_that_reorder_small_counts_do_not_hide_a_word() -> None:
    """2 - D2 = 0.1 is less than 1 - D1 = 0.9: a list whose largest count is 2 may hold a larger term."""
    discounts = np.array([[0.0, 0.1, 1.9, 2.95]])
    assert [topk._most(c, discounts, 0) for c in range(6)] == pytest.approx([0.0, 0.9, 0.9, 0.9, 1.05, 2.05])


def test_ties_go_to_the_smaller_id() -> None:
    model = trained(["x a", "x b", "x c"] * 4, order=2, model="mkn")
    assert [p.word for p in model.predict("x", 3)] == ["a", "b", "c"]


def test_mistakes_and_edges(made: dict[str, Model]) -> None:
    model = made["learned"]
    assert len(model.predict("w1 w2", k=10**9)) == len(model.vocabulary) - 3
    assert model.predict("w1 w2", prefix="nobody") == []
    assert model.predict([]) == model.predict("")
    assert model.predict("w9 w8 w7 w6 w1 w2 w3") == model.predict("w1 w2 w3")
    assert model.predict("zzz") == model.predict("<unk>")
    with pytest.raises(UsageError, match="k = 0: expected how many words to predict, 1 or more"):
        model.predict("w1", k=0)
    with pytest.raises(UsageError, match="<s> may stand first, </s> nowhere"):
        model.predict("w1 </s>")


def test_threads_share_what_a_model_remembers(made: dict[str, Model]) -> None:
    contexts = contexts_of(toy_text(60, seed=14, vocabulary=900))
    alone, shared = (Model.load(str(made["learned"].path)) for _ in range(2))
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(shared.predict, contexts)) == [alone.predict(context) for context in contexts]


def test_special_words_are_left_out_unless_asked_for(made: dict[str, Model]) -> None:
    model = made["mkn"]
    everything = {p.word for p in model.predict("w1", k=10**6, special=True)}
    assert everything - {p.word for p in model.predict("w1", k=10**6)} == {"<unk>", "</s>"}
    assert model.predict("w1", k=9, prefix="<") == []
    assert {p.word for p in model.predict("w1", k=9, prefix="<", special=True)} == {"<unk>", "</s>"}


def test_the_command(made: dict[str, Model]) -> None:
    path = str(made["learned"].path)
    out = CliRunner().invoke(command, [path, "w1 w2", "-k", "2", "--json"])
    found = json.loads(out.stdout)
    expected = sorted_words(made["learned"], "w1 w2")[:2]
    assert [(p["word"], p["probability"]) for p in found["predictions"]] == expected
    plain = CliRunner().invoke(command, [path, "w1", "zzz", "--prefix", "nobody"])
    assert plain.stdout == ""
    assert "not in the model's vocabulary: zzz\nno word of the model starts with 'nobody'" in plain.stderr


def test_the_interactive_mode(made: dict[str, Model]) -> None:
    typed = "w1 \nw1 w2\n\nw1 </s> \nnobody\n"
    out = CliRunner().invoke(command, [str(made["mkn"].path), "-i", "-k", "1"], input=typed)
    assert out.exit_code == 0
    asked = (["<s>", "w1"], ""), (["<s>", "w1"], "w2"), (["<s>"], "")
    best = [made["mkn"].predict(context, 1, prefix=prefix)[0].word for context, prefix in asked]
    shown = [line.split()[0] for line in out.stdout.splitlines() if re.match(r"w\d", line)]
    assert shown == best
    assert "no word of the model starts with 'nobody'" in out.stderr
