"""What a command loads to do its work: no compiler, and nothing of what only other commands need."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from tests.support.corpora import toy_text
from tests.support.running import HANGING_SECONDS

import gapgram
from gapgram.kernels import compiled
from gapgram.models.arpa.writing import as_backoff, write_arpa

pytestmark = [
    pytest.mark.skipif(compiled.MODE == "numba", reason="Numba compiles the kernels"),
    pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning"),
]

_PROGRAM = """
import json, sys
from pathlib import Path
from gapgram.cli.main import main
try:
    main()
finally:
    threads = [path.name for path in Path("/proc/self/task").glob("*")]
    print(json.dumps({"modules": sorted(sys.modules), "threads": threads}), file=sys.stderr)
"""

_HELP = ("--help", "--version", "train --help", "score --help")
_QUERIES = (
    "score MODEL TEXT", "perplexity MODEL TEXT", "predict MODEL w1", "predict MODEL w1 --prefix w",
    "explain MODEL w1 w2", "generate MODEL -n 1", "info MODEL", "verify MODEL",
)  # fmt: skip
_OF_BACKOFF = "score ARPA TEXT", "perplexity ARPA TEXT", "predict ARPA w1"
_CHANGES = (
    "train TEXT -o NEW -n 3 --model mkn --threads 2", "train TEXT -o NEW -n 3 --classes none --threads 2",
    "train TEXT -o NEW -n 3 --classes 4 --threads 2", "classes TEXT -o NEW -k 4", "arpa MODEL -o NEW",
    "convert MODEL -o NEW --layout compact", "prune MODEL -o NEW --keep 0.9", "compare TEXT -n 2",
)  # fmt: skip

# No command needs one of these, but for adapters, studies, the page and cards.
_FOREIGN = {
    "numba", "llvmlite", "scipy", "pandas", "matplotlib", "pyspark", "pyarrow", "fastapi", "uvicorn", "sentencepiece",
    "tokenizers", "cupy", "kenlm",
}  # fmt: skip
_NOT_FOR_QUERIES = (
    "gapgram.training", "gapgram.compression", "gapgram.cuda", "gapgram.adapters", "gapgram.applications",
    "gapgram.web", "gapgram.experiments", "gapgram.preparation", "gapgram.models.mixture",
    "gapgram.models.kenlm_binary.model", "gapgram.models.arpa.reading", "gapgram.counting.on_disk",
)  # fmt: skip


Ran = Callable[[str], dict[str, set[str]]]


def _run(words: str, files: dict[str, Path]) -> dict[str, set[str]]:
    """Run a command in a process of its own; which modules it loaded, and its threads."""
    arguments = [str(files.get(word, word)) for word in words.split()]
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *arguments], capture_output=True, text=True, timeout=HANGING_SECONDS
    )
    assert done.returncode == 0, done.stderr
    return {name: set(values) for name, values in json.loads(done.stderr.splitlines()[-1]).items()}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("start")
    names = {name: folder / name.lower() for name in ("TEXT", "MODEL", "NEW", "ARPA")}
    names["TEXT"].write_text("\n".join([*toy_text(300), ""]))
    model = gapgram.train(names["TEXT"], order=3, model="mkn", output=names["MODEL"])
    write_arpa(as_backoff(model), names["ARPA"])
    return names


@pytest.fixture(scope="module")
def ran(files: dict[str, Path]) -> Ran:
    """What a command loaded, run once for all that is asked of it."""
    return cache(lambda words: _run(words, files))


@pytest.mark.parametrize("words", _HELP)
def test_help_needs_no_arrays(words: str) -> None:
    modules = _run(words, {})["modules"]
    foreign = _FOREIGN | {"numpy", "tqdm", "zstandard", "xxhash", "gapgram.kernels"}
    assert "click" in modules
    assert not modules & foreign


@pytest.mark.parametrize("words", [*_QUERIES, *_OF_BACKOFF, *_CHANGES])
def test_no_command_loads_a_compiler(words: str, ran: Ran) -> None:
    assert not ran(words)["modules"] & _FOREIGN


@pytest.mark.parametrize("words", _QUERIES)
def test_a_query_loads_nothing_that_makes_models(words: str, ran: Ran) -> None:
    assert sorted(ran(words)["modules"] & set(_NOT_FOR_QUERIES)) == []


@pytest.mark.parametrize("words", ["score MODEL TEXT", "predict MODEL w1", "perplexity MODEL TEXT"])
def test_queries_load_nothing_of_training(words: str, ran: Ran) -> None:
    modules = ran(words)["modules"]
    of_training = ("counting", "training", "classes.exchange", "cuda", "estimation.weights.estimators",
                   "estimation.weights.learned", "estimation.weights.sample")  # fmt: skip
    assert [name for name in modules if name.removeprefix("gapgram.").startswith(of_training)] == []


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted by what Linux tells of a process")
def test_numpy_starts_no_threads(ran: Ran) -> None:
    assert len(ran("info MODEL")["threads"]) == 1


def test_an_arpa_file_is_known_without_a_kernel(files: dict[str, Path]) -> None:
    program = """
import sys
from pathlib import Path
from gapgram.models.open import _kind_of
print(_kind_of(Path(sys.argv[1])).name, "gapgram.models.arpa.reading" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(files["ARPA"])], capture_output=True, text=True, timeout=HANGING_SECONDS
    )
    assert done.stdout == "an ARPA file False\n"
