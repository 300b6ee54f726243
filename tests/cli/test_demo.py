"""The demo: runs, keeps its models where asked, and shows a lattice whose contributions add up."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.support.running import Cli

import gapgram
from gapgram.cli import demo
from gapgram.experiments.demo import reference_sentences


@pytest.fixture
def shortened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A part of the text, so that the test is quick; the whole is what `make demo` runs on."""
    text = reference_sentences()[:600]
    monkeypatch.setattr("gapgram.experiments.demo.reference_sentences", lambda: text)
    return text


def test_the_text_that_python_ships() -> None:
    text = reference_sentences()
    assert len(text) > 2000
    assert sum(len(sentence.split()) for sentence in text) > 50_000
    assert all(sentence == " ".join(sentence.split()) for sentence in text)


@pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning")
def test_the_demo_from_end_to_end(cli: Cli, tmp_path: Path, shortened: list[str]) -> None:
    ran = cli("demo", "-o", tmp_path / "new" / "folder")
    assert ran.code == 0
    folder = tmp_path / "new" / "folder"
    assert sorted(p.name for p in folder.iterdir()) == ["glm.model", "held-out.txt", "mkn.model", "python.txt"]
    parts = [(folder / name).read_text(encoding="utf-8").splitlines() for name in ("python.txt", "held-out.txt")]
    assert len(parts[0]) > 3 * len(parts[1])
    assert sorted(parts[0] + parts[1]) == sorted(shortened)
    assert [line.split()[0] for line in ran.out.splitlines() if line[:1] in "345" and line] == ["3", "4", "5"]
    assert f"gapgram info {folder}/glm.model" in ran.err
    assert_the_lattice_adds_up(ran.out, folder)


def assert_the_lattice_adds_up(printed: str, folder: Path) -> None:
    """The first rows, the rest and the uniform share, as printed; their sum is the model's probability."""
    lines = printed.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("pattern "))
    last = next(i for i, line in enumerate(lines) if line.startswith("sum "))
    contributions = [float(line.split()[-1]) for line in lines[first + 1 : last]]
    total = float(lines[last].split()[-1])
    assert len(contributions) == 7
    assert sum(contributions) == pytest.approx(total, abs=7 * 0.5e-6)
    found = re.search(r"in held-out text '(\w+)' comes after '([^']+)'", printed)
    assert found is not None
    held_out = (folder / "held-out.txt").read_text(encoding="utf-8")
    assert f"{found[2]} {found[1]}" in held_out
    model = gapgram.load(folder / "glm.model", verify=True)
    assert 10 ** model.log10_prob(found[1], found[2].split()) == pytest.approx(total, abs=1e-6)


def test_next_steps_name_a_program_that_is_there(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", [".venv/bin/gapgram", "demo"])
    monkeypatch.setattr("shutil.which", lambda name: None)
    demo._next_steps(".demo")
    assert "\n  .venv/bin/gapgram info .demo/glm.model\n" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning")
def test_the_demo_in_json(cli: Cli, shortened: list[str]) -> None:
    ran = cli("demo", "--json")
    assert ran.code == 0
    found = json.loads(ran.out)
    assert [(row["order"], row["model"]) for row in found["comparison"]][:5:4] == [(3, "mkn"), (4, "mkn")]
    parts = found["explanation"]["patterns"]
    total = sum(part["contribution"] for part in parts) + found["explanation"]["uniform_contribution"]
    assert total == pytest.approx(found["explanation"]["probability"], rel=1e-12)
    assert found["scores"][-1]["word"] == "</s>"
