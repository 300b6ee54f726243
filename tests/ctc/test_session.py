"""A decoder that asks a session knows what was read, and the words of it; it forgets on request."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.ctc.test_decoder import LABELS, logits_of

import gapgram
from gapgram import Model
from gapgram.ctc import Decoder
from gapgram.errors import UsageError

pytestmark = pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning")
NAME = "w77w"  # no model has it


def heard(text: str, *, doubt: dict[int, str], doubted: float) -> Any:
    """Logits of a text, a blank after each letter; at some places another letter is as likely, or more so."""
    out = np.full((2 * len(text), len(LABELS)), 1e-4)
    out[1::2, 0] = 1.0
    for i, letter in enumerate(text.replace(" ", "|")):
        out[2 * i, LABELS.index(letter)] = 1.0
        if i in doubt:
            out[2 * i, LABELS.index(doubt[i])] = doubted
    return np.log(out / out.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("options", [{}, {"unknown": None}, {"ahead": True}, {"boundary": False}], ids=str)
@pytest.mark.parametrize("kind", ["mkn", "learned"])
def test_the_next_text_has_the_names_of_the_last(made: dict[str, Model], kind: str, options: dict[str, Any]) -> None:
    model = made[kind]
    plain = Decoder(LABELS, model, **options)
    session = model.session()
    decoder = Decoder(LABELS, session=session, **options)
    assert decoder.model is model
    logits = heard(f"w1 {NAME} w2", doubt={6: "8"}, doubted=3.0)
    assert decoder.decode(logits) == plain.decode(logits) != f"w1 {NAME} w2"
    session.read([f"w1 {NAME} w2"] * 3)
    assert decoder.decode(logits) == f"w1 {NAME} w2"
    stream = decoder.stream()
    for at in range(0, len(logits), 5):
        stream.push(logits[at : at + 5])
    assert stream.finish() == decoder.decode_beams(logits)[0]
    assert decoder.decode_many([logits] * 4, threads=2) == [f"w1 {NAME} w2"] * 4
    assert plain.decode(logits) != f"w1 {NAME} w2"
    session.forget()
    assert decoder.decode(logits) == plain.decode(logits)


@pytest.mark.parametrize("kind", ["mkn", "learned"])
def test_scores_are_those_of_the_session(made: dict[str, Model], kind: str) -> None:
    session = made[kind].session()
    decoder = Decoder(LABELS, session=session, alpha=1.0, beta=0.0, unknown=0.0)
    session.read([f"w1 {NAME} w2 w3", f"w5 {NAME}", "w3 w4 w1 w12"] * 3)
    for logits in (logits_of(len(LABELS), 5), heard(f"w3 {NAME} w2 w1", doubt={}, doubted=0.0)):
        before = session.words_read
        for one in decoder.decode_beams(logits)[:20]:
            words = one.text.split()
            expected = session.score(words, eos=True)
            assert one.language / np.log(10) == pytest.approx(expected, abs=1e-9), one.text
        assert session.words_read == before


def test_without_readings_it_is_the_model(made: dict[str, Model]) -> None:
    logits = logits_of(len(LABELS), 3)
    for one, other in zip(
        Decoder(LABELS, made["learned"]).decode_beams(logits),
        Decoder(LABELS, session=made["learned"].session()).decode_beams(logits),
        strict=True,
    ):
        assert one.text == other.text
        assert one.total == pytest.approx(other.total, abs=1e-9)


def test_wrong_sessions_are_refused(made: dict[str, Model]) -> None:
    with pytest.raises(UsageError, match=r"session: it is one of another model; give session=model\.session"):
        Decoder(LABELS, made["mkn"], session=made["learned"].session())
    with pytest.raises(UsageError, match="session"):
        Decoder(LABELS, made["mkn"], session=made["mkn"])  # type: ignore[arg-type]
    labels = gapgram.train(sentences=["w 1 | w 2", "w 2 | w 1 2"] * 9, order=3, model="mkn")
    with pytest.raises(UsageError, match="session: the model is one of labels; a session reads words"):
        Decoder(LABELS, session=labels.session())
