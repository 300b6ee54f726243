"""How far a reader walks through the files to follow a command: functions entered, files, switches between files.

    python benchmarks/walks.py [--list COMMAND]

Each command runs in a process of its own with kernels as plain Python, on a text of twelve lines, order 3, with
classes. Counted are the distinct functions of gapgram that the main thread enters, in the order of their first visits;
a switch is a change of file from one to the next. What other threads do comes on top. Comprehensions and lambdas belong
to the function they stand in.

The table has two counts: of all functions, and of the road alone, without what only refuses odd arguments, texts and
files and may be passed over (functions that are called check… and modules of checks, with all that they call).
`--list score` prints the walk, with a mark where it is no part of the road.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import json
import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

LINES = [f"the {a} {b} on the {c}" for a in ("cat", "dog", "cow") for b in ("sat", "ran") for c in ("mat", "hat")]
TRAIN = ["train", "text", "-o", "model", "-n", "3", "--classes", "3", "-q"]
COMMANDS = {
    "score": ["score", "model"],
    "predict": ["predict", "model", "the cat"],
    "train": TRAIN,
    "train --memory": [*TRAIN, "--memory", "5000"],
}
_CHECKS = re.compile(r"/(arguments|section_rules|check_\w+)\.py$")


def main() -> None:
    """Print a table, or one walk."""
    if sys.argv[1:2] == ["--walk"]:
        print(json.dumps(walk(COMMANDS[sys.argv[2]])), file=sys.__stdout__)
        return
    listed = sys.argv[2] if sys.argv[1:2] == ["--list"] else None
    with TemporaryDirectory() as folder:
        Path(folder, "text").write_text("\n".join([*LINES, ""]))
        environment = {**os.environ, "GAPGRAM_KERNELS": "python", "PYTHONWARNINGS": "ignore"}
        walks = {}
        for name in ("train", "score", "predict", "train --memory"):
            made = subprocess.run(
                [sys.executable, os.path.abspath(__file__), "--walk", name],
                cwd=folder, env=environment, input="the cat sat\n", capture_output=True, text=True, check=True,
            )  # fmt: skip
            walks[name] = json.loads(made.stdout.splitlines()[-1])
    if listed is not None:
        for path, function, is_check in walks[listed]:
            print(f"{path:40} {function}{'   (a check)' * is_check}")
        return
    print(f"{'':16} all: functions files switches   road: functions files switches")
    for name in COMMANDS:
        road = [path for path, _, is_check in walks[name] if not is_check]
        print(f"{name:16} {_counts([path for path, *_ in walks[name]])}   {_counts(road)}")


def _counts(files: list[str]) -> str:
    switches = sum(a != b for a, b in pairwise(files))
    return f"{len(files):14} {len(set(files)):5} {switches:8}"


def walk(arguments: list[str]) -> list[tuple[str, str, bool]]:
    """(file, function, whether it is entered by a check alone) of the first visits, in their order."""
    from gapgram.cli.main import main as command

    seen: dict[tuple[str, str], bool] = {}

    def visit(frame: Any, event: str, _: object) -> None:
        code = frame.f_code
        is_function = code.co_flags & inspect.CO_OPTIMIZED and "<" not in code.co_name
        if event == "call" and "/gapgram/" in code.co_filename and is_function and not _importing(frame):
            path = code.co_filename.rpartition("/gapgram/")[2]
            visited = path, getattr(code, "co_qualname", code.co_name)
            if seen.get(visited, True):  # what a check has entered first may be entered by the road later
                is_check = _in_check(frame)
                if visited not in seen or not is_check:
                    seen.pop(visited, None)
                    seen[visited] = is_check

    sys.argv = ["gapgram", *arguments]
    sys.setprofile(visit)
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
        command()
    sys.setprofile(None)
    return [(*visited, is_check) for visited, is_check in seen.items()]


def _in_check(frame: Any) -> bool:
    """Whether a function of gapgram is a check, or was called by one."""
    while frame is not None:
        path = frame.f_code.co_filename
        if "/gapgram/" in path and (_CHECKS.search(path) or re.match(r"_?check", frame.f_code.co_name)):
            return True
        frame = frame.f_back
    return False


def _importing(frame: Any) -> bool:
    """Whether a module of gapgram is being imported: what decorators do is no part of the walk."""
    while frame is not None:
        if frame.f_code.co_name == "<module>" and "/gapgram/" in frame.f_code.co_filename:
            return True
        frame = frame.f_back
    return False


if __name__ == "__main__":
    main()
