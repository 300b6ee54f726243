"""States: steps give the scores of whole sequences, equal states have equal futures, useless words are forgotten."""

from __future__ import annotations

import pickle
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from tests.support.corpora import toy_text
from tests.support.made_models import KINDS, trained

from gapgram import Model
from gapgram.errors import TextError, UsageError
from gapgram.kernels.probability.gate import word_bucket
from gapgram.kernels.probability.query import BLOCK, only_chains
from gapgram.kernels.probability.stepping import gate_word
from gapgram.models.arpa.reading import read_arpa
from gapgram.models.arpa.writing import write_arpa
from gapgram.models.mixture import Mixture
from gapgram.queries.language_model import LanguageModel
from gapgram.queries.states import BEAM, MANY, State
from gapgram.text.corpus import block_of_sentence

pytestmark = pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning")

SENTENCES = [s.split() for s in toy_text(60, seed=22, vocabulary=900)]
TOY = ["a b c d a b", "b c a", "c c d a b b", "d a c b", "a a b d c", "b d x", "a c d b a d y"]


@pytest.fixture(scope="session")
def kinds(made: dict[str, Model], tmp_path_factory: pytest.TempPathFactory) -> dict[str, LanguageModel]:
    """A model of each kind and estimator."""
    path: Path = tmp_path_factory.mktemp("kinds") / "m.arpa"
    write_arpa(made["mkn"], path)
    mixed = Mixture([made["mkn"], made["learned"]], [0.3, 0.7])
    others = {"compact": made["learned"].with_layout("compact"), "pruned": made["learned"].pruned(counts="0,0,1")}
    return {**made, **others, "arpa": read_arpa(path), "mixture": mixed}


ALL = [*KINDS, "compact", "pruned", "arpa", "mixture"]


def stepped(model: LanguageModel, state: State, words: list[str]) -> tuple[list[float], State]:
    """The scores of words one after the other, and the state after them."""
    found = []
    for word in words:
        score, state = model.extend(state, word)
        found.append(score)
    return found, state


@pytest.mark.parametrize("name", ALL)
def test_steps_give_the_bits_of_whole_sequences(kinds: dict[str, LanguageModel], name: str) -> None:
    model = kinds[name]
    for words in [*SENTENCES, ["zzz"], ["w1", "zzz", "zzz", "w2"], []]:
        assert stepped(model, model.begin_sentence(), [*words, "</s>"])[0] == model.scores(words).tolist()
        assert stepped(model, model.null_context(), words)[0] == model.scores(words, bos=False, eos=False).tolist()


def test_patterns_that_are_stored_for_others_do_not_slow_a_model_down() -> None:
    """Such as contiguous ones, which are always counted: predictions still fall back along chains, a step as a text."""
    model = trained(toy_text(60, seed=22, vocabulary=900), order=4, lattice="1,11,101,1101", weights="learned")
    n_edges, family = np.diff(model.parts.arrays.edge_base), model.counts.lattice.patterns
    assert [str(p) for p, n in zip(model.counts.lattice.stored, n_edges, strict=True) if n == 0] == ["1", "111", "1111"]
    assert len(family) == 4
    assert only_chains(model.parts.arrays.edge_base)
    for words in SENTENCES[:9]:
        assert stepped(model, model.begin_sentence(), [*words, "</s>"])[0] == model.scores(words).tolist()
    assert float(model.distribution(["w1", "w2"]).sum()) == pytest.approx(1)
    for word in ("w1", "w9", "</s>"):
        assert 10 ** model.log10_prob(word, ["w1", "w2"]) == pytest.approx(
            model.distribution(["w1", "w2"])[model.vocabulary.id(word)], rel=1e-12
        )


@pytest.mark.parametrize("name", ALL)
def test_a_beam_gives_the_bits_of_its_states_one_by_one(kinds: dict[str, LanguageModel], name: str) -> None:
    model, draw = kinds[name], Random(3)
    states = [stepped(model, model.begin_sentence(), words[: draw.randrange(8)])[1] for words in SENTENCES]
    states = [*states, model.null_context()] * 20
    words = [draw.choice(["w1", "w2", "w3", "w50", "zzz", "</s>"]) for _ in states]
    assert len(states) > MANY > BEAM
    expected = [model.extend(state, word) for state, word in zip(states, words, strict=True)]
    for threads in (1, 3):
        scores, after = model.extend_many(states, words, threads=threads)
        assert scores.tolist() == [score for score, _ in expected]
        assert after == [state for _, state in expected]
    ids = model.vocabulary.ids(words)
    for given in (ids, ids.tolist()):
        assert np.array_equal(model.extend_many(states, given)[0], scores)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("options", KINDS.values(), ids=KINDS)
def test_equal_states_have_equal_futures(options: dict[str, object], order: int) -> None:
    """Every context of up to `order` words of a toy text, with and without its beginning, under every continuation."""
    if "lattice" in options and order < 4:
        pytest.skip("the lattice is of order 4")
    model, words = trained(TOY, order=order, **options), ["a", "b", "c", "x", "y", "zzz"]
    contexts: list[list[str]] = [[]]
    for _ in range(order):
        contexts += [[*c, w] for c in contexts for w in words if len(c) == len(contexts[-1])]
    groups: dict[State, list[list[str]]] = {}
    for context in contexts:
        for first in ([], ["<s>"]):
            state = stepped(model, model.begin_sentence() if first else model.null_context(), context)[1]
            groups.setdefault(state, []).append([*first, *context])
    draw, n_merged = Random(1), 0
    for state, same in groups.items():
        further = [draw.choices(["a", "b", "d", "x", "zzz"], k=order) for _ in range(6)]
        expected = [stepped(model, state, [*one, "</s>"])[0] for one in further]
        for context in same if len(same) < 12 else draw.sample(same, 12):
            bos = context[:1] == ["<s>"]
            for one, scores in zip(further, expected, strict=True):
                assert model.scores([*context[bos:], *one], bos=bos)[len(context) - bos :].tolist() == scores
        # What differs within the words that the order lets a prediction see, and is equal all the same.
        n_merged += len({tuple(c[max(0, len(c) - order + 1) :]) for c in same}) - 1
    assert n_merged > 0 or order <= (1 if model.name == "mkn" else 2) or model._stepper.plan.gated


def test_words_that_no_context_was_seen_with_are_forgotten(made: dict[str, Model]) -> None:
    model = made["mkn"]
    far = [stepped(model, model.null_context(), ["w1", word, "zzz", "w7"])[1] for word in ("w1", "w2", "w3", "zzz")]
    assert set(far) == {stepped(model, model.null_context(), ["w7"])[1]}
    assert stepped(model, model.null_context(), ["zzz"])[1] == model.null_context()
    for name in ("uniform", "learned"):
        glm = made[name]
        begin = glm.begin_sentence()
        assert stepped(glm, begin, ["zzz", "w1", "w2", "w3"])[1] != stepped(glm, begin, ["w1", "w2"])[1]
        one, other = (stepped(glm, glm.null_context(), [word, "w1", "w2"])[1] for word in ("w1", "w2"))
        assert one != other


@pytest.mark.parametrize("name", KINDS)
def test_far_words_merge_where_they_were_not_seen(made: dict[str, Model], name: str) -> None:
    model = made[name]
    words = list(model.vocabulary)[3:]
    states = {stepped(model, model.null_context(), [word, "w1", "w2"])[1] for word in words}
    assert 1 < len(states) < len(words)


@pytest.mark.parametrize("name", ["mkn", "learned"])
def test_states_do_not_depend_on_the_layout(made: dict[str, Model], name: str) -> None:
    fast, compact = made[name], made[name].with_layout("compact")
    for words in SENTENCES:
        assert stepped(fast, fast.begin_sentence(), words) == stepped(compact, compact.begin_sentence(), words)


def test_states_are_small_values(made: dict[str, Model]) -> None:
    model = made["learned"]
    one, other = (stepped(model, model.begin_sentence(), ["w1", "w2"])[1] for _ in range(2))
    assert one == other == pickle.loads(pickle.dumps(one))
    assert hash(one) == hash(other)
    assert len({one, other, model.begin_sentence(), model.null_context()}) == 3
    assert len(one.key) == 4 * (1 + 3 + 7)  # available, the last three words' buckets, seven contexts
    with pytest.raises(AttributeError):
        one.key = b""  # type: ignore[misc]


def test_a_gate_cannot_tell_its_words_apart() -> None:
    for word in [*range(600), 1023, 1024, 1025, 279_000, 2**31 - 1]:
        assert word_bucket(gate_word(word)) == word_bucket(word)
        assert gate_word(gate_word(word)) == gate_word(word) <= word


@pytest.mark.parametrize("name", ["learned", "arpa"])
def test_mistakes(kinds: dict[str, LanguageModel], name: str) -> None:
    model = kinds[name]
    begin = model.begin_sentence()
    for word in ("<s>", 1):
        with pytest.raises(UsageError, match="<s> starts a sentence and is never predicted"):
            model.extend(begin, word)
        with pytest.raises(UsageError, match="<s> starts a sentence and is never predicted"):
            model.extend_many([begin], [word])
    with pytest.raises(UsageError, match="starts a sentence and is never predicted"):
        model.extend_many([begin], np.array([1], np.int32))
    last = len(model.vocabulary) - 1
    with pytest.raises(UsageError, match=f"word id {last + 1}: the vocabulary has ids 0 to {last}"):
        model.extend(begin, last + 1)
    with pytest.raises(UsageError, match="expected 0 to"):
        model.extend_many([begin], np.array([-1]))
    with pytest.raises(UsageError, match="1 states and 2 words: expected a word for each state"):
        model.extend_many([begin], ["w1", "w2"])


def test_a_state_of_another_model_is_refused(made: dict[str, Model]) -> None:
    with pytest.raises(UsageError, match="the state is that of another model"):
        made["mkn"].extend(made["learned"].begin_sentence(), "w1")
    with pytest.raises(UsageError, match="the state is that of another model"):
        made["mkn"].extend_many([made["mkn"].begin_sentence(), made["learned"].begin_sentence()], ["w1", "w1"])


@pytest.mark.parametrize("name", [*KINDS, "compact", "arpa"])
def test_one_sentence_has_the_bits_of_its_line(kinds: dict[str, LanguageModel], name: str) -> None:
    model = kinds[name]
    long = [word for words in SENTENCES for word in words]
    assert len(long) > BLOCK
    for words in [*SENTENCES[:20], [], ["zzz"], ["<unk>", "w1"], long]:
        for bos, eos in ((True, True), (True, False), (False, True), (False, False)):
            line = block_of_sentence(words)
            expected = model.score_block(line, bos=bos, eos=eos).sums[0]
            assert model.score(words, bos=bos, eos=eos) == model.score(" ".join(words), bos=bos, eos=eos) == expected
            assert model.line_score(line.data, bos, eos) == expected
    # Strings that kernels take as they lie, and those that they leave to Python: newlines, accents, long ones
    for text in ("w1 w2", "w1\nw2 w3", "w1\0w2 é w3", "w1 w2 " * 6000):
        expected = model.score_many([text])[0]
        one: Any = 1  # not only True and False
        assert model.score(text) == model.score(text, one, one) == expected
    with pytest.raises(TextError, match="the word </s> is the model's own"):
        model.score("w1 </s> w2")
    assert model.line_score(b"w1 <s> w2\n") is None


@pytest.mark.parametrize("name", ALL)
def test_scores_of_all_next_words(kinds: dict[str, LanguageModel], name: str) -> None:
    model = kinds[name]
    words = ["w1", "w2", "nothing", "w3"]
    states = [model.null_context(), model.begin_sentence()]
    for word in words:
        states.append(model.extend(states[-1], word)[1])
    contexts = [[], *(["<s>", *words[:i]] for i in range(len(words) + 1))]
    expected = np.array([model.distribution(context) for context in contexts])
    scores = model.next_scores(states)
    np.testing.assert_allclose(10.0**scores, expected, rtol=1e-6, atol=1e-15)
    assert np.isneginf(scores[:, 1]).all()
    asked, out = np.array([2, 5], np.int32), np.empty((len(states), 2), np.float32)
    assert model.next_scores(states, words=asked, out=out, base=2.0) is out
    np.testing.assert_allclose(2.0**out, expected[:, asked], rtol=1e-5)
    for options, said in (
        ({"words": np.array([1 << 20])}, "expected ids below"), ({"words": np.array([0.5])}, "expected ids"),
        ({"base": 1.0}, "expected a number above 1"), ({"out": np.empty((1, 1))}, r"out of shape \[1, 1\]"),
    ):  # fmt: skip
        with pytest.raises(UsageError, match=said):
            model.next_scores(states, **options)
