"""Batches of tensors: what the decoder itself finds. On the CPU, with the code that a card runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gapgram
from gapgram import Model
from gapgram.ctc import Decoder
from gapgram.errors import GapgramError

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytestmark = pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning")

LABELS = ["<pad>", "|", *"w0123456789"]
PIECES = ["▁w", "▁", "1", "2", "3", "▁w1", "12", "▁w2", "[UNK]", "5", "▁w10"]


def logits_of(n_labels: int, seed: int) -> Any:
    chance = np.random.default_rng(seed)
    out = chance.normal(0, 1.2, (chance.integers(1, 40), n_labels))
    for row in out:
        row[chance.integers(0, n_labels, 3)] += chance.uniform(1, 5, 3)
    return out


@pytest.mark.parametrize("options", [
    {}, {"unknown": None}, {"unknown": -3.0, "ahead": True}, {"boundary": False}, {"beam_width": 1},
    {"token_prune": -2.0, "beam_prune": -3.0}, {"alpha": 0.0, "beta": 0.5},
], ids=str)  # fmt: skip
@pytest.mark.parametrize("kind", [None, "mkn", "learned"])
@pytest.mark.parametrize("labels", [LABELS, PIECES], ids=["letters", "pieces"])
def test_it_finds_what_the_decoder_finds(
    made: dict[str, Model], kind: str | None, labels: list[str], options: dict[str, Any]
) -> None:
    decoder = Decoder(labels, made[kind] if kind else None, **{"beam_width": 12, **options})
    several = [logits_of(len(decoder.alphabet.texts), seed) for seed in range(7)]
    for hot in (None, {"w12": 5.0, "w1": -2.0}):
        for distinct in (False, True):
            found = decoder.on("cpu").decode_beams_many(several, hot, distinct=distinct)
            for one, logits in zip(found, several, strict=True):
                expected = decoder.decode_beams(logits, hot, distinct=distinct)
                assert [h.text for h in one[:3]] == [h.text for h in expected[:3]]
                for h, e in zip(one[:3], expected[:3], strict=True):
                    assert [h.acoustic, h.language, h.hot] == pytest.approx([e.acoustic, e.language, e.hot], abs=1e-6)
                    assert [word.word for word in h.words] == [word.word for word in e.words]


def test_what_goes_in(made: dict[str, Model]) -> None:
    decoder = Decoder(LABELS, made["mkn"])
    several = [torch.as_tensor(logits_of(len(LABELS), seed)) for seed in range(5)]
    expected, batched = decoder.decode_many(several), decoder.on("cpu")
    assert batched.decode_many(several) == batched.decode_many([one.softmax(1) for one in several]) == expected
    padded, lengths = torch.nn.utils.rnn.pad_sequence(several, batch_first=True), [len(one) for one in several]
    assert batched.decode_many(padded, lengths=lengths) == expected
    assert batched.decode_many([one.float() for one in several]) == expected
    assert batched.decode_many([several[0][:0], several[1]]) == [decoder.decode(several[0][:0]), expected[1]]
    assert batched.decode_many([]) == []


def test_what_is_refused(made: dict[str, Model]) -> None:
    decoder = Decoder(LABELS, made["mkn"])
    batched = decoder.on("cpu")
    for given, options, said in (
        ([torch.zeros(3, 4)], {}, "logits of 4 columns for 13 labels"),
        ([torch.full((3, 13), torch.nan)], {}, "the highest of a frame is no finite number"),
        ([torch.zeros(3, 13)], {"lengths": [1, 2]}, "1 utterances and 2 lengths"),
        ([torch.zeros(3, 13)], {"empty_word": True}, "empty_word: batches score no word"),
        ([torch.zeros(3, 13)], {"beam_widht": 1}, "did you mean beam_width"),
    ):
        with pytest.raises(GapgramError, match=said):
            batched.decode_many(given, **options)
    with pytest.raises(GapgramError, match="device 'tpu2': expected cpu or cuda"):
        decoder.on("tpu2")
    if not torch.cuda.is_available():
        with pytest.raises(GapgramError, match="this PyTorch sees no card"):
            decoder.on("cuda")
    with pytest.raises(GapgramError, match="device cpu: a session is asked by the CPU"):
        Decoder(LABELS, session=made["mkn"].session()).on("cpu")
    letters = gapgram.train(sentences=["w 1 | w 2"] * 9, order=2, model="mkn")
    with pytest.raises(GapgramError, match="device cpu: a model of labels"):
        Decoder(LABELS, letters, unit="label").on("cpu")
