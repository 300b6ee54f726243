"""What it takes to start: each command on small files, and `serve` until it has answered.

    python benchmarks/start.py TEXT

trains models of the first lines of a text through the command line (GAPGRAM names the program, by default `gapgram`),
and runs each command several times. Printed are the CPU seconds of all its processes in the run that took the least,
how many times as long as importing NumPy that is, so that machines can be compared, and the seconds by the clock; of
`serve`, how long it takes by the clock until it has answered a question. `docs/measured/start.md` says what came of it.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import resource
import shlex
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from urllib.error import URLError
from urllib.request import Request, urlopen

PROGRAM = shlex.split(os.environ.get("GAPGRAM", "gapgram"))
TRIVIAL = "import numpy"
# What is started; TEXT, LINES and MODEL stand for files.
COMMANDS = (
    "--help", "--version", "score MODEL LINES", "perplexity MODEL LINES", "predict MODEL the", "explain MODEL the end",
    "generate MODEL -n 1", "info MODEL", "verify MODEL", "train SMALL -o NEW", "train SMALL -o NEW --model mkn",
    "convert MODEL -o NEW --layout compact", "arpa MKN -o NEW", "demo -o FOLDER",
)  # fmt: skip


class Used(NamedTuple):
    """What a command took."""

    cpu_seconds: float
    wall_seconds: float


def run(command: Sequence[str]) -> Used:
    """Run a command that must succeed."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    usual = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(command, env=usual, capture_output=True, text=True, check=False)
    wall = time.perf_counter() - begin
    if done.returncode:
        sys.exit(f"{shlex.join(command)}: {done.stderr[-2000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Used(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall)


def least(command: Sequence[str], times: int) -> Used:
    """The run of several that took the least CPU time: others on the machine can only add to it."""
    return min(run(command) for _ in range(times))


def answered(command: Sequence[str], model: Path) -> Used:
    """Start a service and ask it what follows a word, until it has answered."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    question = json.dumps({"model": model.stem, "context": "the"}).encode()
    service = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        said = next(line for line in service.stderr or () if line.startswith("open http"))
        asked = Request(f"{said.split()[1]}api/predict", question, {"Content-Type": "application/json"})
        while not _answers(asked):
            time.sleep(0.005)
        wall = time.perf_counter() - begin
    finally:
        service.terminate()
        service.wait()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Used(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall)


def _answers(question: Request) -> bool:
    try:
        with urlopen(question) as answer:
            return bool(answer.status == 200)
    except URLError:
        return False


def lines_of(path: Path, n: int, out: Path) -> Path:
    """The first lines of a text."""
    with path.open(encoding="utf-8") as text:
        out.write_text("".join(itertools.islice(text, n)), "utf-8")
    return out


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table as Markdown has it."""
    lines = [header, ["---", *["--:"] * (len(header) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path)
    parser.add_argument("--lines", type=int, default=50_000, help="of the text, for the models that are started")
    parser.add_argument("--times", type=int, default=5, help="runs of each command")
    parser.add_argument("--only", help="only commands that begin so")
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        measure(options, Path(folder))


def measure(options: argparse.Namespace, room: Path) -> None:
    """Make the models and start everything."""
    files = {
        "LINES": lines_of(options.text, 5, room / "lines"), "SMALL": lines_of(options.text, 5_000, room / "small"),
        "TEXT": lines_of(options.text, options.lines, room / "text"), "MODEL": room / "model", "MKN": room / "mkn",
        "NEW": room / "new", "FOLDER": room / "folder",
    }  # fmt: skip

    def command(words: str) -> list[str]:
        return [*PROGRAM, *(str(files.get(word, word)) for word in words.split())]

    run(command("train TEXT -o MODEL -q"))
    run(command("train SMALL -o MKN -q --model mkn"))
    trivial = least([sys.executable, "-c", TRIVIAL], options.times).cpu_seconds
    print(f"Importing NumPy: {trivial:.2f} CPU s.\n")
    rows = []
    for words in (each for each in COMMANDS if each.startswith(options.only or "")):
        used = least(command(words), options.times)
        rows.append([
            f"`{words}`", f"{used.cpu_seconds:.2f}", f"{used.cpu_seconds / trivial:.1f}", f"{used.wall_seconds:.2f}"
        ])  # fmt: skip
    print(table(["", "CPU s", "times NumPy", "wall s"], rows))
    if "serve".startswith(options.only or "serve"):
        serve = [*command("serve MODEL --port 0")]
        used = min((answered(serve, files["MODEL"]) for _ in range(options.times)), key=lambda one: one[1])
        print(f"\n`serve` has answered after {used.wall_seconds:.2f} s by the clock and {used.cpu_seconds:.2f} CPU s.")


if __name__ == "__main__":
    main()
