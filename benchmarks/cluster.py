"""What counting with Spark takes and moves, by Spark's own metrics, and whether the model is that of the local engine.

    python benchmarks/cluster.py TEXT [--words 1 5 20] [--masters local[1] local[2]] [-n 5] [--compare] [--json]

Each row is a `gapgram train --engine spark --weights uniform` in a process of its own on the first so many million
words of TEXT. Bytes are those of Spark's event log: what is shuffled for the vocabulary and for the windows, and what
is written as shards. CPU seconds and memory are those of all processes of the run together, Java's and Python's, looked
at ten times a second (memory as the sum of proportional set sizes, so that shared pages count once). `--compare`
trains the same model locally and compares the files.
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


def is_worker(pid: int) -> bool:
    try:
        return b"pyspark.daemon" in (PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return False


def watch(process: subprocess.Popen[bytes]) -> dict[str, float]:
    """Wall and CPU seconds of a process and all it starts, the most memory they took together, and a Python worker."""
    began, cpu, most, most_worker = time.perf_counter(), {}, 0, 0
    while process.poll() is None:
        processes = tree(process.pid)
        for pid, stat in processes.items():
            cpu[pid] = (int(stat[11]) + int(stat[12])) / TICK
        sizes = {pid: proportional_bytes(pid) for pid in processes}
        most = max(most, sum(sizes.values()))
        most_worker = max([most_worker, *(size for pid, size in sizes.items() if is_worker(pid))])
        time.sleep(0.1)
    return {
        "wall_seconds": time.perf_counter() - began, "cpu_seconds": sum(cpu.values()),
        "driver_cpu_seconds": cpu[process.pid],
        "peak_bytes": most, "worker_bytes": most_worker,
    }  # fmt: skip


def moved(events: Path) -> dict[str, int]:
    """Bytes that the tasks of a run shuffled and wrote."""
    shuffled: dict[int, int] = {}
    written = 0
    for path in events.rglob("events_*"):
        for line in path.read_text().splitlines():
            event = json.loads(line)
            if event["Event"] == "SparkListenerTaskEnd" and event.get("Task Metrics"):
                metrics, stage = event["Task Metrics"], event["Stage ID"]
                sent = metrics["Shuffle Write Metrics"]["Shuffle Bytes Written"]
                shuffled[stage] = shuffled.get(stage, 0) + sent
                written += metrics["Output Metrics"]["Bytes Written"]
    vocabulary, windows = [sent for _, sent in sorted(shuffled.items()) if sent][:2]
    return {"vocabulary_bytes": vocabulary, "window_bytes": windows, "shard_bytes": written}


def measure(text: Path, words: float, master: str, order: int, compare: bool, folder: Path) -> dict[str, Any]:
    part, model, events = folder / "text", folder / "model", folder / "events"
    first_words(text, words, part)
    events.mkdir()
    train = [sys.executable, "-m", "gapgram", "train", str(part), "-n", str(order), "--weights", "uniform", "-q"]
    settings = {"enabled": "true", "dir": events.as_uri(), "compress": "false"}
    conf = [part for name, value in settings.items() for part in ("--spark-conf", f"spark.eventLog.{name}={value}")]
    run = subprocess.Popen(
        [*train, "-o", str(model), "--engine", "spark", "--master", master, *conf], stderr=subprocess.DEVNULL
    )
    taken = watch(run)
    assert run.returncode == 0, "gapgram train failed"
    counts = Model.load(model).counts
    row = {
        "words": counts.text.words, "sentences": counts.text.sentences, "vocabulary": len(counts.vocabulary),
        "master": master, "order": order, "patterns": len(counts.lattice.stored), **taken, **moved(events),
        "text_bytes": part.stat().st_size, "model_bytes": model.stat().st_size,
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
    parser.add_argument("-n", "--order", type=int, default=5)
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    rows = []
    for words in arguments.words:
        for master in arguments.masters:
            with tempfile.TemporaryDirectory() as folder:
                options = (arguments.order, arguments.compare, Path(folder))
                rows.append(measure(arguments.text, words * 1e6, master, *options))
            print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    if arguments.json:
        print(json.dumps({"version": __version__, "rows": rows}, indent=2))
        return
    heads = ["words", "master", "wall s", "CPU s", "peak MB", "windows B/word", "vocabulary B/word", "shards B/word"]
    print(table(heads, [
        [f"{r['words']:,}", r["master"], f"{r['wall_seconds']:.0f}", f"{r['cpu_seconds']:.0f}",
         f"{r['peak_bytes'] / 1e6:,.0f}",
         *(f"{r[name] / r['words']:.2f}" for name in ("window_bytes", "vocabulary_bytes", "shard_bytes"))]
        for r in rows
    ]))  # fmt: skip


if __name__ == "__main__":
    main()
