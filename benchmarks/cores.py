"""How long training takes with more and more cores; and scoring, with more and more cores.

    python benchmarks/cores.py TEXT [--threads 1,2,4,8,16] [--times 3] [--plot PICTURE.svg]
    python benchmarks/cores.py TEXT --score MODEL [--threads 1,2,4,8,16] [--times 3]
    python benchmarks/cores.py TEXT --score MODEL --lock [--times 5]          # pip install gilknocker

The first trains the default model so many times with each number of threads, after one training to warm up; prints the
least time, by step, how many times as fast that is as with the least number, and whether the files are the same. `ids
to weights` is all but reading, and writing what the file still lacks when the weights are there. The second scores the
text with a model: as ids, as a file, and as sentences. The third prints for what share of that time one thread holds
Python's lock, the least, the middle and the largest of so many tries: another thread asks for it 10,000 times a second
and notes how often it has to wait. `docs/measured/cores.md` says what came of it.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import gapgram
from gapgram.estimation.weights.learned import Problem
from gapgram.system.array_file import Unfinished
from gapgram.text.corpus import encode, sentence_begins
from gapgram.text.files import blocks_of_files
from gapgram.training import limits, run

# What is timed: where it is called from, its name there, and what it is.
STEPS: tuple[tuple[Any, str, str], ...] = (
    (run, "read_text", "read"),
    (run, "choose_classes", "classes, words counted meanwhile"),
    (limits, "counts_in_memory", "count classes, put together"),
    (run, "estimate_discounts", "discounts"),
    (run, "fitting_sample", "look up the sample"),
    (Problem, "fit", "fit"),
    (Unfinished, "complete", "write the rest"),
)


def timed(work: Callable[..., Any], title: str, taken: dict[str, float]) -> Callable[..., Any]:
    """The same function, whose time is added up."""

    def call(*arguments: Any, **options: Any) -> Any:
        begin = time.perf_counter()
        try:
            return work(*arguments, **options)
        finally:
            taken[title] += time.perf_counter() - begin

    return call


def train(text: str, threads: int, taken: dict[str, float]) -> tuple[float, str]:
    """Seconds that one training takes, and the digest of the file."""
    taken.clear()
    with TemporaryDirectory() as folder:
        output = Path(folder) / "model"
        begin = time.perf_counter()
        gapgram.train(text, output=output, threads=threads)
        seconds = time.perf_counter() - begin
        return seconds, sha256(output.read_bytes()).hexdigest()


def measure(text: str, threads: int, times: int, taken: dict[str, float]) -> tuple[float, str, dict[str, float]]:
    """The least of several trainings, its digest, and what its steps took."""
    best, steps, digest = float("inf"), dict[str, float](), ""
    for _ in range(times):
        seconds, digest = train(text, threads, taken)
        if seconds < best:
            best, steps = seconds, dict(taken)
    steps["wait for the counts of words; the rest"] = best - sum(steps.values())
    steps["ids to weights"] = best - steps["read"] - steps["write the rest"]
    print(f"{threads} threads: {best:.2f} s", flush=True)
    return best, digest, steps


def print_steps(found: dict[int, tuple[float, str, dict[str, float]]]) -> None:
    """A row a step, a column a number of threads."""
    titles = dict.fromkeys(title for _, _, steps in found.values() for title in steps)
    print("\n" + f"{'threads':<40}" + "".join(f"{n:>8}" for n in found))
    for title in titles:
        print(f"{title:<40}" + "".join(f"{steps.get(title, 0.0):>8.2f}" for _, _, steps in found.values()))


def least_seconds(work: Callable[[], object], times: int) -> float:
    """By the clock."""
    best = float("inf")
    for _ in range(times):
        begin = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - begin)
    return best


def ways_to_score(path: str, text: str) -> tuple[int, dict[str, Callable[[int], object]]]:
    """How many words there are, and what scores them with so many threads: as ids, as a file, and as sentences."""
    model = gapgram.Model.load(path)
    ids = np.concatenate([block.ids for block in encode(blocks_of_files(text), model.vocabulary)])
    begins, lines = sentence_begins(ids), Path(text).read_text(encoding="utf-8").splitlines()
    return ids.size, {
        "ids": lambda threads: model.score_ids(ids, begins, threads=threads),
        "file": lambda threads: model.perplexity(text, threads=threads),
        "sentences": lambda threads: model.score_many(lines, threads=threads),
    }


def measure_scoring(path: str, text: str, numbers: list[int], times: int) -> None:
    """How long a model takes to score a text."""
    n_words, ways = ways_to_score(path, text)
    for name, score in ways.items():
        score(numbers[-1])
        seconds = {n: least_seconds(partial(score, n), times) for n in numbers}
        first = seconds[numbers[0]]
        print(
            f"{name:<12}" + "".join(f"{n:>6}: {s:.2f} s, {n_words / s / 1e6:.2f} M words/s, {first / s:.2f} x"
            for n, s in seconds.items()), flush=True,
        )  # fmt: skip


def measure_lock(path: str, text: str, times: int) -> None:
    """For what share of the time one thread that scores a text holds Python's lock."""
    try:
        from gilknocker import KnockKnock
    except ImportError:
        sys.exit("gilknocker, which looks at Python's lock, is missing: pip install gilknocker")

    for name, score in ways_to_score(path, text)[1].items():
        score(1)
        shares = []
        for _ in range(times):
            watcher = KnockKnock(100)  # microseconds between two looks
            watcher.start()
            time.sleep(0.2)  # until it looks
            watcher.reset_contention_metric()
            score(1)
            shares.append(100 * watcher.contention_metric)
            watcher.stop()
        print(f"{name:<12}" + "  ".join(f"{f(shares):.2f} %" for f in (min, statistics.median, max)), flush=True)


def plot(speed_ups: dict[int, float], path: str) -> None:
    """Speed-up against threads, beside as many times as there are threads; both axes by doublings."""
    most = math.log2(max(speed_ups))

    def place(n: float, up: float) -> tuple[float, float]:
        return 60 + 300 * math.log2(n) / most, 330 - 300 * math.log2(up) / most

    points = " ".join("{:.1f},{:.1f}".format(*place(n, up)) for n, up in speed_ups.items())
    lines = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 420 380" font-family="sans-serif" font-size="13">',
        '<rect width="420" height="380" fill="#fff"/>',
        '<path d="M60 30V330H360" fill="none" stroke="#555"/>',
        '<path d="M60 330L360 30" stroke="#bbb" stroke-dasharray="4 4"/>',
        f'<polyline points="{points}" fill="none" stroke="#06c" stroke-width="2"/>',
    ]
    for n, up in speed_ups.items():
        x, y = place(n, up)
        lines += [
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="#06c"/>',
            f'<text x="{x + 6:.1f}" y="{y + 16:.1f}">{up:.1f}</text>',
            f'<text x="{x:.1f}" y="348" text-anchor="middle">{n}</text>',
            f'<text x="52" y="{place(1, n)[1] + 4:.1f}" text-anchor="end">{n}</text>',
        ]
    lines += [
        '<text x="210" y="370" text-anchor="middle">threads</text>',
        '<text x="20" y="180" text-anchor="middle" transform="rotate(-90 20 180)">times as fast as one</text></svg>',
    ]
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    """Measure one text."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("text")
    parser.add_argument("--threads", default="1,2,4,8,16")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--plot", metavar="PICTURE")
    parser.add_argument("--score", metavar="MODEL")
    parser.add_argument("--lock", action="store_true")
    options = parser.parse_args()
    numbers = [int(n) for n in options.threads.split(",")]
    if options.lock and not options.score:
        parser.error("--lock: say which model is to score, with --score MODEL")
    if options.lock:
        measure_lock(options.score, options.text, options.times)
        return
    if options.score:
        measure_scoring(options.score, options.text, numbers, options.times)
        return
    taken: dict[str, float] = defaultdict(float)
    for owner, name, title in STEPS:
        setattr(owner, name, timed(getattr(owner, name), title, taken))
    if options.times > 1:
        train(options.text, numbers[-1], taken)
    found = {n: measure(options.text, n, options.times, taken) for n in numbers}
    first = found[min(numbers)][0]
    print_steps(found)
    speed_ups = {n: first / found[n][0] for n in sorted(found)}
    print("\nspeed-up: " + ", ".join(f"{n}: {up:.2f}" for n, up in speed_ups.items()))
    print("the files are the same:", len({digest for _, digest, _ in found.values()}) == 1)
    if options.plot:
        plot(speed_ups, options.plot)


if __name__ == "__main__":
    main()
