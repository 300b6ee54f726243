"""gapgram beside KenLM on the same text in the same run: training, size, opening, queries.

    KENLM_BIN=… python benchmarks/speed.py TRAIN TEST [-n 5] [--words 1000000] [--json]

Every measurement is a process of its own, but for those in turn. KenLM's programs (lmplz, build_binary, query) are
found on PATH or in the folder KENLM_BIN, its Python module if it is installed; without them their figures are left
out, and that is said. Kernels are compiled before anything is measured. With several orders or numbers of words, such
as `-n 2,3,4,5 --words 1000000,5000000`, the table has a line for each: how cost grows.

What is measured:

    training        text to a file that can be queried; for KenLM lmplz and build_binary (probing). Disk is the most
                    that lay in the working folder, the text aside
    batch, CLI      `gapgram perplexity --threads 1`, `query -v summary`: all of TEST, the start of the program included
    one, CLI        `gapgram score` and `query` of one line
    batch           `Model.perplexity(TEST, threads=1)` in an open model
    list            `Model.score_many(list of lines)` on all cores against a loop over `kenlm.Model.score`
    one sentence    `Model.score(line)` in a loop, against the same
    step            `Model.extend` word by word, against `kenlm.Model.BaseScore`
    BaseScore       `gapgram.kenlm.Model.BaseScore` word by word, against the same
    kenlm score     `gapgram.kenlm.Model.score(line)` in a loop, against `kenlm.Model.score`
    beam            `Model.extend_many` of 256 states at a time, against the same
    … in turn       single calls once more, in one process with KenLM's: 100 sentences by one, then by the other, of
                    how many times KenLM's speed they are. Both find the processor's caches as the other left them, and
                    the machine as busy; in a process of its own each keeps its tables near

The column ARPA is lmplz's file, converted to one that opens at once (`gapgram convert`).
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import importlib.util
import itertools
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gapgram import __version__
from gapgram.reporting.tables import table
from gapgram.text.files import blocks_of_files

MODELS = {
    "mkn": ["--model", "mkn"],
    "glm uniform": ["--weights", "uniform"],
    "glm learned": ["--weights", "learned", "--classes", "none"],
    "glm classes": ["--weights", "learned", "--classes", "auto"],
}
COMPACT = ["--layout", "compact"]  # for every model once more, where `gapgram train` knows it
PEER, ARPA = "KenLM", "ARPA"
PROBING = "probing"  # KenLM's file

IN_TURN = {"one": "one sentence", "kenlm": "kenlm score", "base": "BaseScore", "step": "step"}
QUERY_TIMES = Path(__file__).with_name("query_times.py")


class Failed(Exception):
    """A program did not do what it was asked for."""


@dataclass(frozen=True)
class Run:
    """What a process used."""

    cpu: float
    wall: float
    peak_megabytes: float
    output: str
    disk_megabytes: float = 0.0


class DiskWatch(threading.Thread):
    """The most that lies in a folder at one time."""

    def __init__(self, folder: Path) -> None:
        super().__init__(daemon=True)
        self.folder, self.before, self.most, self.ended = folder, _used(folder), 0, threading.Event()

    def run(self) -> None:
        while not self.ended.wait(0.05):
            self.most = max(self.most, _used(self.folder) - self.before)

    def end(self) -> float:
        """Stop watching; megabytes."""
        self.ended.set()
        self.join()
        return max(self.most, _used(self.folder) - self.before) / 1e6


def _used(folder: Path) -> int:
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(parent, name)).st_blocks * 512
            except FileNotFoundError:
                continue
    return total


def run(arguments: list[str], stdin: Path | None = None, stdout: Path | None = None, folder: Path | None = None) -> Run:
    """Run a process and measure it, and what it writes into a folder; its errors are shown if it fails."""
    watch = DiskWatch(folder) if folder else None
    if watch:
        watch.start()
    began = time.perf_counter()
    with (
        open(stdin or os.devnull, "rb") as source,
        open(stdout, "wb") if stdout else tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as errors,
    ):
        process = subprocess.Popen(arguments, stdin=source, stdout=out, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.perf_counter() - began
        errors.seek(0)
        if process.returncode:
            raise Failed(f"{' '.join(arguments)} failed:\n{errors.read().decode()}")
        text = "" if stdout else (out.seek(0), out.read().decode())[1]
    disk = watch.end() if watch else 0.0
    return Run(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1024, text, disk)


def gapgram(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "gapgram", *map(str, arguments)]


def query_times(program: str, model: Path, test: Text, *beside: Path) -> dict[str, Any]:
    """What the queries of a model take, in a process of their own; and beside KenLM, where there is a file of its."""
    measured = run([sys.executable, str(QUERY_TIMES), program, str(model), str(test.path), *map(str, beside)])
    times: dict[str, Any] = json.loads(measured.output)
    return times


def kenlm_program(name: str) -> str | None:
    return shutil.which(name, path=os.pathsep.join([os.environ.get("KENLM_BIN", ""), os.environ.get("PATH", "")]))


def figures_of_training(trained: Run, size: int, grams: int, words: int) -> dict[str, float]:
    return {
        "training, CPU s": trained.cpu, "training, wall s": trained.wall, "training, peak MB": trained.peak_megabytes,
        "training, disk MB": trained.disk_megabytes, "training, µs CPU/word": trained.cpu / words * 1e6,
        "model, MB": size / 1e6, "model, bytes/gram": size / grams,
    }  # fmt: skip


def figures_of_queries(times: dict[str, Any], predictions: int) -> dict[str, float]:
    """From the seconds (CPU, wall) that a process in Python reports."""
    figures = {"opening, ms": 1000 * times["opening"]}
    if "batch" in times:
        figures["batch, M words/CPU s"] = predictions / times["batch"][0] / 1e6
    figures["list, M words/s wall"] = predictions / times["list"][1] / 1e6
    figures["list, M words/CPU s"] = predictions / times["list"][0] / 1e6
    figures["one sentence, k/CPU s"] = times["some"] / times["one"][0] / 1e3
    figures["kenlm score, k/CPU s"] = times["some"] / times["kenlm"][0] / 1e3
    figures["BaseScore, k/CPU s"] = times["steps"] / times["base"][0] / 1e3
    figures["step, k/CPU s"] = times["steps"] / times["step"][0] / 1e3
    figures["beam, k/CPU s"] = times["steps"] / times["beam"][0] / 1e3
    for name, row in IN_TURN.items():
        if name in times.get("turns", {}):
            figures[f"{row} in turn, of KenLM's"] = times["turns"][name]
    return figures


def measure_gapgram(
    text: Text, test: Text, order: int, folder: Path, options: list[str], beside: list[Path]
) -> dict[str, float]:
    path = folder / "model"
    trained = run(gapgram("train", text.path, "-o", path, "-n", order, "-q", *options), folder=folder)
    info = json.loads(run(gapgram("info", path, "--json")).output)
    times = query_times("gapgram", path, test, *beside)
    batch = run(gapgram("perplexity", path, test.path, "--threads", 1, "-q"))
    one = run(gapgram("score", path, test.first_line, "-q"))
    path.unlink()
    return {
        **figures_of_training(trained, info["bytes"], info["grams"], text.words),
        **figures_of_queries(times, test.predictions),
        "batch, CLI, CPU s": batch.cpu, "one, CLI, CPU s": one.cpu, "perplexity, known words": times["known"],
    }  # fmt: skip


def measure_kenlm(text: Text, test: Text, order: int, folder: Path) -> Figures | None:
    """KenLM, and gapgram with the ARPA file that lmplz made; KenLM's own file is left for others beside it."""
    programs = {name: kenlm_program(name) for name in ("lmplz", "build_binary", "query")}
    if not all(programs.values()) or order < 2:
        print("KenLM's programs are neither on PATH nor in KENLM_BIN: its figures are left out", file=sys.stderr)
        return None
    arpa, binary = folder / "arpa", folder / PROBING
    lmplz = run([str(programs["lmplz"]), "-o", str(order), "-T", str(folder)], text.path, arpa, folder)
    with arpa.open(encoding="utf-8") as file:
        counts = [line for line in itertools.islice(file, 2 * order + 2) if line.startswith("ngram ")]
    build = run([str(programs["build_binary"]), "probing", str(arpa), str(binary)], folder=folder)
    disk = max(lmplz.disk_megabytes, build.disk_megabytes + arpa.stat().st_size / 1e6)
    peak = max(lmplz.peak_megabytes, build.peak_megabytes)
    trained = Run(lmplz.cpu + build.cpu, lmplz.wall + build.wall, peak, "", disk)
    query = [str(programs["query"]), "-v", "summary", str(binary)]
    run(query, test.path)
    batch = min((run(query, test.path) for _ in range(3)), key=lambda one: one.cpu)
    one = run(query, test.first_line)
    grams = sum(int(line.split("=")[1]) for line in counts)
    figures = {
        **figures_of_training(trained, binary.stat().st_size, grams, text.words),
        "batch, M words/CPU s": test.predictions / batch.cpu / 1e6,
        "batch, CLI, CPU s": batch.cpu, "one, CLI, CPU s": one.cpu,
    }  # fmt: skip
    if importlib.util.find_spec("kenlm"):
        times = query_times("kenlm", binary, test)
        figures |= figures_of_queries(times, test.predictions)
    else:
        print("KenLM's Python module is not installed (pip install kenlm): its figures are left out", file=sys.stderr)
    backoff = folder / "backoff"
    run(gapgram("convert", arpa, "-o", backoff, "-q"))
    ours = query_times("gapgram", backoff, test, *beside_kenlm(folder))
    of_arpa = {"model, MB": backoff.stat().st_size / 1e6, **figures_of_queries(ours, test.predictions)}
    for path in (arpa, backoff):
        path.unlink()
    return {ARPA: of_arpa, PEER: figures}


@dataclass(frozen=True)
class Text:
    """A text to train on or to score, cut to whole lines of so many words."""

    path: Path
    first_line: Path
    words: int
    predictions: int
    digest: str

    @classmethod
    def cut(cls, source: str, path: Path, limit: float) -> Text:
        """The first lines of a file that have `limit` words or just more."""
        words = lines = 0
        digest = hashlib.sha256()
        with path.open("wb") as file:
            for block in blocks_of_files(source):
                for line in block.data.splitlines(keepends=True):
                    if words < limit and line.strip():
                        words, lines = words + len(line.split()), lines + 1
                        digest.update(line)
                        file.write(line)
        first = path.with_suffix(".first")
        with path.open("rb") as file:
            first.write_bytes(file.readline())
        return cls(path, first, words, words + lines, digest.hexdigest()[:16])


def all_models() -> dict[str, list[str]]:
    """Every model, and every one in the compact layout where there is one."""
    if "--layout" not in run(gapgram("train", "--help")).output:
        return MODELS
    return MODELS | {f"{name} compact": [*options, *COMPACT] for name, options in MODELS.items()}


def measure(text: Text, test: Text, order: int, folder: Path, models: dict[str, list[str]], kenlm: bool) -> Figures:
    (folder / PROBING).unlink(missing_ok=True)
    try:
        peer = measure_kenlm(text, test, order, folder) if kenlm else None
    except Failed as failed:  # it is built for orders up to 6 unless told otherwise
        print(f"KenLM's figures are left out at order {order}: {failed}", file=sys.stderr)
        peer = None
    beside = beside_kenlm(folder) if peer else []
    figures = {name: measure_gapgram(text, test, order, folder, options, beside) for name, options in models.items()}
    return figures | (peer or {})


def beside_kenlm(folder: Path) -> list[Path]:
    """The file of KenLM's that single calls are measured beside; none where its module is not installed."""
    return [folder / PROBING] if importlib.util.find_spec("kenlm") else []


Figures = dict[str, dict[str, float]]


def shown(figures: Figures) -> str:
    """A line for each measure, a column for each model, and the ratio of each to KenLM."""
    names = list(next(iter(figures.values())))
    peer = figures.get(PEER, {})
    ours = [name for name in figures if name != PEER]
    lines = []
    for name in names:
        line = [name, *(f"{figures[model][name]:,.4g}" if name in figures[model] else "" for model in ours)]
        if peer:
            line.append(f"{peer[name]:,.4g}" if name in peer else "")
            for own in (figures[model] for model in ours):
                line.append(f"{own[name] / peer[name]:.2f}" if name in peer and name in own else "")
        lines.append(line)
    return table(["", *ours, *([PEER, *(f"{model} : {PEER}" for model in ours)] if peer else [])], lines)


GROWTH = (
    "training, CPU s", "training, µs CPU/word", "training, peak MB", "model, MB", "model, bytes/gram",
    "batch, M words/CPU s", "list, M words/s wall", "opening, ms",
)  # fmt: skip


def shown_growth(rows: list[tuple[int, int, Figures]]) -> str:
    """A line for each number of words, order and model."""
    lines = [
        [f"{words:,}", str(order), name, *(f"{figures[key]:,.4g}" if key in figures else "" for key in GROWTH)]
        for words, order, by_model in rows
        for name, figures in by_model.items()
    ]
    return table(["words", "order", "", *GROWTH], lines)


def machine() -> str:
    """Where this was measured, and with what."""
    try:
        info = Path("/proc/cpuinfo").read_text().splitlines()
        name = next(line.split(":")[1].strip() for line in info if line.startswith("model name"))
    except (OSError, StopIteration):
        name = platform.machine()
    kenlm = importlib.metadata.version("kenlm") if importlib.util.find_spec("kenlm") else "none"
    return (
        f"gapgram {__version__}, Python {platform.python_version()}, kenlm module {kenlm}; "
        f"{name}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    )


def numbers(text: str) -> list[int]:
    return [int(one) for one in text.split(",")]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("train")
    arguments.add_argument("test")
    arguments.add_argument("-n", "--order", type=numbers, default=[5], help="one or several: 2,3,4,5")
    arguments.add_argument("--words", type=numbers, help="of the training text, one or several; all of it if not given")
    arguments.add_argument("--models", default="", help=f"one or several of {','.join(MODELS)}; all if not given")
    arguments.add_argument("--no-kenlm", action="store_true")
    arguments.add_argument("--json", action="store_true")
    given = arguments.parse_args()
    chosen = given.models.split(",") if given.models else []
    models = {name: options for name, options in all_models().items() if not chosen or name in chosen}
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        test, warm = Text.cut(given.test, folder / "test", float("inf")), Text.cut(given.train, folder / "warm", 5000)
        for order in given.order:
            measure(warm, warm, order, folder, models, False)
        said = machine()
        for words in given.words or [float("inf")]:
            text = Text.cut(given.train, folder / "train", words)
            said += f"; {text.words:,} words (sha256 {text.digest})"
            for order in given.order:
                rows.append((text.words, order, measure(text, test, order, folder, models, not given.no_kenlm)))
    said += f"; scored: {test.predictions:,} words and ends of sentences (sha256 {test.digest})"
    if given.json:
        entries = [{"words": words, "order": order, "figures": figures} for words, order, figures in rows]
        print(json.dumps({"machine": said, "rows": entries}, indent=2))
    elif len(rows) == 1:
        print(f"{said}; order {rows[0][1]}\n{shown(rows[0][2])}")
    else:
        print(f"{said}\n{shown_growth(rows)}")


if __name__ == "__main__":
    try:
        main()
    except Failed as failed:
        sys.exit(str(failed))
