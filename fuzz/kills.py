"""Runs that are killed at random and resumed until they are done: the same bytes, and nothing left behind.

    python -m fuzz.kills --times 30
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click

from fuzz.seeds import made_lines

OLD = b"the old file\n"
WAYS: dict[str, list[str]] = {
    "train --memory": ["--memory", "200K"],
    "train --memory --layout": ["--memory", "200K", "--layout", "compact"],
    "train --memory --prune": ["--memory", "200K", "--prune", "0,0,1"],
    "train": [],
    "train --layout": ["--layout", "compact"],
}


def run(text: Path, output: Path, options: list[str], *, seconds: float | None = None) -> int:
    """Train in a process of its own, killed after so many seconds; its exit code."""
    command = [sys.executable, "-W", "ignore", "-m", "gapgram", "train", str(text), "-o", str(output), "-q", "-n", "4"]
    process = subprocess.Popen([*command, *options], stderr=subprocess.DEVNULL)
    if seconds is not None:
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
    return process.wait()


def killed(folder: Path, options: list[str], times: int, draw: random.Random) -> tuple[int, int]:
    """(how often a run was really killed, how often another file was found under its name)."""
    text, output = folder / "text", folder / "output"
    text.write_text("\n".join([*made_lines(4000, words=400), ""]), "utf-8")
    begun = time.time()
    assert run(text, output, options) == 0
    new, took = output.read_bytes(), time.time() - begun
    kills = others = 0
    for _ in range(times):
        output.write_bytes(OLD)
        resumed = options
        for _ in range(4):
            kills += run(text, output, resumed, seconds=draw.random() * took) != 0
            others += output.read_bytes() not in (OLD, new)
            resumed = [*options, "--resume"] if "--memory" in options else options
        assert run(text, output, resumed) == 0
        others += output.read_bytes() != new
        left = {path.name for path in folder.iterdir()} - {"text", "output"}
        assert not left, f"left behind: {left}"
    return kills, others


@click.command()
@click.option("--times", default=10, show_default=True, help="Runs of each kind, each killed up to four times.")
@click.option("--seed", default=1, show_default=True)
def main(times: int, seed: int) -> None:
    """Kill and resume."""
    failed = False
    for name, options in WAYS.items():
        with tempfile.TemporaryDirectory() as folder:
            kills, others = killed(Path(folder), options, times, random.Random(seed))
        failed = failed or others > 0
        print(f"{name}: {times} runs, killed {kills} times, another file under the name {others} times", flush=True)
    raise SystemExit(int(failed))


if __name__ == "__main__":
    main()
