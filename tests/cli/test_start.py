"""What a command loads and compiles to do its work: no kernel that it does not use, no library that it does not need.

Which kernels a command calls is compared with a list: one that is new here is one more to be compiled on first use.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.corpora import toy_text
from tests.support.kernels import COUNTING, LEARNING
from tests.support.running import HANGING_SECONDS

import gapgram
from gapgram.kernels import jit
from gapgram.models.arpa import as_backoff, write_arpa

pytestmark = [
    pytest.mark.skipif(jit.AS_PYTHON, reason="kernels run as plain Python"),
    pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning"),
]

_PROGRAM = """
import json, sys
from pathlib import Path
from gapgram.cli.main import main
try:
    main()
finally:
    jit = sys.modules.get("gapgram.kernels.jit")
    about = {"kernels": sorted(set(jit.loaded)) if jit else [], "compiled": jit.compiled if jit else []}
    threads = [path.name for path in Path("/proc/self/task").glob("*")]
    print(json.dumps({**about, "modules": sorted(sys.modules), "threads": threads}), file=sys.stderr)
"""

_KERNELS = {
    "--help": set(),
    "--version": set(),
    "train TEXT -o NEW -n 3 --model mkn --threads 2": COUNTING,
    "train TEXT -o NEW -n 3 --classes none --threads 2": COUNTING | LEARNING,
    "score MODEL TEXT": {"score_text.score_lines", "scores.sum_sequences"},
    "perplexity MODEL TEXT": {"figures.figures_of_lines", "score_text.score_lines"},
    "predict MODEL w1": {"topk.most_probable", "topk.most_words", "topk.n_blocks", "words.find_word"},
    "predict MODEL w1 --prefix w": {
        "completions.prefix_range",
        "completions.probabilities_of_range",
        "topk.n_blocks",
        "words.find_word",
    },
    "explain MODEL w1 w2": {"probabilities.shares_of_last", "words.find_word"},
    "info MODEL": {"read_tables.counts_of_counts"},
    "verify MODEL": {"successors.distribution", "words.fill_slots", "words.find_word"},
    "arpa MODEL -o NEW": {"backoff.suffixes_of", "read_tables.unpack_grams"},
}

_WITHOUT_NUMBA = ("score", "perplexity", "predict", "explain", "info", "verify")


def _run(words: str, files: dict[str, Path]) -> dict[str, list[str]]:
    """Run a command in a process of its own; which kernels it called and which modules it loaded."""
    arguments = [str(files.get(word, word)) for word in words.split()]
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *arguments], capture_output=True, text=True, timeout=HANGING_SECONDS
    )
    assert done.returncode == 0, done.stderr
    about: dict[str, list[str]] = json.loads(done.stderr.splitlines()[-1])
    return about


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("start")
    names = {name: folder / name.lower() for name in ("TEXT", "MODEL", "NEW", "ARPA")}
    names["TEXT"].write_text("\n".join([*toy_text(300), ""]))
    model = gapgram.train(names["TEXT"], order=3, model="mkn", output=names["MODEL"])
    write_arpa(as_backoff(model), names["ARPA"])
    return names


@pytest.mark.parametrize("words", _KERNELS)
def test_a_command_compiles_only_the_kernels_that_it_uses(words: str, files: dict[str, Path]) -> None:
    assert set(_run(words, files)["kernels"]) == _KERNELS[words]


@pytest.mark.parametrize("words", ["--help", "--version", "train --help", "score --help"])
def test_help_needs_no_arrays(words: str) -> None:
    modules = set(_run(words, {})["modules"])
    assert not modules & {"numpy", "numba", "llvmlite", "tqdm", "zstandard", "xxhash", "gapgram.kernels.jit"}


@pytest.mark.parametrize("words", [words for words in _KERNELS if words.partition(" ")[0] in _WITHOUT_NUMBA])
def test_what_was_compiled_needs_no_numba(words: str, files: dict[str, Path]) -> None:
    _run(words, files)
    about = _run(words, files)
    assert about["compiled"] == []
    others = {"gapgram.models.mixture", "gapgram.models.kenlm_binary.model", "gapgram.models.arpa.reading",
              "gapgram.compression.pruning.prune", "gapgram.training.train"}  # fmt: skip
    assert not set(about["modules"]) & {"numba", "scipy", "pandas", "pyspark", "fastapi", *others}


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted by what Linux tells of a process")
def test_numpy_starts_no_threads(files: dict[str, Path]) -> None:
    assert len(_run("info MODEL", files)["threads"]) == 1


def test_an_arpa_file_is_known_without_numba(files: dict[str, Path]) -> None:
    program = """
import sys
from pathlib import Path
from gapgram.models.open import _kind_of
print(_kind_of(Path(sys.argv[1])).name, "numba" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(files["ARPA"])], capture_output=True, text=True, timeout=HANGING_SECONDS
    )
    assert done.stdout == "an ARPA file False\n"
