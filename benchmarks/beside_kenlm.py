"""Steps and single sentences beside KenLM's Python module, in one process and in turn: a busy machine slows both.

    python benchmarks/beside_kenlm.py TEST KENLM_BINARY NAME=MODEL … [--sentences 500] [--rounds 7]

prints the table of docs/measured/decoding.md: nanoseconds of processor time a step, microseconds a sentence, and
KenLM's time divided by ours. A slice of the sentences goes through one model after the other, again and again; the
least time that a model took for each slice counts. Where MODEL is a file of KenLM's, KENLM_BINARY should be a copy:
of the same file one would find near what the other has just read.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import kenlm

import gapgram
from gapgram import kenlm as own_kenlm
from gapgram.reporting.tables import table

SLICE = 100  # sentences
TITLES = ["", "BaseScore, ns", "relative", "extend, ns", "kenlm score, µs", "relative", "Model.score, µs", "relative"]

Work = Callable[[list[str]], object]


def scored_by(model: Any) -> Work:
    """Scoring sentence by sentence."""
    return lambda lines: [model.score(line) for line in lines]


def stepped_by(module: Any, model: Any) -> Work:
    """`BaseScore` word by word."""

    def work(lines: list[str]) -> None:
        for line in lines:
            state = module.State()
            model.BeginSentenceWrite(state)
            for word in line.split():
                after = module.State()
                model.BaseScore(state, word, after)
                state = after

    return work


def extended_by(model: Any) -> Work:
    """`Model.extend` word by word."""

    def work(lines: list[str]) -> None:
        for line in lines:
            state = model.begin_sentence()
            for word in line.split():
                _, state = model.extend(state, word)

    return work


def in_turn(own: Work, theirs: Work, lines: list[str], rounds: int) -> tuple[float, float]:
    """Of both the sum over all slices of the least processor time that it took for a slice."""
    slices = [lines[a : a + SLICE] for a in range(0, len(lines), SLICE)]
    least = [[float("inf")] * len(slices) for _ in range(2)]
    for _ in range(rounds + 1):  # kernels are loaded and pages mapped in the first
        for i, some in enumerate(slices):
            for times, work in zip(least, (own, theirs), strict=True):
                began = time.process_time()
                work(some)
                times[i] = min(times[i], time.process_time() - began)
    return sum(least[0]), sum(least[1])


def main() -> None:
    """Measure, and print the table."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("text")
    arguments.add_argument("kenlm_binary")
    arguments.add_argument("models", nargs="+", metavar="NAME=MODEL")
    arguments.add_argument("--sentences", type=int, default=500)
    arguments.add_argument("--rounds", type=int, default=7)
    given = arguments.parse_args()
    read = Path(given.text).read_text("utf-8").split("\n")
    lines = [line for line in read if line.strip()][: given.sentences]
    steps, peer = sum(len(line.split()) for line in lines), kenlm.Model(given.kenlm_binary)
    rows = []
    for name, path in (one.split("=", 1) for one in given.models):
        model = gapgram.load(path)
        asked, ns, us = own_kenlm.Model(model), 1e9 / steps, 1e6 / len(lines)
        # Never two that read the same tables for the same sentences one after the other: the second would be faster.
        base, their_base = in_turn(stepped_by(own_kenlm, asked), stepped_by(kenlm, peer), lines, given.rounds)
        extend, _ = in_turn(extended_by(model), stepped_by(kenlm, peer), lines, given.rounds)
        one, their_one = in_turn(scored_by(asked), scored_by(peer), lines, given.rounds)
        own, their_own = in_turn(scored_by(model), scored_by(peer), lines, given.rounds)
        rows.append([
            name, f"{base * ns:,.0f}", f"{their_base / base:.2f}", f"{extend * ns:,.0f}",
            f"{one * us:.1f}", f"{their_one / one:.2f}", f"{own * us:.1f}", f"{their_own / own:.2f}",
        ])  # fmt: skip
        print(f"{name}: KenLM {their_base * ns:,.0f} ns a step, {their_own * us:.1f} µs a sentence", flush=True)
    print(f"{len(lines)} sentences, {steps / len(lines):.1f} words each")
    print(table(TITLES, rows))


if __name__ == "__main__":
    main()
