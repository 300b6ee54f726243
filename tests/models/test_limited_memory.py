"""Models are converted, and trained to be converted, in limited memory: with the same result, within the limit."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.corpora import toy_text
from tests.support.made_models import FILED_KINDS, limited
from tests.support.running import HANGING_SECONDS

import gapgram
from gapgram import GapgramError, Model
from gapgram.models import file as model_file

pytestmark = pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning")


@pytest.mark.parametrize("kind", [*FILED_KINDS, "pruned"])
def test_converting_in_little_memory(model_files: Path, kind: str, tmp_path: Path) -> None:
    one, two = model_files / kind, model_files / f"{kind}.compact"
    for name, source, layout in (("compact", one, "compact"), ("fast", two, "fast"), ("same", two, "compact")):
        model_file.write(tmp_path / name, limited(source).parts, layout, unpacked_entries=128)
    assert (tmp_path / "compact").read_bytes() == two.read_bytes() == (tmp_path / "same").read_bytes()
    assert (tmp_path / "fast").read_bytes() == one.read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {"compact", "fast", "same"}


def test_training_in_little_memory_to_a_compact_or_a_pruned_model(tmp_path: Path) -> None:
    lines = toy_text(200, seed=3)
    for options in ({"layout": "compact"}, {"prune": "0,0,1"}, {"size": "150K", "layout": "compact"}):
        for name, memory in (("whole", "1T"), ("little", 30_000)):
            gapgram.train(sentences=lines, order=4, output=tmp_path / name, memory=memory, **options)  # type: ignore[arg-type]
        assert (tmp_path / "whole").read_bytes() == (tmp_path / "little").read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {"whole", "little"}


def test_commands_take_a_limit(model_files: Path, cli: Callable[..., Any], tmp_path: Path) -> None:
    assert cli("convert", model_files / "mkn", "-o", tmp_path / "c", "--memory", "50M", "-q").code == 0
    assert (tmp_path / "c").read_bytes() == (model_files / "mkn.compact").read_bytes()
    assert cli("prune", model_files / "mkn", "-o", tmp_path / "p", "--counts", "0,1", "--memory", "50M", "-q").code == 0
    Model.load(model_files / "mkn").pruned(counts="0,1").save(tmp_path / "q")
    assert (tmp_path / "p").read_bytes() == (tmp_path / "q").read_bytes()
    assert "expected a size such as 4G" in cli("prune", model_files / "mkn", "-o", tmp_path / "p", "--memory", "x").err


def test_a_full_disk_while_converting_leaves_nothing(
    model_files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("gapgram.system.array_file.append_zeros", full)
    with pytest.raises(GapgramError, match="no room left while writing"):
        Model.load(model_files / "mkn").with_layout("compact", output=tmp_path / "c")
    assert not list(tmp_path.iterdir())


PEAKS = """
import re, sys
from pathlib import Path
from gapgram import Model
from gapgram.system import memory

def status(name):
    return int(re.search(name + r":\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1000

def work(path, limit):
    model = Model.load(path, most_resident=memory.resident() + limit)
    model.counts.pages.least_bytes = 2 << 20
    steps = {
        "convert": lambda: model.with_layout("compact", output=sys.argv[3]),
        "counts": lambda: model.pruned(counts="0,0,1", output=sys.argv[3]),
        "loss": lambda: model.pruned(keep=0.5, output=sys.argv[3]),
    }
    for name, step in steps.items():
        memory.trim()
        Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
        before = status("VmRSS")
        step()
        yield name, status("VmHWM") - before

dict(work(sys.argv[1], 1 << 40))
for limit in (8 << 20, 1 << 40):
    print(limit, *(round(peak) for _, peak in work(sys.argv[2], limit)))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the system does not tell the peak of a while")
def test_the_peak_of_memory_is_what_was_allowed(tmp_path: Path) -> None:
    lines = toy_text(6000, vocabulary=5000)
    for name, some in (("small", lines[:100]), ("large", lines)):
        gapgram.train(sentences=some, order=6, weights="uniform", output=tmp_path / name)
    arguments = [sys.executable, "-W", "ignore", "-c", PEAKS, *(str(tmp_path / n) for n in ("small", "large", "out"))]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=HANGING_SECONDS)
    assert not done.returncode, done.stderr
    limited, unlimited = (list(map(int, line.split()[1:])) for line in done.stdout.splitlines())
    assert max(limited) < 20, "megabytes: 8 are allowed, and one operation may take a few"
    assert max(unlimited) > 40
