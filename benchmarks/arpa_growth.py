"""Perplexity by the size of an ARPA file: an mkn, the same pruned, files grown from a glm, and the glm itself.

    gapgram train TRAIN -o MKN --model mkn;  gapgram train TRAIN -o GLM
    python benchmarks/arpa_growth.py MKN GLM TEST [--grams 4x 1x] [--keep 0.5 0.25]

Grams are grown once, for the first number, and pruned to the smaller ones. Each ARPA file is written, read by KenLM's
Python module, where that is installed, and scored by both. Perplexities are those of known words. MB are 1,000,000
bytes. benchmarks/arpa_plot.py draws the tables.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

import gapgram
from gapgram import BackoffModel, Model
from gapgram.models.arpa.growing.grow import as_model, grown_fit, within
from gapgram.models.arpa.growing.limits import limit_of
from gapgram.models.arpa.writing import as_backoff


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("mkn")
    arguments.add_argument("glm")
    arguments.add_argument("test")
    arguments.add_argument("--grams", nargs="*", default=["4x", "2x", "1x", "0.5x"])
    arguments.add_argument("--keep", nargs="*", type=float, default=[0.5, 0.25], help="Parts of the mkn's own file.")
    given = arguments.parse_args()
    mkn, glm = Model.load(given.mkn), Model.load(given.glm)
    print("| file | grams | MB | perplexity | with KenLM | CPU s |\n|---|--:|--:|--:|--:|--:|", flush=True)
    with TemporaryDirectory() as folder:
        for row in rows(mkn, glm, given.test, given.grams, given.keep, Path(folder) / "model.arpa"):
            print("| " + " | ".join(row) + " |", flush=True)


def rows(mkn: Model, glm: Model, test: str, grams: list[str], keep: list[float], path: Path) -> Iterator[list[str]]:
    """What is known of each file, the file itself being written to a path for a while."""
    for name, model in (("mkn", mkn), *((f"mkn, {part:.0%} kept", mkn.pruned(keep=part)) for part in keep)):
        began = time.process_time()
        written = as_backoff(model)
        gapgram.write_arpa(written, path)
        yield measured(name, written, path, test, began)
    began = time.process_time()
    fit = grown_fit(glm, limit_of(glm, grams[0], None, glm.order), glm.order)
    for number in grams:
        fit = within(fit, limit_of(glm, number, None, glm.order))
        written = as_model(glm, fit)
        gapgram.write_arpa(written, path)
        yield measured(f"grown, {number}", written, path, test, began)
        began = time.process_time()
    size = os.path.getsize(str(glm.path))
    yield ["the glm itself", "", megabytes(size), f"{glm.perplexity(test).perplexity_known:.1f}", "", ""]


def measured(name: str, model: BackoffModel, path: Path, test: str, began: float) -> list[str]:
    """One row."""
    seconds, n_grams = time.process_time() - began, sum(model.grams.sizes())
    own, theirs = model.perplexity(test).perplexity_known, by_kenlm(path, test)
    size, kenlm = megabytes(path.stat().st_size), f"{theirs:.1f}" if theirs else ""
    return [name, f"{n_grams:,}", size, f"{own:.1f}", kenlm, f"{seconds:.0f}"]


def megabytes(n_bytes: int) -> str:
    """A size in MB."""
    return f"{n_bytes / 1e6:.0f}" if n_bytes >= 10_000_000 else f"{n_bytes / 1e6:.1f}"


def by_kenlm(path: Path, test: str) -> float | None:
    """The perplexity of known words with KenLM, where it is installed."""
    try:
        theirs = import_module("kenlm").Model(str(path))
    except ImportError:
        return None
    total, n = 0.0, 0
    for line in Path(test).read_text("utf-8").splitlines():
        for score, _, unknown in theirs.full_scores(line):
            total, n = (total, n) if unknown else (total + score, n + 1)
    return float(10 ** (-total / n))


if __name__ == "__main__":
    main()
