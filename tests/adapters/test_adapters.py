"""The adapters with the packages they are for; each test is skipped where its package is not installed."""

from __future__ import annotations

import math
import sys
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from gapgram import Model, kenlm
from gapgram.errors import UsageError

pytestmark = [
    pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of the packages themselves
]
LABELS = [*"0123456789w ", ""]  # the last is CTC's blank


def logits(text: str) -> Any:
    """Per frame log probabilities of a text, each letter in a frame of its own with a blank after it."""
    frames = [i for letter in text for i in (LABELS.index(letter), len(LABELS) - 1)]
    chances = np.full((len(frames), len(LABELS)), 1e-4)
    chances[np.arange(len(frames)), frames] = 1.0
    return np.log(chances / chances.sum(axis=1, keepdims=True))


def doubtful(text: str, at: int, other: str) -> Any:
    """The same where the letter at a place might as well be another."""
    scores = logits(text)
    scores[2 * at, LABELS.index(other)] = scores[2 * at].max()
    return scores


class TestFlashlight:
    """torchaudio's CTCDecoderLM and its state are flashlight's LM and LMState; its decoder is flashlight's."""

    @pytest.fixture(autouse=True)
    def package(self) -> None:
        pytest.importorskip("flashlight.lib.text.decoder", reason="flashlight-text is not installed")

    def test_scores_and_states(self, made: dict[str, Model]) -> None:
        from gapgram.adapters.torchaudio import CTCWordModel

        words = ["w1", "w2", "w3"]
        lm = CTCWordModel(made["learned"], words)
        state, found = lm.start(False), []
        for i in (0, 2, 1):
            state, score = lm.score(state, i)
            found.append(score)
        found.append(lm.finish(state)[1])
        assert found == pytest.approx(made["learned"].scores("w1 w3 w2").tolist())
        nothing = lm.score(lm.start(True), 1)[1]
        assert nothing == pytest.approx(made["learned"].log10_prob("w2"))
        assert lm.score(lm.start(True), 99)[1] == pytest.approx(made["learned"].log10_prob("<unk>"))

    def test_several_decoders_stream_in_turn(self, made: dict[str, Model]) -> None:
        from gapgram.adapters.torchaudio import CTCWordModel

        lm = CTCWordModel(made["mkn"], ["w1", "w2", "w3"])
        one, other = lm.start(False), lm.start(False)
        found: list[list[float]] = [[], []]
        for i in (0, 2, 1):
            one, score = lm.score(one, i)
            found[0].append(score)
            other, score = lm.score(other, 2 - i)
            found[1].append(score)
            assert lm.score(lm.start(True), i)[1] == pytest.approx(made["mkn"].log10_prob(["w1", "w2", "w3"][i]))
        assert found[0] == pytest.approx(made["mkn"].scores("w1 w3 w2", eos=False).tolist())
        assert found[1] == pytest.approx(made["mkn"].scores("w3 w1 w2", eos=False).tolist())
        assert lm.finish(one)[1] == lm.finish(one)[1] == made["mkn"].scores("w1 w3 w2")[-1]

    def test_old_states_are_forgotten(self, made: dict[str, Model]) -> None:
        from gapgram.adapters.torchaudio import CTCWordModel

        lm = CTCWordModel(made["mkn"], ["w1"], most_states=100)
        first = lm.start(False)
        lm.score(first, 0)
        assert len(lm._shared) == 1
        assert lm.start(False) is not first
        assert len(lm._shared) == 0
        for _ in range(60):
            lm.score(lm.start(False), 0)
        assert len(lm._known) <= len(lm._keys) <= 102
        with pytest.raises(UsageError, match="one that was given too many states ago"):
            lm.score(first, 0)

    def test_one_decoder_is_given_states_again(self, made: dict[str, Model]) -> None:
        from gapgram.adapters.torchaudio import CTCWordModel

        lm = CTCWordModel(made["mkn"], ["w1", "w2", "w3"], one_decoder=True)
        held = lm.score(lm.start(False), 0)[0]
        given = set()
        for text in ((0, 2, 1), (2, 0, 1)):
            state, found = lm.start(False), []
            for i in text:
                given.add(id(state))
                state, score = lm.score(state, i)
                found.append(score)
            words = " ".join(f"w{i + 1}" for i in text)
            assert found == pytest.approx(made["mkn"].scores(words, eos=False).tolist())
            with pytest.raises(UsageError, match="a state that this model did not give"):
                lm.score(held, 0)
        state = lm.start(False)
        lm._next.clear()
        free = {id(one) for one in lm._free}
        assert given <= free
        assert id(held) not in free
        assert id(lm.score(state, 0)[0]) in free

    def test_in_flashlights_decoder(self, made: dict[str, Model]) -> None:
        from flashlight.lib.text import decoder as fl

        from gapgram.adapters.torchaudio import CTCWordModel

        model = made["learned"]
        words = ["w1", "w2", "w4", "w6", "w7", "w8"]
        scores = {word: model.score(f"w1 {word} w1") for word in words[1:]}
        best, worst = max(scores, key=scores.__getitem__), min(scores, key=scores.__getitem__)
        lm = CTCWordModel(model, words)
        silence, blank = LABELS.index(" "), len(LABELS) - 1
        trie = fl.Trie(len(LABELS), silence)
        start = lm.start(False)
        for i, word in enumerate(words):
            trie.insert([LABELS.index(c) for c in f"{word} "], i, lm.score(start, i)[1])
        trie.smear(fl.SmearingMode.MAX)
        options = fl.LexiconDecoderOptions(
            beam_size=50, beam_size_token=len(LABELS), beam_threshold=100, lm_weight=1.0, word_score=0.0,
            unk_score=-math.inf, sil_score=0.0, log_add=False, criterion_type=fl.CriterionType.CTC,
        )  # fmt: skip
        search = fl.LexiconDecoder(options, trie, lm, silence, blank, -1, [], False)
        emissions = doubtful(f"w1 {worst} w1 ", 4, best[1]).astype(np.float32)
        found = search.decode(emissions.ctypes.data, *emissions.shape)[0]
        assert [words[i] for i in found.words if i >= 0] == ["w1", best, "w1"]


class TestNltk:
    @pytest.fixture(autouse=True)
    def package(self) -> None:
        pytest.importorskip("nltk.lm", reason="NLTK is not installed")

    def test_the_interface(self, made: dict[str, Model]) -> None:
        from nltk.lm.preprocessing import pad_both_ends
        from nltk.util import ngrams

        from gapgram.adapters.nltk import NltkModel

        model = made["learned"]
        lm = NltkModel(str(model.path))
        assert lm.score("w2", ["w1"]) == pytest.approx(10 ** model.log10_prob("w2", "w1"))
        assert lm.logscore("w2") == pytest.approx(model.log10_prob("w2") * math.log2(10))
        assert lm.score("zzz", ["yyy"]) == lm.score("<unk>", ["<unk>"])
        assert "w1" in lm.vocab
        assert lm.vocab.lookup("zzz") == "<unk>"
        sentence = ["w1", "w2", "w3", "w4", "w5"]
        padded = list(pad_both_ends(sentence, n=lm.order))
        own = model.perplexity(sentences=[sentence]).perplexity
        assert lm.perplexity(ngrams(padded, lm.order)) == pytest.approx(own)
        assert lm.perplexity(ngrams(padded + padded, lm.order)) == pytest.approx(own)
        assert lm.score("<s>") == 0
        assert lm.score("</s>", ["w1", "</s>"]) == 1
        assert lm.score("w1", ["</s>"]) == 0

    @pytest.mark.parametrize("name", ["mkn", "learned"])
    def test_scores_of_the_vocabulary_sum_to_one(self, made: dict[str, Model], name: str) -> None:
        from gapgram.adapters.nltk import NltkModel

        lm = NltkModel(made[name])
        words = list(lm.vocab)
        assert words.count("<unk>") == 1
        assert len(lm.vocab) == len(words) == len(made[name].vocabulary)
        for context in ([], ["w1"], ["<s>"], ["w1", "</s>"]):
            assert sum(lm.score(word, context) for word in words) == pytest.approx(1)

    def test_a_context_is_made_of_words(self, made: dict[str, Model]) -> None:
        from gapgram.adapters.nltk import NltkModel

        with pytest.raises(TypeError, match="a context is a sequence of words, found None"):
            NltkModel(made["mkn"]).generate(text_seed=(None,))  # type: ignore[arg-type]
        assert NltkModel(made["mkn"]).generate(3, text_seed=["w1", "</s>"]) == ["</s>"] * 3

    def test_words_are_drawn_with_a_seed(self, made: dict[str, Model]) -> None:
        from gapgram.adapters.nltk import NltkModel

        lm = NltkModel(made["mkn"])
        drawn = lm.generate(5, text_seed=["<s>", "w1"], random_seed=3)
        assert drawn == lm.generate(5, text_seed=["<s>", "w1"], random_seed=3)
        assert len(drawn) == 5
        assert isinstance(lm.generate(random_seed=1), str)

    def test_it_is_not_trained(self, made: dict[str, Model]) -> None:
        from gapgram.adapters.nltk import NltkModel

        with pytest.raises(UsageError, match="never changed: train another"):
            NltkModel(made["mkn"]).fit([])
        with pytest.raises(UsageError, match=r"are in model.counts, by pattern"):
            NltkModel(made["mkn"]).context_counts(())


@pytest.mark.parametrize(
    ("module", "package", "command"),
    [
        ("torchaudio", "flashlight", "pip install .*flashlight"),
        ("nltk", "nltk", "pip install .*nltk"),
    ],
)
def test_a_package_that_is_not_there_is_named(
    monkeypatch: pytest.MonkeyPatch, module: str, package: str, command: str
) -> None:
    for name in [name for name in sys.modules if name == package or name.startswith(f"{package}.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, f"gapgram.adapters.{module}", raising=False)
    with pytest.raises(ImportError, match=command):
        import_module(f"gapgram.adapters.{module}")


def test_kenlm_models_may_be_shared(made: dict[str, Model]) -> None:
    assert kenlm.Model(made["mkn"]).score("w1 w2") == kenlm.Model(str(made["mkn"].path)).score("w1 w2")
