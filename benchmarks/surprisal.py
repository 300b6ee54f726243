"""How well surprisal under mkn and glm predicts reading times.

    python benchmarks/surprisal.py WORDS.tsv MODEL…

WORDS.tsv is `processed_wordinfo.tsv` of the Natural Stories corpus (one row a word: word, zone, item, meanItemRT). Each
word's mean reading time, as a logarithm, is fitted by its length, its frequency, whether a mark touches it, its place,
and the same of the word before it; surprisal of both words is then added. Reported: what that adds to the
log-likelihood of words left out (10 folds), in thousandths of a nat a word, with the error of that mean over folds.
"""

from __future__ import annotations

import csv
import math
import re
import sys
import time
from pathlib import Path

import numpy as np

import gapgram
from gapgram import Measures
from gapgram.arrays import Floats
from gapgram.reporting.tables import table

FOLDS = 10
_ENDS = re.compile(r"[.?!]['\")]*$")


def stimuli(path: Path, out: Path) -> None:
    """The words of each story in order, with the sentence that each is in, as a table of regions."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    rows.sort(key=lambda row: (int(row["item"]), int(row["zone"])))
    lines, sentence = ["item\tnumber\tshown\ttime"], 1
    for row in rows:
        lines.append(f"{row['item']}\t{sentence}\t{row['word']}\t{row['meanItemRT']}")
        sentence += bool(_ENDS.search(row["word"]))
    out.write_text("\n".join([*lines, ""]), encoding="utf-8")


def columns_of(model: gapgram.LanguageModel, path: Path) -> dict[str, list[float]]:
    """Times, lengths, frequencies and all surprisals of the words."""
    places = gapgram.StimulusColumns(region="shown", item="item", sentence="number")
    measures = Measures(lengths=True)
    found = gapgram.surprisal(model, path, columns=places, measures=measures, punctuation="join")
    rows = [dict(zip(found.columns, row, strict=True)) for row in found.rows]
    names = ["surprisal", *(f"last_{k}" for k in range(model.order))]
    return {
        "time": [math.log(float(row["time"])) for row in rows],
        "length": [float(len(row["word"])) for row in rows],
        "frequency": [math.log(1 + (row["frequency"] or 0)) for row in rows],
        "mark": [float(not row["word"].isalnum()) for row in rows],
        "position": [float(row["position"]) for row in rows],
        **{name: [float(row[name]) for row in rows] for name in names},
    }


def likelihoods(found: dict[str, list[float]], added: list[str]) -> Floats:
    """The log-likelihood of each fold's words under a line fitted on the others."""
    own = [found[name][1:] for name in ("length", "frequency", "mark", *added)]
    before = [found[name][:-1] for name in ("length", "frequency", "mark", *added)]
    inputs = np.array([np.ones(len(own[0])), found["position"][1:], *own, *before]).T
    times = np.array(found["time"][1:])
    folds = np.arange(times.size) * FOLDS // times.size
    out = []
    for fold in range(FOLDS):
        train, test = folds != fold, folds == fold
        line = np.linalg.lstsq(inputs[train], times[train], rcond=None)[0]
        spread = float((times[train] - inputs[train] @ line).std())
        errors = (times[test] - inputs[test] @ line) / spread
        out.append(float(-(errors**2).mean() / 2 - math.log(spread)))
    return np.array(out)


def main(words: Path, paths: list[str]) -> None:
    """A line a model and predictor."""
    prepared, rows = Path("stimuli.tsv"), []
    stimuli(words, prepared)
    for path in paths:
        model = gapgram.load(path)
        begun = time.perf_counter()
        found = columns_of(model, prepared)
        seconds = time.perf_counter() - begun
        base = likelihoods(found, [])
        for name in ["surprisal", *(f"last_{k}" for k in range(model.order))]:
            gains = 1000 * (likelihoods(found, [name]) - base)
            error = gains.std(ddof=1) / math.sqrt(FOLDS)
            speed = f"{len(found['time']) / seconds:,.0f}"
            rows.append([Path(path).name, name, f"{gains.mean():.2f} ± {error:.2f}", speed])
    print(table(["model", "added", "gain", "words a second"], rows, left=2))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
