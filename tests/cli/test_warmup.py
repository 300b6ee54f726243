"""All kernels compiled beforehand: everything that is done for it works, and what is said of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from tests.support.kernels import COUNTING, LEARNING, NOTE_CALLS, named_outside
from tests.support.running import HANGING_SECONDS, Cli

from gapgram.cli import warmup
from gapgram.kernels import jit
from gapgram.native import store
from gapgram.system import parallel

_AS_PYTHON = f"""{NOTE_CALLS}
import json
from pathlib import Path
from gapgram.cli import demo
from gapgram.cli.warmup import USES, do, make_models
make_models(Path(sys.argv[1]))
for uses in (USES, demo.USES):
    called.clear()
    for lines in uses:
        do(lines, sys.argv[1])
    print(json.dumps(sorted(called)))
"""
_NOT_COMPILED = {
    "exchange.objective", "gradient.add_gradient",  # which no command calls
    "strings.lines_of_strings",  # Python makes the lines where kernels run as plain Python
    "kenlm_arrays.word_id",  # for a message about a word that is there twice
    "window_codec.count_packed", "window_codec.pack_windows", "window_codec.unpack_windows",  # by machines of a cluster
}  # fmt: skip


def test_everything_is_used_that_a_command_may_need(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _AS_PYTHON, str(tmp_path)], capture_output=True, text=True, timeout=HANGING_SECONDS,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    by_warmup, by_demo = (set(json.loads(line)) for line in done.stdout.splitlines())
    assert named_outside() - by_warmup == _NOT_COMPILED
    assert by_demo >= COUNTING | LEARNING


@pytest.mark.skipif(jit.AS_PYTHON, reason="kernels run as plain Python")
@pytest.mark.parametrize(("compiled", "said"), [(7, "7 kernels compiled in "), (0, "all 2 kernels are there in ")])
def test_what_is_said(cli: Cli, monkeypatch: pytest.MonkeyPatch, compiled: int, said: str) -> None:
    def uses(folder: Path, processes: int) -> Iterator[tuple[set[str], int]]:
        assert (folder / "text").exists() and processes == 3
        yield from [({"a"}, 0), ({"a", "b"}, compiled)]

    monkeypatch.setattr(warmup, "each_use", uses)
    monkeypatch.setattr(warmup, "make_models", lambda folder: (folder / "text").touch())
    done = cli("warmup", "--threads", 3)
    assert done.err.startswith(said) and done.err.endswith(f" s; they are kept in {store.folder_to_write()}\n")
    about = json.loads(cli("warmup", "--threads", 3, "--json").out)
    assert about["kernels"] == 2 and about["folder"] == str(store.folder_to_write())


@pytest.mark.parametrize(("cores", "folder", "expected"), [(4, "kept", 2), (1, "kept", 0), (4, None, 0)])
def test_kernels_are_compiled_ahead_where_there_are_cores_and_a_folder(
    monkeypatch: pytest.MonkeyPatch, cores: int, folder: str | None, expected: int
) -> None:
    begun = list[int]()

    def note(folder: Path, processes: int, uses: Sequence[Sequence[str]]) -> Sequence[Sequence[str]]:
        begun.append(processes)
        return uses

    monkeypatch.setattr(parallel, "checked_threads", lambda threads: cores)
    monkeypatch.setattr(store, "folder_to_write", lambda: folder)
    monkeypatch.setattr(warmup, "make_models", lambda folder: None)
    monkeypatch.setattr(warmup, "each_use", note)
    warmup.compile_ahead([["info GLM"], ["verify GLM"]])
    assert sum(begun) == expected


def test_nothing_is_compiled_for_plain_python() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gapgram.warmup"], capture_output=True, text=True, timeout=HANGING_SECONDS,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
    )  # fmt: skip
    message = "warmup: NUMBA_DISABLE_JIT is set, and kernels run as plain Python; unset it to compile them"
    assert (done.returncode, done.stderr) == (2, f"gapgram: {message}\n")
