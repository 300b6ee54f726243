"""What skips and classes bring, and what they cost: the perplexity of a test text under several models.

    python benchmarks/gain.py TRAIN TEST [TRAIN TEST …] [-n 5] [--models mkn 'glm classes' 'glm best' …]
                              [--tokenizer chars|FILE] [--lines N …] [--plot PICTURE.svg]

Trains models on each training text: modified Kneser-Ney, a glm of words alone (`--effort fast`), the default glm, with
word classes, and the best, with classes of several clusterings; `auto` models choose their patterns. Prints
perplexities without unknown words, what they gain over the first model, those of all words, and CPU seconds of training
and of scoring the test text, one thread; draws gain against both, of the last text. With --lines, for the first N lines
of each training text.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path
from typing import Any

import gapgram
from gapgram import Model
from gapgram.queries.perplexity import Perplexity
from gapgram.reporting.tables import table

MODELS: dict[str, dict[str, Any]] = {
    "mkn": {"model": "mkn"},
    "glm words": {"effort": "fast"},
    "glm classes": {"effort": "default"},
    "glm best": {"effort": "best"},
    "glm full+full": {"classes": "auto", "lattice": "full+full"},
    "glm 3": {"classes": ["auto", 60, 1500]},
    "glm chain": {"lattice": "chain"},
    **{f"glm auto:{n}": {"lattice": f"auto:{n}"} for n in (8, 12, 16, 24, 32, 40)},
    **{f"words auto:{n}": {"lattice": f"auto:{n}", "effort": "fast"} for n in (8, 12, 16, 24, 32, 40)},
    **{f"best auto:{n}": {"lattice": f"auto:{n}", "effort": "best"} for n in (16, 24, 32, 40)},
}
USUAL = ("mkn", "glm words", "glm classes", "glm best")


def trained(text: str, lines: int | None, order: int, options: dict[str, Any]) -> tuple[Model, float]:
    """A model of a text, or of its first lines, and the CPU seconds that it took."""
    began = time.process_time()
    if lines is None:
        model = gapgram.train(text, order=order, threads=1, **options)
    else:
        with Path(text).open(encoding="utf-8") as file:
            model = gapgram.train(sentences=islice(file, lines), order=order, threads=1, **options)
    return model, time.process_time() - began


def scored(model: Model, text: str) -> tuple[Perplexity, float]:
    """The perplexity of a text and the CPU seconds of scoring it, the least of three times after the first."""
    found, seconds = model.perplexity(text), math.inf
    for _ in range(3):
        began = time.process_time()
        model.perplexity(text)
        seconds = min(seconds, time.process_time() - began)
    return found, seconds


def gain(found: float, first: float) -> str:
    """How much less a perplexity is than the first."""
    return f"{100 * (first - found) / first:.1f} %"


@dataclass(frozen=True)
class Point:
    """A model: its gain in per cent, and CPU seconds of training and of scoring."""

    name: str
    gain: float
    training: float
    scoring: float


def plot(points: list[Point], path: str) -> None:
    """Draw gains against CPU seconds of training and of scoring, on logarithmic axes."""
    top = 5 * math.ceil(max(point.gain for point in points) / 5)
    lines = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 900 400" font-family="sans-serif" font-size="12">',
        '<rect width="900" height="400" fill="#fff"/>',
        '<text x="16" y="190" text-anchor="middle" transform="rotate(-90 16 190)">gain over mkn, %</text>',
        *panel(60, "CPU seconds of training", [point.training for point in points], points, top),
        *panel(500, "CPU seconds of scoring", [point.scoring for point in points], points, top),
        "</svg>",
    ]
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")


def panel(left: int, title: str, seconds: list[float], points: list[Point], top: int) -> list[str]:
    """The lines of one of the two plots."""
    low, high = math.log(min(seconds)), math.log(max(seconds))

    def across(value: float) -> float:
        return left + 20 + 250 * (math.log(value) - low) / (high - low)

    lines = [
        f'<path d="M{left} 30V350H{left + 350}" fill="none" stroke="#555"/>',
        f'<text x="{left + 170}" y="388" text-anchor="middle">{title}</text>',
    ]
    for gained in range(0, top + 1, 5):
        lines.append(f'<text x="{left - 6}" y="{354 - 320 * gained / top:.1f}" text-anchor="end">{gained}</text>')
    for tick in (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500):
        if low <= math.log(tick) <= high:
            lines.append(f'<text x="{across(tick):.1f}" y="366" text-anchor="middle">{tick:g}</text>')
            lines.append(f'<path d="M{across(tick):.1f} 350V346" stroke="#555"/>')
    for point, taken in zip(points, seconds, strict=True):
        x, y, chosen = across(taken), 350 - 320 * point.gain / top, "auto" in point.name
        lines.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{"#c40" if chosen else "#06c"}"/>')
        beside = f'x="{x + 5:.1f}" y="{y + 14:.1f}"' if chosen else f'x="{x - 5:.1f}" y="{y - 6:.1f}" text-anchor="end"'
        lines.append(f"<text {beside}>{point.name}</text>")
    return lines


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("texts", nargs="+")
    arguments.add_argument("-n", "--order", type=int, default=5)
    arguments.add_argument("--models", nargs="+", default=USUAL, choices=list(MODELS))
    arguments.add_argument("--tokenizer")
    arguments.add_argument("--plot", metavar="PICTURE")
    arguments.add_argument("--lines", type=int, nargs="+")
    given = arguments.parse_args()
    if len(given.texts) % 2:
        arguments.error("expected pairs of a training text and a test text")
    warnings.simplefilter("ignore", gapgram.errors.DiscountWarning)
    texts = zip(given.texts[::2], given.texts[1::2], strict=True)
    for (train, test), lines in product(texts, given.lines or [None]):
        rows: list[list[object]] = []
        points: list[Point] = []
        first = None
        for name in given.models:
            model, seconds = trained(train, lines, given.order, {**MODELS[name], "tokenizer": given.tokenizer})
            found, scoring = scored(model, test)
            first = first or found
            known, every = found.perplexity_known, found.perplexity
            gains = gain(known, first.perplexity_known), gain(every, first.perplexity)
            row = [name, len(model.counts.lattice.stored), f"{known:.2f}", gains[0], f"{every:.2f}", gains[1]]
            rows.append([*row, f"{seconds:.1f}", f"{scoring:.3f}"])
            points.append(Point(name, 100 * (1 - known / first.perplexity_known), seconds, scoring))
        print(f"{Path(train).name}, {model.counts.text.words:,} words")
        header = ["model", "patterns", "known words", "gain", "all words", "gain", "training, s", "scoring, s"]
        print(table(header, rows, left=1) + "\n", flush=True)
    if given.plot:
        plot(points, given.plot)


if __name__ == "__main__":
    main()
