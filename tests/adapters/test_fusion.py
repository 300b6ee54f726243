"""The place of a language model in NeMo's decoders and in transformers; tests are skipped without PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.support.corpora import toy_text
from tests.support.made_models import trained

import gapgram
from gapgram.errors import DeviceError, UsageError
from gapgram.models.arpa.writing import to_backoff

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of the packages themselves
    pytest.mark.filterwarnings("ignore:.*cupy"),
]


@pytest.fixture(scope="module", params=["mkn", "learned", "arpa", "mixture"])
def model(request: pytest.FixtureRequest) -> Any:
    mkn = trained(toy_text(60, seed=5), order=3, model="mkn")
    if request.param == "mixture":
        return gapgram.Mixture([mkn, trained(toy_text(60, seed=6), order=3, model="mkn")], [0.5, 0.5])
    if request.param == "arpa":
        return to_backoff(mkn)
    return mkn if request.param == "mkn" else trained(toy_text(60, seed=5), order=3, classes="none")


def fusion_of(model: Any, *more: str) -> Any:
    from gapgram.adapters.nemo import FusionModel

    return FusionModel(model, [*list(model.vocabulary)[3:], *more])


def test_a_decoder_that_goes_from_state_to_state_finds_the_scores_of_sentences(model: Any) -> None:
    fusion = fusion_of(model)
    lines = [line for line in toy_text(9, seed=11) if all(word in model for word in line.split())]
    for line in lines:
        states, total = fusion.get_init_states(1), 0.0
        for word in line.split():
            scores, after = fusion.advance(states)
            assert scores.dtype == torch.float32
            assert after.dtype == torch.int64
            total += float(scores[0, model.vocabulary.id(word) - 3])
            states = after[:, model.vocabulary.id(word) - 3]
        total += float(fusion.get_final(states))
        assert total == pytest.approx(model.score(line) * np.log(10), abs=1e-4)
    assert len(lines) > 4


def test_sentences_are_scored_up_to_their_lengths(model: Any) -> None:
    fusion = fusion_of(model)
    labels = torch.tensor([[1, 2, 3], [4, 5, 0], [6, 0, 0]])
    lengths = torch.tensor([3, 2, 0])
    scores = fusion(labels, lengths, eos=True)
    words = [[model.vocabulary[int(v) + 3] for v in row[:n]] for row, n in zip(labels, lengths, strict=True)]
    expected = [model.score(row) * np.log(10) for row in words]
    np.testing.assert_allclose(scores.sum(dim=1).numpy(), expected, atol=1e-4)
    assert scores[1, 3] == 0
    plain = fusion.score_sentences(labels[:1], bos=False)
    assert float(plain.sum()) == pytest.approx(model.score(words[0], bos=False, eos=False) * np.log(10), abs=1e-4)


def test_all_labels_and_the_end_have_probability_one_and_unknown_labels_share_theirs(model: Any) -> None:
    fusion = fusion_of(model, "qqq", "qqqq")
    states = torch.cat([fusion.get_init_states(1), fusion.get_init_states(1, bos=False)])
    scores, after = fusion.advance(states)
    total = scores.double().exp().sum(dim=1) + fusion.get_final(states).double().exp()
    np.testing.assert_allclose(total.numpy(), 1.0, atol=1e-5)
    assert torch.equal(scores[:, -1], scores[:, -2])
    unknown = model.log10_prob("qqq", ["<s>", "qqq"]) * np.log(10) - np.log(2)
    assert float(fusion.advance(after[:1, -1])[0][0, -1]) == pytest.approx(unknown, abs=1e-5)


def test_a_label_may_end_sentences_and_answers_are_written_where_asked(model: Any) -> None:
    fusion = fusion_of(model)
    states = fusion.get_init_states(2)
    scores, after = fusion.advance(states, eos_id=4)
    assert torch.equal(scores[:, 4], fusion.get_final(states))
    assert torch.equal(after[:, 4], states)
    out = torch.empty_like(scores), torch.empty_like(after)
    assert fusion.advance(states, eos_id=4, out=out)[0] is out[0]
    assert torch.equal(out[0], scores)
    assert torch.equal(out[1], after)
    assert torch.equal(fusion.get_final(states.view(2, 1)), fusion.get_final(states).view(2, 1))


def test_what_makes_no_sense_is_a_sentence() -> None:
    from gapgram.adapters.nemo import FusionModel

    model = trained(toy_text(60, seed=5), order=3, model="mkn")
    with pytest.raises(UsageError, match="no tokeniser whose tokens have ids: give the recogniser's labels"):
        FusionModel(model)
    with pytest.raises(UsageError, match=r"none of 2 labels \('qq', 'zz', …\) is a word of the model"):
        FusionModel(model, ["qq", "zz"])
    fusion = fusion_of(model)
    with pytest.raises(UsageError, match=r"expected \[state\], torch.int64"):
        fusion.advance(torch.zeros(2, 2, dtype=torch.int64))
    with pytest.raises(UsageError, match=r"expected \[state\], torch.int64"):
        fusion.advance(torch.zeros(2))
    with pytest.raises(UsageError, match="that of another model"):
        fusion.advance(torch.tensor([1 << 40]))
    with pytest.raises(UsageError, match="that of another model"):
        fusion.advance(torch.tensor([len(model.vocabulary) + 2]))
    with pytest.raises(UsageError, match="eos_id 900: expected the label that ends a sentence"):
        fusion.advance(fusion.get_init_states(1), eos_id=900)
    with pytest.raises(DeviceError, match="is no model that gapgram has trained, and stays on the CPU"):
        fusion_of(to_backoff(model)).to("cuda")
    if not torch.cuda.is_available():
        with pytest.raises(DeviceError, match="this PyTorch sees no card that works with CUDA"):
            fusion.to("cuda")


def test_states_that_do_not_fit_lie_in_a_table() -> None:
    from gapgram.adapters.nemo import LongStates

    model = trained(toy_text(60, seed=5), order=14, model="mkn")
    fusion = fusion_of(model)
    fusion._long = fusion._states = LongStates(fusion._words, model.order, rows=60)
    for line in [line for line in toy_text(9, seed=11) if all(word in model for word in line.split())]:
        states, total = fusion.get_init_states(2), 0.0
        for i, word in enumerate(line.split()):
            label = model.vocabulary.id(word) - 3
            assert torch.equal(fusion.advance(states, eos_id=0)[1][:, 0], states)
            total += float(fusion.advance(states)[0][1, label])
            after = fusion.advance(states)[1]
            states = after[:, label] if i % 2 else fusion.states_after(states, torch.tensor(label))
        total += float(fusion.get_final(states)[1])
        assert total == pytest.approx(model.score(line) * np.log(10), abs=1e-4)
    with torch.no_grad():
        assert fusion(torch.tensor([[1, 2, 3, 4], [4, 5, 0, 0]]), eos=True).shape == (2, 5)


def test_each_stream_learns_its_own_segments(model: Any) -> None:
    from gapgram.adapters.nemo import FusionModel

    labels = [*list(model.vocabulary)[3:], "qqq"]
    fusion = FusionModel(model, labels, streams=2)
    plain, states = fusion_of(model, "qqq"), torch.arange(4) * 7
    before, after = fusion.advance(states)
    assert torch.equal(before, plain.advance(states)[0])
    for line in toy_text(20, seed=3):
        fusion.learn(1, [labels.index(word) for word in line.split() if word in labels])
    learned, same = fusion.advance(states)
    assert torch.equal(same, after)
    assert torch.equal(learned[:2], before[:2])
    assert (learned[2:] - before[2:]).abs().max() > 0.05
    total = learned.double().exp().sum(dim=1) + fusion.get_final(states).double().exp()
    np.testing.assert_allclose(total.numpy(), 1.0, atol=1e-5)
    fusion.assign([1, 0])
    assert torch.equal(fusion.advance(states)[0][2:], before[2:])
    fusion.assign([1])
    assert torch.equal(fusion.advance(states)[0][2:], learned[2:])
    fusion.forget(1)
    assert torch.equal(fusion.advance(states)[0], before)
    for asked, said in (
        (lambda: fusion.learn(2, [1]), r"stream 2: expected 0 to 1; FusionModel\(…, streams=N\) makes N"),
        (lambda: fusion.learn(0, [len(labels)]), "expected 0 to"),
        (lambda: fusion.assign([0, 1, 0]), "3 utterances: expected 1 to 2"),
        (lambda: plain.learn(0, [1]), "the model has no streams that learn"),
    ):
        with pytest.raises(UsageError, match=said):
            asked()
    fusion.assign([0, 1])
    with pytest.raises(UsageError, match="3 states for 2 streams"):
        fusion.advance(states[:3])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch sees no card")
def test_a_card_gives_the_scores_of_the_cpu_and_graphs_record_it(model: Any) -> None:
    if not isinstance(model, gapgram.Model):
        pytest.skip("stays on the CPU")
    fusion, states = fusion_of(model, "qqq"), [0, 5, 70]
    expected, after = fusion.advance(torch.tensor(states))
    ends = fusion.get_final(torch.tensor(states))
    card = fusion_of(model, "qqq").to("cuda")
    assert card.compatible_with_cuda_graphs()
    held = torch.tensor(states, device="cuda")
    scores, there = card.advance(held)
    np.testing.assert_allclose(scores.cpu().numpy(), expected.numpy(), atol=2e-6)
    np.testing.assert_allclose(card.get_final(held).cpu().numpy(), ends.numpy(), atol=2e-6)
    assert torch.equal(there.cpu(), after)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        recorded, _ = card.advance(held)
    held.copy_(torch.tensor([70, 0, 5]))
    graph.replay()
    assert torch.equal(recorded, scores[[2, 0, 1]])
    with pytest.raises(UsageError, match="states on cpu, the model on cuda"):
        card.advance(torch.tensor(states))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch sees no card")
def test_a_card_learns_as_the_cpu_does_and_graphs_see_it(model: Any) -> None:
    from gapgram.adapters.nemo import FusionModel

    if not isinstance(model, gapgram.Model):
        pytest.skip("stays on the CPU")
    labels = list(model.vocabulary)[3:]
    cpu, card = FusionModel(model, labels, streams=2), FusionModel(model, labels, streams=2).to("cuda")
    states = torch.arange(4) * 7
    held = states.to("cuda")
    card.advance(held)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        recorded, _ = card.advance(held)
    for i, line in enumerate(toy_text(20, seed=3)):
        for fusion in (cpu, card):
            fusion.learn(i % 2, [labels.index(word) for word in line.split() if word in labels])
    expected = cpu.advance(states)[0].numpy()
    np.testing.assert_allclose(card.advance(held)[0].cpu().numpy(), expected, atol=4e-6)
    graph.replay()
    np.testing.assert_allclose(recorded.cpu().numpy(), expected, atol=4e-6)
    np.testing.assert_allclose(card.get_final(held).cpu().numpy(), cpu.get_final(states).numpy(), atol=4e-6)


def test_whisper_weighs_what_the_model_says() -> None:
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    from gapgram.adapters.transformers import FusionLogitsProcessor

    model = trained(toy_text(60, seed=5), order=3, model="mkn")
    labels = list(model.vocabulary)[3:]
    n = len(labels)
    config = transformers.WhisperConfig(
        vocab_size=n + 8, d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=16, decoder_ffn_dim=16, num_mel_bins=8, max_source_positions=30,
        max_target_positions=40, pad_token_id=n, bos_token_id=n, eos_token_id=n, decoder_start_token_id=n + 1,
        begin_suppress_tokens=None, suppress_tokens=None,
    )  # fmt: skip
    torch.manual_seed(1)
    whisper = transformers.WhisperForConditionalGeneration(config).eval()
    processor = FusionLogitsProcessor(model, labels, alpha=1e6, prompt=1, eos_token_id=n)
    sound = torch.randn(2, 8, 60)
    spoken = whisper.generate(
        sound, max_new_tokens=6, do_sample=False, logits_processor=transformers.LogitsProcessorList(
            [processor, transformers.SuppressTokensLogitsProcessor(range(n + 1, n + 8))]
        ),
    )  # fmt: skip
    # With such a weight the model alone decides: at each step its most probable word, or the end.
    for row in spoken.tolist():
        words = [labels[token] for token in row if token < n]
        for i, word in enumerate(words):
            best = model.predict(["<s>", *words[:i]], k=1, special=True)[0]
            assert best.probability == pytest.approx(10 ** model.log10_prob(word, ["<s>", *words[:i]]), rel=1e-4)
        assert words
    with torch.no_grad():
        added = processor(torch.tensor([[n + 1, 3, n + 2, 4]]), torch.zeros(1, n + 8))
    with np.errstate(divide="ignore"):
        expected = np.log(model.distribution(["<s>", labels[3], labels[4]]))
    np.testing.assert_allclose(added[0, :n].numpy() / 1e6, expected[3:], rtol=1e-4)
    assert float(added[0, n]) / 1e6 == pytest.approx(expected[2], rel=1e-4)
    assert not added[0, n + 1 :].any()
