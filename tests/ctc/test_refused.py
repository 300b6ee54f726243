"""Labels, logits, hot words and options that make no sense: one sentence each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gapgram
from gapgram import Model
from gapgram.adapters.pyctcdecode import build_ctcdecoder
from gapgram.ctc import Decoder
from gapgram.ctc.files import read_logits
from gapgram.errors import ArgumentTypeError, TextFileError, UsageError

pytestmark = pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning")

LABELS = ["<pad>", "|", *"w0123456789"]


def logits(*, width: int = len(LABELS), frames: int = 4) -> Any:
    return np.random.default_rng(1).normal(size=(frames, width))


@pytest.mark.parametrize(("labels", "options", "said"), [
    ([], {}, r"labels: the list is empty"),
    ("abc", {}, r"labels: expected a list of labels.*found the string 'abc'"),
    (["a", 3], {}, r"label: expected a string, found the number 3"),
    (["a", "b", "a"], {}, r"labels: 'a' is that of columns 0 and 2"),
    (["<pad>", "a", "<blank>"], {}, r"'<pad>' \(column 0\) and '<blank>' \(column 2\) may each be the blank; name it"),
    (["a", "b"], {"blank": "c"}, r"blank 'c': no label is called so"),
    (["a", "b"], {"blank": 2}, r"blank 2: expected the column of one of 2 labels"),
    (["a", "b"], {"delimiter": "|"}, r"delimiter '|': no label is called so"),
    (["a", " ", "|"], {"delimiter": "|"}, r"the label ' ' divides words, too"),
    (["▁a", "b c"], {}, r"'b c' has a blank in it"),
    (["a"], {"unit": "letter"}, r"unit 'letter': expected word or label"),
    (["a"], {"beam_widht": 3}, r"beam_widht: no option of a decoder; did you mean beam_width"),
    (["a"], {"zzz": 3}, r"zzz: no option of a decoder; there are alpha, beta"),
    (["a"], {"alpha": -1.0}, r"alpha -1.0: expected the weight of the model, 0 or more"),
    (["a"], {"beta": float("inf")}, r"beta inf: expected a finite number"),
    (["a"], {"beta": float("nan")}, r"beta: expected a number, found nan"),
    (["a"], {"hot_weight": "much"}, r"hot_weight: expected a number, found the string 'much'"),
    (["a"], {"unknown": 1.0}, r"unknown 1.0: expected log10 that an unknown word adds, 0 or less, or None"),
    (["a"], {"beam_prune": 2.0}, r"beam_prune 2.0: expected a logarithm, 0 or less"),
    (["a"], {"beam_width": 0}, r"beam_width 0: expected 1 or more"),
    (["a"], {"beam_width": 1.5}, r"beam_width: expected a whole number"),
], ids=str)  # fmt: skip
def test_decoders(labels: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Decoder(labels, **options)


@pytest.mark.parametrize(("given", "said"), [
    (logits(width=9), r"logits of 9 columns for 13 labels, the blank among them: expected one for each"),
    (logits()[0], r"logits of 1 dimensions: expected two, frames and labels"),
    (logits()[None], r"logits of 3 dimensions"),
    ("text", r"logits: expected an array of numbers \[frame, label\]"),
    ([[1.0], [1.0, 2.0]], r"logits: expected an array of numbers"),
    (logits().astype(complex), r"logits: expected an array of numbers"),
    (None, r"logits: expected an array of numbers"),
])  # fmt: skip
def test_shapes(given: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Decoder(LABELS).decode(given)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_numbers_that_are_none(wrong: float) -> None:
    given = logits()
    given[2, 5] = wrong
    with pytest.raises(UsageError, match=rf"logits of frame 2: the highest is {wrong}; expected finite numbers"):
        Decoder(LABELS).decode(given)
    given[2] = -np.inf
    with pytest.raises(UsageError, match="logits of frame 2: the highest is -inf"):
        Decoder(LABELS).decode(given)


def test_minus_infinity_is_a_probability_of_nothing() -> None:
    given = np.full((3, len(LABELS)), -np.inf)
    given[[0, 1, 2], [2, 3, 4]] = 0.0
    assert Decoder(LABELS).decode(given) == "w01"


@pytest.mark.parametrize(("hot", "said"), [
    (["naïve"], r"hot word 'naïve': no label has the letter 'n'; spell it as the labels do"),
    ("w1", r"hot_words: expected a list of words, or a weight for each, found the string 'w1'"),
    ([3], r"hot word: expected a string, found the number 3"),
    ({"w1": float("nan")}, r"hot word 'w1': its weight is nan; expected a finite number"),
    ({"w1": "much"}, r"weight of the hot word 'w1': expected a number"),
])  # fmt: skip
def test_hot_words(hot: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Decoder(LABELS).decode(logits(), hot)


def test_hot_words_that_are_none() -> None:
    assert Decoder(LABELS).decode(logits(), ["", "  "]) == Decoder(LABELS).decode(logits())


def test_a_small_file_that_fills_the_memory(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "zeros.npz", a=np.zeros((9000, 40)))
    assert [logits.shape for _, logits in read_logits(tmp_path / "zeros.npz")] == [(9000, 40)]
    with pytest.raises(TextFileError, match=r"zeros.npz: no whole file of arrays: a.npy would fill 2,880,128 bytes"):
        list(read_logits(tmp_path / "zeros.npz", most_unpacked=1 << 20))


def test_labels_of_another_model(made: dict[str, Model]) -> None:
    with pytest.raises(UsageError, match=r"labels a b … spell no word of the model, such as w\d+ .*language or case"):
        Decoder(["", "a", "b"], made["mkn"])
    with pytest.raises(UsageError, match="labels: the model knows none of them; give unit='word'"):
        Decoder(["", "a", "b"], made["mkn"], unit="label")


def test_words_for_a_model_of_labels() -> None:
    model = gapgram.train(sentences=["a b a b", "b a"] * 9, order=2, model="mkn")
    with pytest.raises(UsageError, match="words: the model is one of labels, which needs no list"):
        Decoder(["", "a", "b"], model, words=["ab"])


def test_states_of_others(made: dict[str, Model]) -> None:
    decoder = Decoder(LABELS, made["mkn"])
    with pytest.raises(ArgumentTypeError, match="state: expected a state of the model"):
        decoder.decode(logits(), state="begin")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="the state is that of another model"):
        decoder.decode(logits(), state=made["learned"].begin_sentence())
    with pytest.raises(ArgumentTypeError, match="model: expected a model"):
        Decoder(LABELS, ["w1"])  # type: ignore[arg-type]


@pytest.mark.parametrize(("batch", "lengths", "said"), [
    ([logits(), logits()], [4], "2 utterances and 1 lengths: expected a length for each"),
    ([logits(), logits()], [4, 5], "length 5 of utterance 1: it has 4 frames"),
    (3, None, r"logits: expected a list of arrays \[frame, label\], or a batch of them, found the number 3"),
    ([logits(), None], None, "utterance 1: logits: expected an array of numbers"),
    ([logits(), logits(width=3)], None, "utterance 1: logits of 3 columns for 13 labels"),
    ([logits() * np.nan, logits()], [2, 4], "utterance 0: logits of frame 0: the highest is nan"),
    (np.stack([logits(), logits()]), [-1, 4], "length -1 of utterance 0: it has 4 frames"),
])  # fmt: skip
def test_batches(batch: Any, lengths: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Decoder(LABELS).decode_many(batch, lengths=lengths)


@pytest.mark.parametrize("blanks", [["", "<pad>"], ["<blank>", "[PAD]"]], ids=str)
def test_two_blanks(blanks: list[str]) -> None:
    for make in (Decoder, build_ctcdecoder):
        with pytest.raises(UsageError, match=r"\(column 0\) and .* \(column 1\) may each be the blank; name it"):
            make([*blanks, "a"])
    assert Decoder([*blanks, "a"], blank=blanks[0]).alphabet.blank == 0
    assert Decoder(["<pad>", "<blank>", "a"], blank="<blank>").alphabet.blank == 1
    with pytest.raises(UsageError, match=r"'' \(column 0\) is empty, but the blank is '<pad>' \(column 1\)"):
        Decoder(["", "<pad>", "a"], blank="<pad>")


@pytest.mark.parametrize("options", [{}, {"unknown": None}, {"beam_width": 1}], ids=str)
def test_a_beam_of_one_and_utterances_without_a_frame(made: dict[str, Model], options: dict[str, Any]) -> None:
    """In one piece, in a batch, in a stream, by the drop-in: an empty utterance is no words, and harms no other."""
    decoder, nothing = Decoder(LABELS, made["mkn"], **options), logits(frames=0)
    said = decoder.decode(logits(frames=9))
    assert decoder.decode_many([nothing, logits(frames=9), nothing]) == ["", said, ""]
    assert decoder.decode_many(np.stack([logits(frames=9)] * 2), lengths=[0, 9]) == ["", said]
    stream = decoder.stream()
    for some in (nothing, logits(frames=9), nothing):
        stream.push(some)
    assert stream.finish().text == said
    drop_in, width = build_ctcdecoder(LABELS, made["mkn"]), decoder.options.beam_width
    theirs = [Decoder(LABELS, made["mkn"], empty_word=True).decode(logits(frames=9), beam_width=width), ""]
    assert [drop_in.decode(one, beam_width=width) for one in (logits(frames=9), nothing)] == theirs


@pytest.mark.parametrize(("given", "said"), [
    (logits() * np.nan, "logits of frame 0: the highest is nan"), (logits()[0], "logits of 1 dimensions"),
    (logits(width=3), "logits of 3 columns for 13 labels"),
])  # fmt: skip
def test_a_stream_and_the_drop_in_refuse_as_the_decoder_does(given: Any, said: str) -> None:
    stream, drop_in = Decoder(LABELS).stream(), build_ctcdecoder(LABELS)
    for decode in (stream.push, drop_in.decode, drop_in.decode_beams, lambda one: drop_in.decode_batch(None, [one])):
        with pytest.raises(UsageError, match=said):
            decode(given)
    stream.push(logits())
    assert stream.finish().text == Decoder(LABELS).decode(logits())
    with pytest.raises(UsageError, match="no label has the letter 'n'"):
        Decoder(LABELS).stream(["naïve"])


def test_an_error_leaves_the_decoder_as_it_was(made: dict[str, Model]) -> None:
    decoder = Decoder(LABELS, made["mkn"])
    expected = decoder.decode(logits())
    with pytest.raises(UsageError):
        decoder.decode(logits(width=3))
    with pytest.raises(UsageError):
        decoder.decode(logits(), alpha=-2.0)
    assert decoder.decode(logits()) == expected
