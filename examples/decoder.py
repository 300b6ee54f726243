"""A beam search over what was perhaps said, as the decoder of a recogniser does it.

Each place has several words with a score of the ear's; the language model decides between them. All hypotheses are
extended in one call, and of those in equal states, which no later word can tell apart, the best is kept.

    python examples/decoder.py            on Python's own language reference
    python examples/decoder.py MODEL      with a model of yours, of any kind
"""

from __future__ import annotations

import heapq
import sys
from typing import NamedTuple

import gapgram
from gapgram.experiments.demo import reference_sentences

# What was heard: for each place words with log10 of the ear's probabilities.
HEARD = [
    {"the": -0.3, "thee": -0.3},
    {"value": -0.4, "valley": -0.3},
    {"of": -0.3, "off": -0.3},
    {"an": -0.5, "on": -0.3, "and": -0.4},
    {"expression": -0.3, "expressing": -0.3},
    {"is": -0.4, "his": -0.3, "if": -0.5},
    {"evaluated": -0.4, "evaluate": -0.3},
]
WEIGHT = 1.0  # of the language model against the ear
BEAM = 8


class Hypothesis(NamedTuple):
    """Words so far, their score, and the state after them."""

    score: float
    words: tuple[str, ...]
    state: gapgram.State


def decode(model: gapgram.LanguageModel, heard: list[dict[str, float]]) -> Hypothesis:
    """The best sequence of words."""
    beam = [Hypothesis(0.0, (), model.begin_sentence())]
    for choices in [*heard, {"</s>": 0.0}]:
        longer = [(one, word) for one in beam for word in choices]
        scores, states = model.extend_many([one.state for one, _ in longer], [word for _, word in longer])
        best: dict[gapgram.State, Hypothesis] = {}
        for (one, word), added, state in zip(longer, scores.tolist(), states, strict=True):
            score = one.score + choices[word] + WEIGHT * added
            if state not in best or score > best[state].score:
                best[state] = Hypothesis(score, (*one.words, word), state)
        beam = heapq.nlargest(BEAM, best.values())
    return beam[0]


def main(model: gapgram.LanguageModel) -> None:
    """Decode, and show what the ear alone would have taken."""
    print("the ear alone:  ", " ".join(max(choices, key=choices.__getitem__) for choices in HEARD))
    best = decode(model, HEARD)
    print("with the model: ", " ".join(best.words[:-1]), f"  ({best.score:.3f})")


if __name__ == "__main__":
    if len(sys.argv) == 2:
        main(gapgram.load(sys.argv[1]))
    else:
        main(gapgram.train(sentences=[line.lower() for line in reference_sentences()], order=4))
