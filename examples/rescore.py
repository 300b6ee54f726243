"""Ranking anew what a recogniser has heard: words of Python's own language reference are taken for others, then ranked.

    python examples/rescore.py                    made-up lists
    python examples/rescore.py MODEL NBEST        lists of yours
"""

from __future__ import annotations

import random
import sys

import gapgram
from gapgram import NBest
from gapgram.applications.rescoring.nbest import ListedText
from gapgram.experiments.demo import reference_sentences


def misheard(line: str, number: int, words: list[str], draw: random.Random) -> NBest:
    """A list in which one word after the other is another one, and scores say little."""
    right = line.split()
    texts = [line]
    for _ in range(9):
        wrong = list(right)
        wrong[draw.randrange(len(wrong))] = draw.choice(words)
        texts.append(" ".join(wrong))
    listed = [ListedText(text, (draw.gauss(0, 1) + (text == line),)) for text in texts]
    return NBest(str(number), sorted(listed, key=lambda one: -one.scores[0]))


def main() -> None:
    """Train on a part of the reference, tune on a second and test on a third."""
    lines = [" ".join(line.split()) for line in reference_sentences() if len(line.split()) > 4]
    model = gapgram.train(sentences=[line for i, line in enumerate(lines) if i % 10 > 1], order=4, model="mkn")
    words, draw = [word for line in lines[:500] for word in line.split()], random.Random(1)
    parts = [[misheard(line, i, words, draw) for i, line in enumerate(lines[k:2000:10])] for k in (0, 1)]
    references = [[line.split() for line in lines[k:2000:10]] for k in (0, 1)]
    rescorer = gapgram.Rescorer(model).tuned(parts[0], references[0])
    result = gapgram.gain(rescorer.rescore(parts[1]), references[1])
    print(f"word error rate {result.before} before, {result.after} after")


if __name__ == "__main__":
    if len(sys.argv) == 3:
        for text in gapgram.Rescorer(gapgram.load(sys.argv[1])).rescore(gapgram.read_nbest(sys.argv[2])).texts:
            print(text)
    else:
        main()
