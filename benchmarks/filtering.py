"""How fast `filter` is on JSON lines beside `score_many`, and how well it tells good text from bad.

    python benchmarks/filtering.py speed TEXT MODEL…
    python benchmarks/filtering.py choice GOOD_TEXT OTHER_TEXT MODEL… [--against BAD…]

speed: documents of eight lines of TEXT as JSON lines, filtered and scored in turns, the best of three; on all cores,
files in the current folder. choice: lines of both texts mixed; how much of what is kept is good, where as many are kept
as there are good ones, and the area under the curve of good against bad (of lines of eight words and more).
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import numpy as np

import gapgram
from gapgram import DocumentScorer
from gapgram.arrays import Floats
from gapgram.reporting.tables import table

ROUNDS = 3
LINES = 8  # of a document


def documents(text: Path, n: int = 8000) -> list[list[str]]:
    """The lines of a text, a document every so many."""
    with text.open(encoding="utf-8") as file:
        lines = iter([line.rstrip("\n") for line in islice(file, n * LINES)])
    return [found for _ in range(n) if (found := list(islice(lines, LINES)))]


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """(seconds, seconds of processor time) of some work."""
    begun, used = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - begun, time.process_time() - used


def speed(text: Path, paths: list[str]) -> None:
    """Words a second of both ways."""
    found = documents(text)
    records, lines = Path("records.jsonl"), [line for one in found for line in one]
    with records.open("w", encoding="utf-8") as file:
        for number, one in enumerate(found):
            file.write(json.dumps({"id": number, "text": "\n".join(one)}, ensure_ascii=False) + "\n")
    n_words, rows = sum(len(line.split()) for line in lines), []
    for path in paths:
        model = gapgram.load(path)
        ways: dict[str, Callable[[], object]] = {
            "score_many": lambda model=model: model.score_many(lines),  # type: ignore[misc]
            "filter": lambda model=model: gapgram.filter_records(model, records, "filtered.jsonl"),  # type: ignore[misc]
        }
        best = dict.fromkeys(ways, (np.inf, np.inf))
        for _ in range(ROUNDS):
            for name, work in ways.items():
                best[name] = tuple(map(min, best[name], timed(work)))  # type: ignore[assignment]
        raw, own = best["score_many"], best["filter"]
        figures = [f"{n_words / seconds:,.0f}" for seconds in (raw[0], own[0])]
        rows.append([Path(path).name, *figures, f"{100 * raw[0] / own[0]:.0f} %", f"{100 * raw[1] / own[1]:.0f} %"])
    print(table(["model", "score_many words/s", "filter words/s", "share of speed", "by processor time"], rows))
    print(f"most memory of the process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10:,} MiB")


def measures(paths: list[str], against: list[str], lines: list[str]) -> dict[str, Floats]:
    """log10 of the perplexity of each line under each model, and the differences."""
    found = {p: DocumentScorer(gapgram.load(p)).arrays(lines).log10_perplexity for p in [*paths, *against]}
    out = {Path(p).name: found[p] for p in paths}
    return out | {f"{Path(p).name} against {Path(b).name}": found[p] - found[b] for p, b in zip(paths, against)}  # noqa: B905


def choice(good: Path, other: Path, paths: list[str], against: list[str]) -> None:
    """How well each measure tells the lines of two texts apart."""
    texts = [[line for line in path.read_text("utf-8").splitlines() if len(line.split()) > 7] for path in (good, other)]
    lines, is_good = texts[0] + texts[1], np.array([True] * len(texts[0]) + [False] * len(texts[1]))
    rows = []
    for name, values in measures(paths, against, lines).items():
        order = np.argsort(values)
        ranks = np.empty(order.size)
        ranks[order] = np.arange(1, order.size + 1)
        n_good, n_bad = int(is_good.sum()), int((~is_good).sum())
        area = 1 - (ranks[is_good].sum() - n_good * (n_good + 1) / 2) / (n_good * n_bad)
        rows.append([name, f"{100 * is_good[order[:n_good]].mean():.2f} %", f"{area:.4f}"])
    print(table(["chosen by", "good among those kept", "area"], rows))


if __name__ == "__main__":
    what, *arguments = sys.argv[1:]
    if what == "speed":
        speed(Path(arguments[0]), arguments[1:])
    else:
        cut = arguments.index("--against") if "--against" in arguments else len(arguments)
        choice(Path(arguments[0]), Path(arguments[1]), arguments[2:cut], arguments[cut + 1 :])
