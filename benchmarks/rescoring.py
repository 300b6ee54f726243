"""n-best lists of a made-up recogniser, ranked anew by mkn and glm.

    python benchmarks/rescoring.py VALIDATION TEST MODEL… [--sentences N]

The recogniser hears each word as itself or as words that are spelt alike: each has a score that falls with the edits
between them, and noise. Its list has the 100 sentences with the highest sums. Weights are tuned on lists of VALIDATION
and applied to those of TEST; the words that may be heard are those of the first model that occur five times and more.
"""

from __future__ import annotations

import heapq
import random
import sys
import time
from pathlib import Path

import gapgram
from gapgram import NBest, Rescorer
from gapgram.applications.correction.candidates import NearWords, edits_between
from gapgram.applications.rescoring.nbest import ListedText
from gapgram.applications.surprisal.measures import word_frequencies
from gapgram.reporting.tables import table

PER_EDIT, NOISE = 1.0, 0.55  # of log10, of a word's score
N_BEST, HEARD = 100, 6


def heard(word: str, near: NearWords, draw: random.Random) -> list[tuple[float, str]]:
    """What a word is heard as, with scores, the highest first."""
    if len(word) < 2 or not word.isalpha() or not word.islower():
        return [(0.0, word)]
    others = [(other, edits_between(word, other, 2)) for other in near.near(word, 2 if len(word) > 4 else 1)]
    choices = [(0.0, word), *((-PER_EDIT * len(edits), other) for other, edits in others if edits)]
    return sorted(((score + draw.gauss(0, NOISE), other) for score, other in choices), reverse=True)[:HEARD]


def n_best(line: str, number: int, near: NearWords, draw: random.Random) -> NBest:
    """The list of a sentence."""
    beam: list[tuple[float, tuple[str, ...]]] = [(0.0, ())]
    for word in line.split():
        choices = heard(word, near, draw)
        beam = heapq.nlargest(N_BEST, ((total + s, (*words, w)) for total, words in beam for s, w in choices))
    return NBest(str(number), [ListedText(" ".join(words), (round(total, 4),)) for total, words in beam])


def lists_of(text: Path, n: int, near: NearWords, seed: int) -> tuple[list[NBest], list[list[str]]]:
    """The lists of the first sentences of a text, and the sentences."""
    lines = [line for line in text.read_text(encoding="utf-8").splitlines()[:n] if line]
    draw = random.Random(seed)
    return [n_best(line, i, near, draw) for i, line in enumerate(lines)], [line.split() for line in lines]


def main(validation: Path, test: Path, paths: list[str], n: int) -> None:
    """Word error rates of each model, untuned and tuned."""
    models = {Path(path).name: gapgram.load(path) for path in paths}
    first = next(iter(models.values()))
    counts = word_frequencies(first)
    near = NearWords(w for i, w in enumerate(first.vocabulary) if w.islower() and (counts is None or counts[i] >= 5))
    tuning, tuning_references = lists_of(validation, n, near, 1)
    lists, references = lists_of(test, n, near, 2)
    rows: list[list[object]] = []
    for name, model in models.items():
        begun = time.perf_counter()
        rescorer = Rescorer(model).tuned(tuning, tuning_references)
        tuned_in = time.perf_counter() - begun
        for title, one in (("weights of 1", Rescorer(model)), ("tuned", rescorer)):
            begun = time.perf_counter()
            found = one.rescore(lists)
            speed = sum(len(x.hypotheses) for x in lists) / (time.perf_counter() - begun)
            result = gapgram.gain(found, references)
            rows.append(
                [name, title, result.before, result.after, result.oracle, f"{result.better:.3f}", f"{speed:,.0f}"]
            )
        print(name, rescorer.weights, f"tuned in {tuned_in:.0f} s", file=sys.stderr)
    print(table(["model", "", "before", "after", "best in list", "better", "hypotheses/s"], rows, left=2))


if __name__ == "__main__":
    arguments = sys.argv[1:]
    cut = arguments.index("--sentences") if "--sentences" in arguments else len(arguments)
    number = int(arguments[cut + 1]) if cut < len(arguments) else 500
    main(Path(arguments[0]), Path(arguments[1]), arguments[2:cut], number)
