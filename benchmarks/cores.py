"""How long training takes with more and more cores, and with a graphics card.

    python benchmarks/cores.py TEXT [--threads 1,2,4,8,16] [--device cuda] [--times 3] [--plot PICTURE.svg]

trains the default model so many times with each number of threads, after one training to warm up; prints the least
time, by step, how many times as fast that is as with the first number, and whether the files are the same. `ids to
weights` is all but reading, and writing what the file still lacks when the weights are there.
`docs/measured/cores.md` and `docs/measured/card.md` say what came of it.
"""

from __future__ import annotations

import argparse
import math
import time
from collections import defaultdict
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import gapgram
from gapgram.cuda import fitting
from gapgram.estimation.weights.learned import Problem
from gapgram.system.array_file import Unfinished
from gapgram.training import run

# What is timed: where it is called from, its name there, and what it is.
STEPS: tuple[tuple[Any, str, str], ...] = (
    (run, "read_text", "read"),
    (run, "choose_classes", "classes, words counted meanwhile"),
    (run, "counts_in_memory", "count classes, put together"),
    (run, "estimate_discounts", "discounts"),
    (run, "left_out", "look up the sample"),
    (Problem, "fit", "fit"),
    (fitting, "fit", "fit on the card"),
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


def train(text: str, threads: int, device: str, taken: dict[str, float]) -> tuple[float, str]:
    """Seconds that one training takes, and the digest of the file."""
    taken.clear()
    with TemporaryDirectory() as folder:
        output = Path(folder) / "model"
        begin = time.perf_counter()
        gapgram.train(text, output=output, threads=threads, device=device)
        seconds = time.perf_counter() - begin
        return seconds, sha256(output.read_bytes()).hexdigest()


def measure(text: str, threads: int, device: str, times: int, taken: dict[str, float]) -> tuple[float, str]:
    """The least of several trainings, with what its steps took."""
    best, steps, digest = float("inf"), dict[str, float](), ""
    for _ in range(times):
        seconds, digest = train(text, threads, device, taken)
        if seconds < best:
            best, steps = seconds, dict(taken)
    steps["wait for the counts of words; the rest"] = best - sum(steps.values())
    print(f"\n{threads} threads, {device}: {best:.2f} s")
    for title, of_step in steps.items():
        print(f"    {title:<40}{of_step:>8.2f}")
    ids_to_weights = best - steps["read"] - steps["write the rest"]
    print(f"    {'ids to weights':<40}{ids_to_weights:>8.2f}", flush=True)
    return best, digest


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
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--plot", metavar="PICTURE")
    options = parser.parse_args()
    taken: dict[str, float] = defaultdict(float)
    for owner, name, title in STEPS:
        setattr(owner, name, timed(getattr(owner, name), title, taken))
    numbers = [int(n) for n in options.threads.split(",")]
    if options.times > 1:
        train(options.text, numbers[-1], options.device, taken)
    found = {n: measure(options.text, n, options.device, options.times, taken) for n in numbers}
    first = found[numbers[0]][0]
    speed_ups = {n: first / seconds for n, (seconds, _) in found.items()}
    print("\nspeed-up: " + ", ".join(f"{n}: {up:.2f}" for n, up in speed_ups.items()))
    print("the files are the same:", len({digest for _, digest in found.values()}) == 1)
    if options.plot:
        plot(speed_ups, options.plot)


if __name__ == "__main__":
    main()
