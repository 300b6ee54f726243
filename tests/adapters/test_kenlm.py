"""The drop-in for KenLM's Python module, beside KenLM itself where it is installed."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pytest
from tests.support.corpora import toy_text

from gapgram import Model, kenlm
from gapgram.errors import UsageError
from gapgram.models.arpa import write_arpa
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
                assert [f[0] for f in found] == pytest.approx([e[0] for e in expected], abs=2e-6)
            assert ours.perplexity(sentence) == pytest.approx(theirs.perplexity(sentence), rel=1e-5)
    assert theirs.path == ours.path


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
                state = after
            assert found == list(model.full_scores(sentence, bos=bos))
            assert model.score(sentence, bos=bos) == pytest.approx(made[name].score(sentence, bos=bos))


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


def test_the_start_is_never_predicted(made: dict[str, Model]) -> None:
    with pytest.raises(UsageError, match="never predicted"):
        kenlm.Model(made["mkn"]).BaseScore(kenlm.State(), "<s>", kenlm.State())
