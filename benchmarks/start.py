"""What it takes to start: the first use of each command, and every use after that.

    python benchmarks/start.py TEXT

trains models of the first lines of a text through the command line (GAPGRAM names the program, by default `gapgram`),
and runs each command with an empty folder for compiled kernels, then again with what it left there. Printed are the
CPU seconds of all its processes, how many times as long as importing Numba and compiling one trivial kernel that is, so
that machines can be compared, and how many kernels were kept; of `serve`, how long it takes by the clock until it has
answered a question. `docs/measured/start.md` says what came of it.
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
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from urllib.error import URLError
from urllib.request import Request, urlopen

PROGRAM = shlex.split(os.environ.get("GAPGRAM", "gapgram"))
TRIVIAL = "import numba, numpy; numba.njit(lambda a: a[0] + 1)(numpy.zeros(3))"
LIGHT = ("--help", "--version")
# What is started; TEXT, LINES and MODEL stand for files, and each command has an empty folder for kernels.
FIRST = (
    "score MODEL LINES", "perplexity MODEL LINES", "predict MODEL the", "explain MODEL the end",
    "generate MODEL -n 1", "info MODEL", "verify MODEL", "train SMALL -o NEW", "train SMALL -o NEW --model mkn",
    "convert MODEL -o NEW --layout compact", "arpa MKN -o NEW", "demo -o FOLDER",
)  # fmt: skip
AFTER = ("score MODEL LINES", "perplexity MODEL LINES", "predict MODEL the", "explain MODEL the end", "info MODEL",
         "verify MODEL")  # fmt: skip


class Used(NamedTuple):
    """What a command took."""

    cpu_seconds: float
    wall_seconds: float


def run(command: Sequence[str], environment: Mapping[str, str]) -> Used:
    """Run a command that must succeed."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    usual = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(command, env={**usual, **environment}, capture_output=True, text=True, check=False)
    wall = time.perf_counter() - begin
    if done.returncode:
        sys.exit(f"{shlex.join(command)}: {done.stderr[-2000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Used(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall)


def least(command: Sequence[str], environment: Mapping[str, str], times: int) -> Used:
    """The run of several that took the least CPU time: others on the machine can only add to it."""
    return min(run(command, environment) for _ in range(times))


def answered(command: Sequence[str], model: Path, environment: Mapping[str, str]) -> Used:
    """Start a service and ask it what follows a word, until it has answered."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    question = json.dumps({"model": model.stem, "context": "the"}).encode()
    service = subprocess.Popen(command, env={**os.environ, **environment}, stderr=subprocess.PIPE, text=True)
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


def kept(folder: Path) -> int:
    """The compiled kernels in a folder."""
    return sum(path.is_file() and path.suffix not in (".nbi", ".py") for path in folder.rglob("*"))


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
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path)
    parser.add_argument("--lines", type=int, default=50_000, help="of the text, for the models that are started")
    parser.add_argument("--times", type=int, default=5, help="runs of each command that starts at once")
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

    run(command("train TEXT -o MODEL -q"), {})
    run(command("train SMALL -o MKN -q --model mkn"), {})
    trivial = least([sys.executable, "-c", TRIVIAL], {}, options.times).cpu_seconds
    print(f"Importing Numba and compiling one trivial kernel: {trivial:.2f} CPU s.\n")
    rows = []
    for number, words in enumerate(w for w in FIRST if w.startswith(options.only or "")):
        place = room / f"kernels{number}"
        used = run(command(words), {"NUMBA_CACHE_DIR": str(place)})
        again = least(command(words), {"NUMBA_CACHE_DIR": str(place)}, 2)
        rows.append([
            f"`{words}`", f"{used.cpu_seconds:.1f}", f"{used.cpu_seconds / trivial:.1f}", f"{used.wall_seconds:.1f}",
            f"{again.cpu_seconds:.2f}", str(kept(place)),
        ])  # fmt: skip
    print(table(["first use", "CPU s", "times trivial", "wall s", "again, CPU s", "kernels"], rows))
    rows = []
    warm = {"NUMBA_CACHE_DIR": str(room / "warm")}
    for words in (*LIGHT, *AFTER):
        if words.startswith(options.only or ""):
            run(command(words), warm)
            used = least(command(words), warm, options.times)
            rows.append([f"`{words}`", f"{used.cpu_seconds:.2f}", f"{used.cpu_seconds / trivial:.2f}"])
    print("\n" + table(["every use after that", "CPU s", "times trivial"], rows))
    if "serve".startswith(options.only or "serve"):
        serve = [*command("serve MODEL --port 0")]
        answered(serve, files["MODEL"], warm)
        used = min((answered(serve, files["MODEL"], warm) for _ in range(options.times)), key=lambda one: one[1])
        print(f"\n`serve` has answered after {used.wall_seconds:.2f} s by the clock and {used.cpu_seconds:.2f} CPU s.")


if __name__ == "__main__":
    main()
