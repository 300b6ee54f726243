"""KenLM itself, where it is installed: lmplz and query on PATH or in the folder KENLM_BIN, or its Python module.

One model is estimated by lmplz from a text that the goldens do not hold; every word must agree.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from tests.support.corpora import toy_text

import gapgram
from gapgram import Model
from gapgram.models.arpa.reading import read_arpa
from gapgram.text.corpus import TextRules

pytestmark = pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning")

ORDER = 4
TEXT = toy_text(1500, seed=21, vocabulary=600)
SENTENCES = [*toy_text(200, seed=22, vocabulary=700), "", "w1"]


def program(name: str) -> str:
    found = shutil.which(name, path=os.pathsep.join([os.environ.get("KENLM_BIN", ""), os.environ.get("PATH", "")]))
    if found is None:
        pytest.skip(f"KenLM's {name} is neither on PATH nor in the folder that KENLM_BIN names")
    return found


@pytest.fixture(scope="module")
def arpa(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("kenlm") / "arpa"
    made = subprocess.run(
        [program("lmplz"), "-o", str(ORDER)], input="\n".join([*TEXT, ""]).encode(), capture_output=True, check=True
    )
    path.write_bytes(made.stdout)
    return path


@pytest.fixture(scope="module")
def model() -> Model:
    return gapgram.train(sentences=TEXT, order=ORDER, model="mkn")


def test_every_word_scores_as_with_query(arpa: Path, model: Model) -> None:
    asked = subprocess.run(
        [program("query"), str(arpa)], input="\n".join([*SENTENCES, ""]).encode(), capture_output=True, check=True
    )
    lines = [line for line in asked.stdout.decode().splitlines() if "Total:" in line]
    assert len(lines) == len(SENTENCES)
    for sentence, line in zip(SENTENCES, lines, strict=True):
        # word=id length log10 TAB … Total: log10 OOV: n
        theirs = [float(cell.split(" ")[-1]) for cell in line.partition("Total:")[0].split("\t") if "=" in cell]
        assert model.scores(sentence) == pytest.approx(np.array(theirs), abs=2e-6)


def test_every_word_scores_as_with_the_python_module(arpa: Path, model: Model) -> None:
    kenlm = pytest.importorskip("kenlm", reason="KenLM's Python module is not installed")
    theirs = kenlm.Model(str(arpa))
    for sentence in SENTENCES:
        assert model.score(sentence) == pytest.approx(theirs.score(sentence, bos=True, eos=True), abs=1e-5)
        expected = [score for score, _, _ in theirs.full_scores(sentence)]
        assert model.scores(sentence) == pytest.approx(np.array(expected), abs=2e-6)


def test_empty_lines_count_as_with_lmplz(tmp_path: Path) -> None:
    text = [line for i, one in enumerate(TEXT) for line in ([one, "", " \t"] if i % 20 == 0 else [one])]
    made = subprocess.run(
        [program("lmplz"), "-o", str(ORDER)], input="\n".join([*text, ""]).encode(), capture_output=True, check=True
    )
    (tmp_path / "arpa").write_bytes(made.stdout)
    theirs = read_arpa(tmp_path / "arpa")
    ours = gapgram.train(sentences=text, order=ORDER, model="mkn", rules=TextRules(empty_lines="count"))
    for sentence in SENTENCES:
        assert ours.scores(sentence) == pytest.approx(theirs.scores(sentence), abs=2e-6)


def test_a_model_pruned_by_count_scores_as_lmplz_prunes_it(model: Model, tmp_path: Path) -> None:
    made = subprocess.run(
        [program("lmplz"), "-o", str(ORDER), "--prune", "0", "1", "2"],
        input="\n".join([*TEXT, ""]).encode(), capture_output=True, check=True,
    )  # fmt: skip
    (tmp_path / "arpa").write_bytes(made.stdout)
    theirs, ours = read_arpa(tmp_path / "arpa"), model.pruned(counts="0,1,2")
    for sentence in SENTENCES:
        assert ours.scores(sentence) == pytest.approx(theirs.scores(sentence), abs=2e-5)
