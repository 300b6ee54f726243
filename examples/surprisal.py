"""What memory is worth: the mean surprisal of text if only the last 0, 1, 2 … words were remembered.

    python examples/surprisal.py                  mkn beside glm on Python's own language reference
    python examples/surprisal.py TEXT MODEL…      on a text and models of yours
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import gapgram
from gapgram.experiments.demo import reference_sentences
from gapgram.queries.language_model import LanguageModel


def by_length(model: LanguageModel, sentences: list[str]) -> list[float]:
    """Bits a word, for each number of words remembered."""
    table = gapgram.surprisal(model, sentences=sentences, measures=gapgram.Measures(lengths=True))
    columns = zip(*table.rows, strict=True)
    lengths = [values for name, values in zip(table.columns, columns, strict=True) if name.startswith("last_")]
    return [sum(values) / len(values) for values in lengths]


def main(models: Mapping[str, LanguageModel], sentences: list[str]) -> None:
    """A line a model."""
    for name, model in models.items():
        figures = "  ".join(f"last {k}: {bits:.2f}" for k, bits in enumerate(by_length(model, sentences)))
        print(f"{name:8} {figures}  bits a word")


if __name__ == "__main__":
    if len(sys.argv) > 2:
        lines = Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
        main({path: gapgram.load(path) for path in sys.argv[2:]}, lines)
    else:
        lines = reference_sentences()
        read = [line for i, line in enumerate(lines) if i % 10]
        kinds = ("mkn", "glm")
        main({kind: gapgram.train(sentences=read, order=4, model=kind) for kind in kinds}, lines[::10])
