"""Files that earlier versions wrote are read, and answer as they did: one of each format and kind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import gapgram
from gapgram.counts.counts import Counts

FOLDER = Path(__file__).parent / "stored"
ANSWERS = json.loads((FOLDER / "answers.json").read_text())
ASKED = ["the cat sat on a dog", "zzz cat", ""]
OPEN = -26.61587231117013  # of the second, with the spelling of its unknown word


@pytest.mark.parametrize("name", [name for name in ANSWERS if not name.endswith(".session")])
def test_a_stored_file_answers_as_it_did(name: str) -> None:
    model = gapgram.load(FOLDER / name, verify=True)
    assert model.score_many(ASKED, threads=1).tolist() == pytest.approx(ANSWERS[name], rel=1e-12)


@pytest.mark.parametrize("name", ["2-open-fast.model", "2-open-compact.model"])
def test_a_stored_spelling_answers_as_it_did(name: str) -> None:
    model = gapgram.load(FOLDER / name, verify=True)
    assert model.score("zzz cat", open_vocabulary=True) == pytest.approx(OPEN, rel=1e-12)


def test_stored_counts_are_read() -> None:
    counts = Counts.open(FOLDER / "2-counts.counts", verify=True)
    assert counts.text.sentences == 20
    assert counts.size(gapgram.Pattern.parse("111")) > 5


def test_a_stored_session_answers_as_it_did() -> None:
    """With a model whose own weights say how far what was read is trusted; those that are shipped may change."""
    session = gapgram.load(FOLDER / "2-documents.model", verify=True).session()
    session.load(FOLDER / "2-session.session")
    scores = [session.score(sentence) for sentence in ("w1 new other", "w5 w2", "zzz")]
    assert scores == pytest.approx(ANSWERS["2-session.session"], rel=1e-12)
    assert session.words_read == 12  # an end of a sentence is one


def test_every_kind_is_stored() -> None:
    stored = {path.stem for path in FOLDER.iterdir() if path.suffix in (".model", ".mix", ".counts", ".session")}
    assert stored == {
        "1-mixture", "2-backoff", "2-chars-fast", "2-classes-compact", "2-classes-fast", "2-counts", "2-documents",
        "2-glm-fast", "2-glm-pruned", "2-glm-quantised", "2-mixture", "2-mkn-compact", "2-mkn-fast", "2-open-compact",
        "2-open-fast", "2-session",
    }  # fmt: skip


def test_what_is_said_of_a_model_is_stored() -> None:
    for name in ("2-classes-fast.model", "2-classes-compact.model"):
        assert gapgram.load(FOLDER / name).about == {"language": "en"}  # type: ignore[union-attr]
