"""An utterance decoded in pieces: the text of the whole, and what is settled stays."""

from __future__ import annotations

from typing import Any

import pytest
from tests.ctc.test_decoder import LABELS, logits_of

import gapgram
from gapgram import Model
from gapgram.ctc import Decoder
from gapgram.errors import UsageError

pytestmark = pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning")


@pytest.mark.parametrize("size", [1, 7, 60])
@pytest.mark.parametrize("options", [{}, {"unknown": None}, {"boundary": False, "beam_width": 5}], ids=str)
def test_pieces_make_the_text_of_the_whole(made: dict[str, Model], size: int, options: dict[str, Any]) -> None:
    decoder = Decoder(LABELS, made["learned"], **options)
    for seed in range(3):
        logits = logits_of(len(LABELS), 100 + seed, 60)
        whole = decoder.decode_beams(logits, ["w12"], distinct=True)
        stream, before = decoder.stream(["w12"]), ""
        for at in range(0, len(logits), size):
            text = stream.push(logits[at : at + size])
            assert text.settled.startswith(before) and str(text).startswith(text.settled)
            before = text.settled
        found = stream.finish_beams()
        assert found == whole
        assert all(one.text.startswith(before) for one in found)


def test_a_stream_of_labels() -> None:
    texts = ["w 1 | w 2", "w 2 | w 1 2"] * 9
    decoder = Decoder(LABELS, gapgram.train(sentences=texts, order=3, model="mkn"))
    logits = logits_of(len(LABELS), 7, 40)
    stream = decoder.stream()
    for at in range(0, 40, 8):
        stream.push(logits[at : at + 8])
    assert stream.finish().text == decoder.decode(logits)


def test_nothing_is_pushed_after_the_end(made: dict[str, Model]) -> None:
    decoder = Decoder(LABELS, made["mkn"])
    stream = decoder.stream()
    assert str(stream.text) == ""
    first = stream.finish()
    assert first.text == ""
    with pytest.raises(UsageError, match="the stream is finished: begin another one, with state="):
        stream.push(logits_of(len(LABELS), 1))
    with pytest.raises(UsageError, match="the stream is finished"):
        stream.finish()
    assert str(stream.text) == ""
    following = decoder.stream(state=first.state)
    following.push(logits_of(len(LABELS), 1))
    assert following.finish().text


def test_wrong_frames_leave_a_stream_as_it_was(made: dict[str, Model]) -> None:
    decoder = Decoder(LABELS, made["mkn"])
    logits, stream = logits_of(len(LABELS), 3), decoder.stream()
    stream.push(logits[:9])
    with pytest.raises(UsageError, match="logits of 3 columns for 13 labels"):
        stream.push(logits[9:, :3])
    stream.push(logits[9:])
    assert stream.finish().text == decoder.decode(logits)


def test_known_words_alone_always_leave_a_text(made: dict[str, Model]) -> None:
    """Letters that begin no word, and a word that is not whole: what is left is what was said before."""
    decoder = Decoder(LABELS, made["mkn"], unknown=None, beam_width=3)
    for seed in range(20):
        assert decoder.decode_beams(logits_of(len(LABELS), seed, 5))
