"""What contexts without a limit cost: training, bytes, scoring, evidence, tracing; the two models by turns.

    python -m benchmarks.unbounded TRAIN TEST [--threads N]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path

import gapgram
from gapgram.models.unbounded import UnboundedModel
from gapgram.reporting.tracing import Tracer
from gapgram.text.files import blocks_of_files

TURNS, ASKED = 5, 200


def cpu_seconds(work: Callable[[], object]) -> tuple[float, float]:
    """CPU seconds and seconds by the clock that some work takes."""
    began, cpu = time.perf_counter(), time.process_time()
    work()
    return time.process_time() - cpu, time.perf_counter() - began


def main() -> None:
    """Train both models and ask them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("train")
    parser.add_argument("test")
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = {kind: Path(folder, kind) for kind in ("patterns", "unbounded")}
        for kind, path in files.items():
            train = partial(gapgram.train, given.train, output=path, unbounded=kind == "unbounded")
            cpu, clock = cpu_seconds(partial(train, threads=given.threads))
            print(f"train {kind}: {cpu:.1f} CPU s, {clock:.1f} s, {path.stat().st_size:,} bytes")
        plain, kept = (gapgram.load(path) for path in files.values())
        assert isinstance(kept, UnboundedModel)
        more = files["unbounded"].stat().st_size - files["patterns"].stat().st_size
        print(f"bytes a word: {more / kept.counts.text.words:.1f}")
        for model in (plain, kept):
            print(f"perplexity of known words: {model.perplexity(given.test).perplexity_known:.2f}")
        least = {True: 1e9, False: 1e9}
        for _ in range(TURNS):
            for model in (plain, kept):
                cpu, _ = cpu_seconds(partial(model.perplexity, given.test, threads=1))
                least[model is kept] = min(least[model is kept], cpu)
        print(f"scoring, speed of that without: {least[False] / least[True]:.2f}")
        with Path(given.test).open(encoding="utf-8") as file:
            lines = [words for words in map(str.split, islice(file, ASKED)) if len(words) > 4]
        kept.evidence("the", "of")
        times = []
        for words in lines:
            at = len(words) // 2
            times.append(cpu_seconds(partial(kept.evidence, words[at], ["<s>", *words[:at]]))[1])
        print(f"evidence, ms: mean {1e3 * sum(times) / len(times):.2f}, worst {1e3 * max(times):.2f}")
        tracer, n = Tracer(kept), 0
        cpu = time.process_time()
        for document in tracer.documents(blocks_of_files([given.test]), threads=1):
            n += document.words
        print(f"trace, M words a CPU second: {n / (time.process_time() - cpu) / 1e6:.2f}")


if __name__ == "__main__":
    main()
