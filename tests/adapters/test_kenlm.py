"""The drop-in for KenLM's Python module, beside KenLM itself where it is installed."""

from __future__ import annotations

import copy
import heapq
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.corpora import toy_text

from gapgram import Model, kenlm
from gapgram.models.arpa.writing import write_arpa
from gapgram.models.mixture import Mixture

pytestmark = pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning")
SENTENCES = [*toy_text(100, seed=22, vocabulary=900), "", "w1", "zzz", "w1 zzz w2 w3", "w1 </s> w2"]


def test_it_answers_as_kenlm_does(made: dict[str, Model], tmp_path: Path) -> None:
    real = pytest.importorskip("kenlm", reason="KenLM's Python module is not installed")
    write_arpa(made["mkn"], tmp_path / "m.arpa")
    theirs = real.Model(str(tmp_path / "m.arpa"))
    for ours in (kenlm.Model(str(made["mkn"].path)), kenlm.LanguageModel(tmp_path / "m.arpa")):
        assert ours.order == theirs.order
        for word in ("w1", "zzz", "<s>", "</s>", "<unk>"):
            assert (word in ours) == (word in theirs)
        for sentence in SENTENCES:
            for bos, eos in ((True, True), (True, False), (False, True), (False, False)):
                found = list(ours.full_scores(sentence, bos=bos, eos=eos))
                expected = list(theirs.full_scores(sentence, bos=bos, eos=eos))
                assert [f[1:] for f in found] == [e[1:] for e in expected]
                assert [*map(type, found)] == [*map(type, expected)]
                assert [f[0] for f in found] == pytest.approx([e[0] for e in expected], abs=2e-6)
            assert ours.perplexity(sentence) == pytest.approx(theirs.perplexity(sentence), rel=1e-5)
    assert theirs.path == ours.path


NULS = ["w1 \0 w2 w3", "w1 w2\0 w3", "w1\0x w2", "\0w1 w2", "w1\0"]


@pytest.mark.parametrize("sentence", NULS)
def test_a_nul_ends_what_is_read_as_strings_of_c_do(made: dict[str, Model], sentence: str) -> None:
    model, first = kenlm.Model(made["mkn"]), sentence.partition("\0")[0]
    assert model.score(sentence) == model.score(first)
    assert model.score(sentence.encode()) == model.score(first)
    each = [word.partition("\0")[0] for word in sentence.split()]  # a word that is none is unknown
    found = list(model.full_scores(sentence))
    assert [oov for _, _, oov in found] == [word not in model for word in each] + [False]
    assert model.score(sentence, eos=False) == pytest.approx(sum(score for score, _, _ in found[:-1]))
    assert model.perplexity(sentence) == pytest.approx(10 ** (-model.score(first) / len(found)))
    assert "w1\0w2" in model
    assert model.BaseScore(kenlm.State(), "w1\0x", kenlm.State()) == model.BaseScore(kenlm.State(), "w1", kenlm.State())


def test_nul_as_kenlm_has_it(made: dict[str, Model], tmp_path: Path) -> None:
    real = pytest.importorskip("kenlm", reason="KenLM's Python module is not installed")
    write_arpa(made["mkn"], tmp_path / "m.arpa")
    ours, theirs = kenlm.Model(str(made["mkn"].path)), real.Model(str(tmp_path / "m.arpa"))
    for sentence in NULS:
        assert ours.score(sentence) == pytest.approx(theirs.score(sentence), abs=2e-6)
        assert ours.score(sentence, bos=False) == pytest.approx(theirs.score(sentence, bos=False), abs=2e-6)
        assert [f[1:] for f in ours.full_scores(sentence)] == [f[1:] for f in theirs.full_scores(sentence)]
        assert ours.perplexity(sentence) == pytest.approx(theirs.perplexity(sentence), rel=1e-5)


@pytest.mark.parametrize("name", ["mkn", "learned", "custom", "mixture"])
def test_a_null_state_equals_a_fresh_one(made: dict[str, Model], name: str) -> None:
    both = Mixture([made["mkn"], made["learned"]], [0.5, 0.5])
    model, state, fresh = kenlm.Model(both if name == "mixture" else made[name]), kenlm.State(), kenlm.State()
    model.NullContextWrite(state)
    assert state == fresh
    assert hash(state) == hash(fresh)
    assert not state < fresh
    assert model.BaseScore(state, "w1", kenlm.State()) == model.BaseScore(fresh, "w1", kenlm.State())
    model.BeginSentenceWrite(state)
    assert state != fresh


@pytest.mark.parametrize("name", ["mkn", "learned", "custom"])
def test_states_lead_to_the_scores_of_the_sentence(made: dict[str, Model], name: str) -> None:
    model = kenlm.Model(made[name])
    for sentence in SENTENCES[:20]:
        for bos in (True, False):
            state, found = kenlm.State(), []
            (model.BeginSentenceWrite if bos else model.NullContextWrite)(state)
            for word in [*sentence.split(), "</s>"]:
                after = kenlm.State()
                full = model.BaseFullScore(state, word, after)
                assert full.log_prob == model.BaseScore(state, word, kenlm.State())
                found.append(tuple(full))
                assert repr(full) == f"FullScoreReturn({full.log_prob}, {full.ngram_length}, {full.oov})"  # KenLM's
                state = after
            assert found == list(model.full_scores(sentence, bos=bos))
            assert model.score(sentence, bos=bos) == pytest.approx(made[name].score(sentence, bos=bos))


def test_halves_of_characters_are_no_words(made: dict[str, Model]) -> None:
    assert made["mkn"].score("w1 \ud800") == kenlm.Model(made["mkn"]).score("w1 \ud800") == made["mkn"].score("w1 zzz")


def test_states_are_values(made: dict[str, Model]) -> None:
    model = kenlm.Model(made["mkn"])
    one, other, before = kenlm.State(), kenlm.State(), kenlm.State()
    model.BeginSentenceWrite(before)
    model.BaseScore(before, "w1", one)
    model.BaseScore(before, b"w1", other)
    assert one == other == copy.copy(one) == copy.deepcopy(one)
    assert len({one, other}) == 1
    assert one != before


def test_a_state_forgets_what_the_order_does_not_see(made: dict[str, Model]) -> None:
    model, states = kenlm.Model(made["mkn"]), []
    for first in ("w1", "w2"):
        state = kenlm.State()
        for word in [first, "w3", "w4", "w5"]:
            model.BaseScore(state, word, state)
        states.append(state)
    assert states[0] == states[1]


def test_a_mixture_is_a_model_too(made: dict[str, Model]) -> None:
    both = Mixture([made["mkn"], made["learned"]], [0.5, 0.5])
    found = list(kenlm.Model(both).full_scores("w1 w2 zzz"))
    assert [f[0] for f in found] == pytest.approx(both.scores("w1 w2 zzz").tolist())
    alone = [[f[1] for f in kenlm.Model(made[name]).full_scores("w1 w2 zzz")] for name in ("mkn", "learned")]
    assert [f[1] for f in found] == np.max(alone, axis=0).tolist()


@pytest.fixture(scope="module")
def arpa(made: dict[str, Model], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """lmplz, too, has log10 P(<s>) = 0."""
    path: Path = tmp_path_factory.mktemp("arpa") / "m.arpa"
    write_arpa(made["mkn"], path)
    path.write_text(path.read_text().replace("-99\t<s>", "0\t<s>"))
    return path


def scored(module: Any, model: Any, words: list[str], *, bos: bool = True) -> list[tuple[float, int, bool]]:
    """Words one after the other, with KenLM's module or ours."""
    state, found = module.State(), []
    (model.BeginSentenceWrite if bos else model.NullContextWrite)(state)
    for word in words:
        after = module.State()
        full = model.BaseFullScore(state, word, after)
        found.append((full.log_prob, full.ngram_length, full.oov))
        state = after
    return found


def test_the_start_of_a_sentence_may_be_a_word(made: dict[str, Model], arpa: Path) -> None:
    mixed = Mixture([made["mkn"], made["learned"]], [0.5, 0.5])
    for model in (kenlm.Model(made["mkn"]), kenlm.Model(made["learned"]), kenlm.Model(arpa), kenlm.Model(mixed)):
        state, after, begin = kenlm.State(), kenlm.State(), kenlm.State()
        model.NullContextWrite(state)
        model.BeginSentenceWrite(begin)
        assert model.BaseScore(state, "<s>", after) == pytest.approx(0.0, abs=1e-12)
        assert after == begin
        first, again = model.score("w1 w2", eos=False), model.score("w3", eos=True)
        start = scored(kenlm, model, ["w1", "w2", "<s>"])[-1]
        assert start[1:] == (1, False)
        assert start[0] <= 0
        assert model.score("w1 w2 <s> w3") == pytest.approx(first + start[0] + again)


def test_the_start_scores_as_with_kenlm(made: dict[str, Model], arpa: Path) -> None:
    real = pytest.importorskip("kenlm", reason="KenLM's Python module is not installed")
    theirs = real.Model(str(arpa))
    for ours in (kenlm.Model(made["mkn"]), kenlm.Model(arpa)):
        for sentence in ("<s>", "w1 <s> w2", "w1 w2 w3 <s> <s> w4", "zzz <s>", "w1 </s> <s> w2 </s>"):
            for bos in (True, False):
                found = scored(kenlm, ours, sentence.split(), bos=bos)
                expected = scored(real, theirs, sentence.split(), bos=bos)
                assert [f[1:] for f in found] == [e[1:] for e in expected]
                assert [f[0] for f in found] == pytest.approx([e[0] for e in expected], abs=2e-6)
                assert ours.score(sentence, bos=bos) == pytest.approx(theirs.score(sentence, bos=bos), abs=1e-5)
            assert ours.perplexity(sentence) == pytest.approx(theirs.perplexity(sentence), rel=1e-5)


ODD_SPACES = ["\u00a0", "\u3000", "\u2009", "\u2028", "\u0085", "\x1c", "\x1d", "\x1e", "\x1f"]


def test_sentences_are_split_at_the_white_space_of_ascii(made: dict[str, Model]) -> None:
    model = kenlm.Model(made["mkn"])
    for space in ODD_SPACES:
        assert [word[2] for word in model.full_scores(f"w1{space}w2", eos=False)] == [True]
        assert model.score(f"w1{space}w2") == model.score("zzz")
        assert model.score(f"w1{space}w2".encode()) == model.score("zzz")
    for space in " \t\n\r\v\f":
        assert model.score(f"{space}w1{space}{space}w2{space}") == model.score("w1 w2")


def test_settings_have_the_names_and_numbers_of_kenlm(made: dict[str, Model]) -> None:
    config = kenlm.Config()
    config.load_method, config.arpa_complain = 2, kenlm.ARPALoadComplain.NONE
    config.show_progress = False
    assert kenlm.Model(str(made["mkn"].path), config).order == kenlm.Model(path=made["mkn"], config=config).order
    with pytest.raises(TypeError, match=r"config: expected a kenlm.Config, found int"):
        kenlm.Model(made["mkn"], 3)  # type: ignore[arg-type]
    assert (kenlm.LoadMethod.LAZY, kenlm.LoadMethod.PARALLEL_READ, kenlm.ARPALoadComplain.EXPENSIVE) == (0, 4, 1)
    real = pytest.importorskip("kenlm", reason="KenLM's Python module is not installed")
    for ours, theirs in ((kenlm.LoadMethod, real.LoadMethod), (kenlm.ARPALoadComplain, real.ARPALoadComplain)):
        names = {name for name in dir(theirs) if name.isupper()}
        assert {name: getattr(ours, name) for name in names} == {name: getattr(theirs, name) for name in names}
    fresh, their_config = kenlm.Config(), real.Config()
    for name in ("load_method", "arpa_complain", "show_progress"):
        assert getattr(fresh, name) == getattr(their_config, name)


def test_states_have_an_order(made: dict[str, Model]) -> None:
    model = kenlm.Model(made["mkn"])
    states = []
    for words in ("", "w1", "w2", "w1 w2"):
        state = kenlm.State()
        for word in words.split():
            model.BaseScore(state, word, state)
        states.append(state)
    assert states[0] <= states[1] >= states[0]
    beam = [(0.0, state) for state in (*states, *reversed(states))]
    other = beam[::-1]
    assert sorted(beam) == sorted(other)
    assert heapq.nsmallest(2, beam) == sorted(beam)[:2]
    assert all((one < other) + (one > other) + (one == other) == 1 for one in states for other in states)
    with pytest.raises(TypeError):
        _ = states[0] < 3


def test_the_path_keeps_links(made: dict[str, Model], tmp_path: Path) -> None:
    real = made["mkn"].path
    assert real is not None
    (tmp_path / "lm.arpa").symlink_to(real)
    model = kenlm.Model(tmp_path / "lm.arpa")
    assert model.path == os.fsencode(tmp_path / "lm.arpa")
    assert repr(model) == "<Model from b'lm.arpa'>"
    model.path = b"elsewhere"
    assert model.path == b"elsewhere"


def test_a_model_is_pickled_by_its_path(made: dict[str, Model], arpa: Path) -> None:
    for model in (kenlm.Model(str(made["learned"].path)), kenlm.LanguageModel(arpa)):
        data = pickle.dumps(model)
        assert len(data) < 300
        again = pickle.loads(data)
        assert type(again) is type(model)
        assert again.score("w1 w2 zzz") == model.score("w1 w2 zzz")


def test_mistakes_are_the_errors_that_programs_expect(made: dict[str, Model], tmp_path: Path) -> None:
    (tmp_path / "odd").write_bytes(b"no model")
    for path in (tmp_path / "nothing", tmp_path / "odd", tmp_path):
        with pytest.raises(OSError, match=path.name):
            kenlm.Model(path)
    model: Any = kenlm.Model(made["mkn"])
    opener: Any = kenlm.Model
    state = kenlm.State()
    for wrong in (None, 7, ["w1"]):
        for call in (model.score, model.perplexity, lambda text: list(model.full_scores(text)), opener):
            with pytest.raises(TypeError, match="expected a"):
                call(wrong)
        with pytest.raises(TypeError):
            _ = wrong in model
        with pytest.raises(TypeError):
            model.BaseScore(state, wrong, state)
        with pytest.raises(TypeError, match=r"state: expected a kenlm.State"):
            model.BaseScore(wrong, "w1", state)
        with pytest.raises(TypeError, match=r"state: expected a kenlm.State"):
            model.BaseFullScore(state, "w1", wrong)


def test_small_manners(made: dict[str, Model]) -> None:
    model = kenlm.LanguageModel(made["mkn"])
    assert isinstance(model, kenlm.Model)
    assert kenlm.LanguageModel.__name__ == "LanguageModel"
    nothing = model.score("", False, False)
    assert nothing == 0.0
    assert isinstance(nothing, float)
    state = kenlm.State()
    assert state.__deepcopy__() == state
    assert pickle.loads(pickle.dumps(state)) == state
    model.BeginSentenceWrite(state)
    assert pickle.loads(pickle.dumps(state)) == state != kenlm.State()
    assert model.score(b"w1 \xff w2") == model.score("w1 zzz w2")
