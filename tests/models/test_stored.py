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


@pytest.mark.parametrize("name", ANSWERS)
def test_a_stored_file_answers_as_it_did(name: str) -> None:
    options = {} if name.endswith(".mix") or "backoff" in name else {"verify": True}
    model = gapgram.load(FOLDER / name, **options)
    assert model.score_many(ASKED, threads=1).tolist() == pytest.approx(ANSWERS[name], rel=1e-12)


def test_stored_counts_are_read() -> None:
    counts = Counts.open(FOLDER / "2-counts.counts", verify=True)
    assert counts.text.sentences == 20
    assert counts.size(gapgram.Pattern.parse("111")) > 5


def test_every_kind_is_stored() -> None:
    kinds = {path.stem.split("-", 1)[1] for path in FOLDER.iterdir() if path.suffix in (".model", ".mix", ".counts")}
    assert kinds == {
        "backoff", "classes-compact", "classes-fast", "counts", "glm-fast", "glm-pruned", "glm-quantised",
        "mixture", "mkn-compact", "mkn-fast",
    }  # fmt: skip


def test_what_is_said_of_a_model_is_stored() -> None:
    for name in ("2-classes-fast.model", "2-classes-compact.model"):
        assert gapgram.load(FOLDER / name).about == {"language": "en"}  # type: ignore[union-attr]
