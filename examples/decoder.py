"""A beam search over what was perhaps said, as the decoder of a recogniser does it: a program written for KenLM.

Each place has several words with a score of the ear's; the language model decides between them. With KenLM
installed, `import kenlm` in the place of the import below gives the same sentence for the same ARPA file.

    python examples/decoder.py            on Python's own language reference
    python examples/decoder.py MODEL      with a model of yours (gapgram, ARPA or a mixture)
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import gapgram
from gapgram import kenlm
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


def decode(model: kenlm.Model, heard: list[dict[str, float]]) -> tuple[float, list[str]]:
    """The best sequence of words, and its score."""
    start = kenlm.State()
    model.BeginSentenceWrite(start)
    beam = [(0.0, [], start)]
    for choices in heard:
        longer = []
        for score, words, state in beam:
            for word, ear in choices.items():
                after = kenlm.State()
                added = ear + WEIGHT * model.BaseScore(state, word, after)
                longer.append((score + added, [*words, word], after))
        beam = sorted(longer, key=lambda one: -one[0])[:BEAM]
    ended = [(score + WEIGHT * model.BaseScore(state, "</s>", kenlm.State()), words) for score, words, state in beam]
    return max(ended)


def main(model: kenlm.Model) -> None:
    """Decode, and show what the ear alone would have taken."""
    print("the ear alone:  ", " ".join(max(choices, key=choices.__getitem__) for choices in HEARD))
    score, words = decode(model, HEARD)
    print("with the model: ", " ".join(words), f"  ({score:.3f})")


if __name__ == "__main__":
    if len(sys.argv) == 2:
        main(kenlm.Model(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "reference.model"
            gapgram.train(sentences=[line.lower() for line in reference_sentences()], order=4, output=path)
            main(kenlm.Model(str(path)))
