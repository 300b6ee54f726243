"""Which code runs: what was built, plain Python, or what Numba compiles; and what is said where that cannot be."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.running import HANGING_SECONDS
from tests.support.sample_kernels import ROOT

from gapgram.kernels import compiled

only_built = pytest.mark.skipif(compiled.MODE != "built", reason="Numba or Python calls the kernels")


@only_built
@pytest.mark.parametrize("mode", ["python", "numba"])
def test_kernels_give_the_same_as_plain_python_and_by_numba(mode: str, tmp_path: Path) -> None:
    """These tests, those of loops in lanes and those of threads, with the other code."""
    tests = ["tests/kernels/test_compiled.py", "tests/kernels/test_lanes.py", "tests/system/test_run_together.py"]
    environment = {**os.environ, "GAPGRAM_KERNELS": mode, "NUMBA_CACHE_DIR": str(tmp_path), "NUMBA_OPT": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests],
        env=environment, cwd=ROOT, capture_output=True, text=True, timeout=HANGING_SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]


def imported(**environment: str) -> subprocess.CompletedProcess[str]:
    """A program that says which code runs."""
    imports = "from gapgram.kernels import compiled; from gapgram.kernels.tables import keys; "
    program = imports + "print(compiled.MODE, keys.key_of(3, 9))"
    return subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )


@only_built
def test_the_mode_is_chosen_by_an_environment_variable() -> None:
    modes = [imported(GAPGRAM_KERNELS=mode) for mode in ("", "built", "python")]
    said = [done.stdout.split() for done in modes]
    assert [words[0] for words in said] == ["built", "built", "python"]
    assert len({words[1] for words in said}) == 1
    assert [done.stderr for done in modes] == ["", "", ""]


@only_built
def test_another_mode_is_refused_in_one_sentence(tmp_path: Path) -> None:
    sentence = "GAPGRAM_KERNELS=nonsense: expected built, python or numba"
    done = imported(GAPGRAM_KERNELS="nonsense")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith(f"Error: {sentence}")
    done = subprocess.run(
        [sys.executable, "-m", "gapgram", "score", tmp_path / "m", "-"],
        env={**os.environ, "GAPGRAM_KERNELS": "nonsense"}, stdin=subprocess.DEVNULL, capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (2, f"gapgram: {sentence}\n")


WITHOUT_LIBRARY = """
import sys
from importlib.abc import MetaPathFinder

class Refuses(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "gapgram._kernels":
            raise ImportError("the kernels were built for other processors")

sys.meta_path.insert(0, Refuses())
"""


def without_library(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A program where the library cannot be loaded."""
    return subprocess.run(
        [sys.executable, "-c", f"{WITHOUT_LIBRARY}\n{program}"], env={**os.environ, **environment},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_without_the_library_kernels_run_as_plain_python_and_one_warning_says_so() -> None:
    program = "import gapgram; print(gapgram.train(sentences=['a b', 'b a', 'a'], order=2, threads=1).score('a b') < 0)"
    done = without_library(program, GAPGRAM_KERNELS="", PYTHONWARNINGS="ignore,default::gapgram.errors.KernelWarning")
    assert done.stdout == "True\n", done.stderr
    program = "from gapgram.kernels import compiled; from gapgram.kernels.tables import keys; print(compiled.MODE)"
    done = without_library(program, GAPGRAM_KERNELS="", PYTHONWARNINGS="")
    assert done.stdout == "python\n", done.stderr
    assert done.stderr.count("KernelWarning: ") == 1
    for words in ("kernels run as plain Python, some hundred times as slow", "pip install --no-binary gapgram gapgram",
                  "the kernels were built for other processors"):  # fmt: skip
        assert words in done.stderr


@only_built
@pytest.mark.parametrize("place", ["a clone", "site-packages"])
def test_a_library_of_other_kernels_is_not_used_in_a_clone(tmp_path: Path, place: str) -> None:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    if place == "a clone":
        (tmp_path / "compiler").mkdir()
    kernels = tmp_path / "src" / "gapgram" / "kernels"
    program = [sys.executable, "-c", "from gapgram.kernels.compiled import MODE; print(MODE)"]
    environment = {**os.environ, "GAPGRAM_KERNELS": "", "PYTHONPATH": str(tmp_path / "src")}

    def said() -> tuple[str, str]:
        done = subprocess.run(program, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
        return done.stdout, done.stderr

    assert said() == ("built\n", "")
    (kernels / "another.py").write_text("# a kernel\n", "utf-8")
    if place == "site-packages":  # whoever changes files there knows
        assert said() == ("built\n", "")
        return
    (library,) = (tmp_path / "src" / "gapgram").glob("_kernels.*[od]")
    assert said()[1].splitlines()[-1] == (
        f"gapgram.errors.UsageError: {library} was built of other kernels than those in {kernels}: "
        f"build it anew (python -m compiler in {tmp_path}), or say GAPGRAM_KERNELS=python"
    )


def test_a_library_that_is_insisted_on_must_be_there() -> None:
    done = without_library("import gapgram.kernels.compiled", GAPGRAM_KERNELS="built")
    assert done.stderr.splitlines()[-1] == (
        "gapgram.errors.UsageError: GAPGRAM_KERNELS=built: the kernels were built for other processors"
    )


@only_built
def test_commands_work_without_the_library(models: dict[str, Any]) -> None:
    program = f"{WITHOUT_LIBRARY}\nfrom gapgram.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, "score", str(models["mkn"].path), "-"],
        env={**os.environ, "GAPGRAM_KERNELS": ""}, input="w1 w2\n", capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert float(done.stdout.split()[0]) == pytest.approx(models["mkn"].score("w1 w2"), rel=1e-5)
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("gapgram: warning: kernels run as plain Python, some hundred times as slow")
