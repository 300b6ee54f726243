"""Correcting in context: errors are planted in Python's own language reference, and found again.

    python examples/correct.py                        letters of words swapped, and found again
    python examples/correct.py MODEL "a sentence"     with a model of yours
"""

from __future__ import annotations

import random
import sys

import gapgram
from gapgram.experiments.demo import reference_sentences


def planted(line: str, draw: random.Random) -> str:
    """A line with two letters of one of its words swapped; unchanged where no word is long enough."""
    words = line.split()
    places = [i for i, word in enumerate(words) if len(word) > 4 and word.isalpha() and word.islower()]
    if not places:
        return line
    i = draw.choice(places)
    k = draw.randrange(1, len(words[i]) - 1)
    words[i] = words[i][:k] + words[i][k + 1] + words[i][k] + words[i][k + 2 :]
    return " ".join(words)


def main() -> None:
    """Train on nine tenths of the reference, and correct some lines of the rest."""
    lines = [" ".join(line.split()) for line in reference_sentences()]
    model = gapgram.train(sentences=[line for i, line in enumerate(lines) if i % 10], order=3, model="mkn")
    corrector, draw = gapgram.Corrector(model), random.Random(1)
    pairs = [(line, planted(line, draw)) for line in lines[:2000:10]]
    wrong = [(line, bad) for line, bad in pairs if line != bad]
    right = sum(corrector.correct(bad).after == line for line, bad in wrong)
    print(corrector.correct(wrong[0][1]).diff())
    print(f"{right} of {len(wrong)} lines are as they were")


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(gapgram.Corrector(gapgram.load(sys.argv[1])).correct(sys.argv[2]).diff())
    else:
        main()
