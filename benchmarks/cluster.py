"""What counting with Spark takes and moves, by Spark's own metrics, and whether the model is that of the local engine.

    python benchmarks/cluster.py TEXT [--words 1 5 20] [--masters local[1] local-cluster[2,1,1024]] [--compare] [--json]
        [--train '--model mkn --prune 0,0,1,1,2']

Each row is a `gapgram train --engine spark` in a process of its own on the first so many million words of TEXT, a file
or, whole, a folder. Bytes are those of Spark's event log: what is shuffled for the vocabulary and for the windows; and
those of the files of counts. CPU seconds and memory are those of the processes of the run, by what they are, looked at
ten times a second (memory as proportional set sizes, so that shared pages count once). `--compare` trains the same
model locally and compares the files.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from gapgram import Model, __version__
from gapgram.kernels.tables.arrays import N_ROWS
from gapgram.reporting.tables import table

PROC, TICK = Path("/proc"), os.sysconf("SC_CLK_TCK")


def first_words(text: Path, words: float, target: Path) -> None:
    """The first lines of a text that hold so many words."""
    left = words
    with text.open("rb") as source, target.open("wb") as out:
        for line in source:
            out.write(line)
            left -= len(line.split())
            if left <= 0:
                return


def tree(root: int) -> dict[int, list[str]]:
    """The processes that one has started, itself included, with what /proc says of them."""
    stats: dict[int, list[str]] = {}
    for path in PROC.iterdir():
        if path.name.isdigit():
            try:
                stats[int(path.name)] = (path / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
    found = {}
    for pid in stats:
        up = pid
        while up in stats and up != root:
            up = int(stats[up][1])
        if up == root:
            found[pid] = stats[pid]
    return found


def proportional_bytes(pid: int) -> int:
    try:
        lines = (PROC / str(pid) / "smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


def role(pid: int, root: int) -> str:
    """What a process is of a run."""
    try:
        line = (PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return "gone"
    for name, part in (("worker", b"pyspark.daemon"), ("executor", b"ExecutorBackend"), ("driver's Java", b"java")):
        if part in line and pid != root and (b"java" in line) == (name != "worker"):
            return name
    return "driver" if pid == root else "other"


def watch(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    """Wall seconds; by what processes are, their CPU seconds and the most memory of one; memory of all together."""
    began, most, roles = time.perf_counter(), 0, dict[int, str]()
    cpu, memory = dict[int, float](), dict[str, int]()
    while process.poll() is None:
        sizes = {}
        for pid, stat in tree(process.pid).items():
            if roles.get(pid, "other") == "other":
                roles[pid] = role(pid, process.pid)
            cpu[pid], sizes[pid] = (int(stat[11]) + int(stat[12])) / TICK, proportional_bytes(pid)
            memory[roles[pid]] = max(memory.get(roles[pid], 0), sizes[pid])
        most = max(most, sum(sizes.values()))
        time.sleep(0.1)
    of_roles = {name: round(sum(s for pid, s in cpu.items() if roles[pid] == name), 1) for name in memory}
    return {
        "wall_seconds": time.perf_counter() - began, "cpu_seconds": of_roles, "peak_bytes": most, "memory": memory,
    }  # fmt: skip


def moved(events: Path) -> dict[str, int]:
    """Bytes that the tasks of a run shuffled and wrote."""
    shuffled: dict[int, int] = {}
    for path in events.rglob("events_*"):
        for line in path.read_text().splitlines():
            event = json.loads(line)
            if event["Event"] == "SparkListenerTaskEnd" and event.get("Task Metrics"):
                metrics, stage = event["Task Metrics"], event["Stage ID"]
                sent = metrics["Shuffle Write Metrics"]["Shuffle Bytes Written"]
                shuffled[stage] = shuffled.get(stage, 0) + sent
    vocabulary, windows = [sent for _, sent in sorted(shuffled.items()) if sent][:2]
    return {"vocabulary_bytes": vocabulary, "window_bytes": windows}


def measure(text: Path, words: float, master: str, options: list[str], compare: bool, folder: Path) -> dict[str, Any]:
    part, model, events, shards = text, folder / "model", folder / "events", folder / "shards"
    if not text.is_dir():
        part = folder / "text"
        first_words(text, words, part)
    events.mkdir()
    texts = [str(path) for path in (sorted(part.iterdir()) if part.is_dir() else [part])]
    train = [sys.executable, "-m", "gapgram", "train", *texts, *options, "-q"]
    settings = {"enabled": "true", "dir": events.as_uri(), "compress": "false"}
    conf = [part for name, value in settings.items() for part in ("--spark-conf", f"spark.eventLog.{name}={value}")]
    run = subprocess.Popen(
        [*train, "-o", str(model), "--engine", "spark", "--master", master, "--shards", str(shards), *conf]
    )
    taken = watch(run)
    assert run.returncode == 0, "gapgram train failed"
    counts = Model.load(model).counts
    row = {
        "words": counts.text.words, "sentences": counts.text.sentences, "vocabulary": len(counts.vocabulary),
        "master": master, "options": options, "grams": counts.n_grams, **taken, **moved(events),
        "shard_bytes": sum(path.stat().st_size for path in shards.iterdir()), "model_bytes": model.stat().st_size,
        "text_bytes": sum(Path(path).stat().st_size for path in texts),
        "rows": counts.tables.places[:, N_ROWS].tolist(),
    }  # fmt: skip
    if compare:
        subprocess.run([*train, "-o", str(folder / "local")], check=True, stderr=subprocess.DEVNULL)
        row["same"] = (folder / "local").read_bytes() == model.read_bytes()
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path)
    parser.add_argument("--words", type=float, nargs="+", default=[1.0], help="millions")
    parser.add_argument("--masters", nargs="+", default=["local[2]"])
    parser.add_argument("--train", default="--weights uniform", help="options of gapgram train")
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    rows = []
    for words in arguments.words:
        for master in arguments.masters:
            with tempfile.TemporaryDirectory() as folder:
                options = (arguments.train.split(), arguments.compare, Path(folder))
                rows.append(measure(arguments.text, words * 1e6, master, *options))
            print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    if arguments.json:
        print(json.dumps({"version": __version__, "rows": rows}, indent=2))
        return
    heads = ["words", "master", "wall s", "CPU s", "peak MB", "windows B/word", "vocabulary B/word", "shards B/word"]
    print(table(heads, [
        [f"{r['words']:,}", r["master"], f"{r['wall_seconds']:.0f}", f"{sum(r['cpu_seconds'].values()):.0f}",
         f"{r['peak_bytes'] / 1e6:,.0f}",
         *(f"{r[name] / r['words']:.2f}" for name in ("window_bytes", "vocabulary_bytes", "shard_bytes"))]
        for r in rows
    ]))  # fmt: skip


if __name__ == "__main__":
    main()
