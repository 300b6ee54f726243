"""gapgram beside KenLM on the same text in the same run: training, size, opening, scoring.

    KENLM_BIN=… python benchmarks/speed.py TRAIN TEST [-n 5] [--lines N] [--json]

Every measurement is a process of its own. KenLM's programs (lmplz, build_binary, query) are found on PATH or
in the folder KENLM_BIN, its Python module if it is installed; without them their rows are left out, and that is
said. Kernels are compiled before anything is measured. Training includes reading the text and writing the file;
KenLM's is lmplz and build_binary (probing). Scoring is that of TEST: gapgram's perplexity in an open model, KenLM's
query with the loading of its file, which is mapped.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import itertools
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from gapgram import __version__
from gapgram.corpus import blocks_of_files
from gapgram.report import table

MODELS = {
    "mkn": ["--model", "mkn"],
    "glm uniform": ["--weights", "uniform"],
    "glm learned": ["--weights", "learned"],
}

SCORE = """
import json, sys, time
from gapgram import load
begin = time.perf_counter(); model = load(sys.argv[1]); opening = time.perf_counter() - begin
model.perplexity(sys.argv[2], threads=1)
cpu, wall = time.process_time(), time.perf_counter()
result = model.perplexity(sys.argv[2], threads=1)
cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
lines = [line for line in open(sys.argv[2], encoding="utf-8").read().split("\\n") if line.strip()]
both = time.perf_counter(); model.score_many(lines); both = time.perf_counter() - both
one = time.perf_counter(); [model.score(line) for line in lines[:1000]]; one = time.perf_counter() - one
print(json.dumps({"opening": opening, "cpu": cpu, "wall": wall, "many": both, "one": one / min(1000, len(lines)),
                  "predictions": result.predictions, "known": result.perplexity_known}))
"""

KENLM_LOOP = """
import json, sys, time, kenlm
model = kenlm.Model(sys.argv[1])
lines = [line for line in open(sys.argv[2], encoding="utf-8").read().split("\\n") if line.strip()]
for _ in range(2):
    wall = time.perf_counter(); [model.score(line) for line in lines]; wall = time.perf_counter() - wall
print(json.dumps({"many": wall}))
"""


@dataclass(frozen=True)
class Run:
    """What a process used."""

    cpu: float
    wall: float
    peak_megabytes: float
    output: str


def run(arguments: list[str], stdin: Path | None = None, stdout: Path | None = None) -> Run:
    """Run a process and measure it; its errors are shown if it fails."""
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
            sys.exit(f"{' '.join(arguments)} failed:\n{errors.read().decode()}")
        text = "" if stdout else (out.seek(0), out.read().decode())[1]
    return Run(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1024, text)


def kenlm_program(name: str) -> str | None:
    return shutil.which(name, path=os.pathsep.join([os.environ.get("KENLM_BIN", ""), os.environ.get("PATH", "")]))


def measure_gapgram(train: Path, test: Path, order: int, folder: Path) -> list[dict[str, object]]:
    rows = []
    for name, options in MODELS.items():
        path = folder / name.replace(" ", "-")
        command = [sys.executable, "-m", "gapgram", "train", str(train), "-o", str(path), "-n", str(order), "-q"]
        trained = run([*command, *options])
        info = json.loads(run([sys.executable, "-m", "gapgram", "info", str(path), "--json"]).output)
        scored = json.loads(run([sys.executable, "-c", SCORE, str(path), str(test)]).output)
        rows.append({"name": name, "train": trained, "bytes": info["bytes"], "grams": info["grams"], **scored})
    return rows


def measure_kenlm(train: Path, test: Path, order: int, folder: Path) -> dict[str, object] | None:
    programs = {name: kenlm_program(name) for name in ("lmplz", "build_binary", "query")}
    if not all(programs.values()):
        print("KenLM's programs are neither on PATH nor in KENLM_BIN: its rows are left out", file=sys.stderr)
        return None
    arpa, binary = folder / "arpa", folder / "probing"
    lmplz = run([str(programs["lmplz"]), "-o", str(order), "-T", str(folder)], train, arpa)
    build = run([str(programs["build_binary"]), "probing", str(arpa), str(binary)])
    query = [str(programs["query"]), "-v", "summary", str(binary)]
    run(query, test)
    scored = run(query, test)
    with arpa.open(encoding="utf-8") as file:
        counts = [line for line in itertools.islice(file, 2 * order + 2) if line.startswith("ngram ")]
    row: dict[str, object] = {
        "name": "KenLM probing", "bytes": binary.stat().st_size, "cpu": scored.cpu, "wall": scored.wall,
        "train": Run(
            lmplz.cpu + build.cpu, lmplz.wall + build.wall, max(lmplz.peak_megabytes, build.peak_megabytes), ""
        ),
        "grams": sum(int(line.split("=")[1]) for line in counts),
    }  # fmt: skip
    if importlib.util.find_spec("kenlm"):
        row |= json.loads(run([sys.executable, "-c", KENLM_LOOP, str(binary), str(test)]).output)
    return row


def report(rows: list[dict[str, object]], words: int, predictions: int) -> str:
    header = ["", "train CPU s", "wall s", "peak MB", "µs/word", "bytes/gram", "open ms", "M words/CPU s", "list s"]
    lines = []
    for row in rows:
        train: Run = row["train"]  # type: ignore[assignment]
        lines.append([
            row["name"], f"{train.cpu:.1f}", f"{train.wall:.1f}", f"{train.peak_megabytes:,.0f}",
            f"{train.cpu / words * 1e6:.2f}", f"{row['bytes'] / row['grams']:.1f}",  # type: ignore[operator]
            f"{1000 * row['opening']:.1f}" if "opening" in row else "",  # type: ignore[operator]
            f"{predictions / row['cpu'] / 1e6:.2f}",  # type: ignore[operator]
            f"{row['many']:.3f}" if "many" in row else "",
        ])  # fmt: skip
    return table(header, lines)


def ratios(rows: list[dict[str, object]]) -> str:
    *ours, peer = rows
    lines = []
    for row in ours:
        train = row["train"].cpu / peer["train"].cpu  # type: ignore[attr-defined]
        line = [row["name"], f"{train:.2f} ×", f"{peer['cpu'] / row['cpu']:.2f} ×"]  # type: ignore[operator]
        line.append(f"{peer['many'] / row['many']:.2f} ×" if "many" in peer else "")  # type: ignore[operator]
        lines.append(line)
    return table(["relative to KenLM", "training CPU", "scoring speed", "list speed"], lines)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("train")
    arguments.add_argument("test")
    arguments.add_argument("-n", "--order", type=int, default=5)
    arguments.add_argument("--lines", type=int, help="of the training text")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        train, test = folder / "train.txt", folder / "test.txt"
        for source, target, limit in ((given.train, train, given.lines), (given.test, test, None)):
            lines = (line for block in blocks_of_files(source) for line in block.data.splitlines(keepends=True))
            with target.open("wb") as file:
                file.writelines(itertools.islice(lines, limit))
        warm = folder / "warm.txt"
        with train.open("rb") as source, warm.open("wb") as target:
            target.writelines(itertools.islice(source, 200))
        measure_gapgram(warm, warm, given.order, folder)
        data = train.read_bytes()
        words, digest = len(data.split()), hashlib.sha256(data).hexdigest()[:16]
        rows = measure_gapgram(train, test, given.order, folder)
        predictions = int(rows[0]["predictions"])  # type: ignore[call-overload]
        peer = measure_kenlm(train, test, given.order, folder)
        rows += [peer] if peer else []
    print(f"gapgram {__version__}, Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores; "
          f"order {given.order}; {words:,} words (sha256 {digest}); {predictions:,} predictions")  # fmt: skip
    print(report(rows, words, predictions))
    if peer:
        print("\n" + ratios(rows))


if __name__ == "__main__":
    main()
