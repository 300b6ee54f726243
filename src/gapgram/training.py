"""Text to model in one call."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from gapgram import corpus as text
from gapgram.counting import count
from gapgram.discounts import estimate_discounts
from gapgram.errors import UsageError
from gapgram.lattice import Lattice
from gapgram.model import Model, Sentence
from gapgram.model_file import ModelParts
from gapgram.weights import Weights, uniform

MODELS = {"mkn": "chain", "glm": "full"}
WEIGHTS = ("uniform",)


def train(
    texts: text.Paths | None = None,
    *,
    sentences: Iterable[Sentence] | None = None,
    output: str | Path | None = None,
    order: int = 5,
    model: str = "glm",
    lattice: str | Lattice | None = None,
    weights: str | None = None,
    min_count: int = 1,
    vocab_limit: int | None = None,
    rules: text.TextRules | None = None,
    threads: int | None = None,
    shown: bool = False,
) -> Model:
    """Train a model on text files, or on sentences in memory.

    model: `mkn` (modified Kneser-Ney) or `glm` (generalized language model).
    lattice: other patterns than the model's own: `chain`, `full`, or patterns such as "1,11,101".
    output: where to write the model file; without it the model stays in memory.
    """
    if (texts is None) == (sentences is None):
        raise UsageError("train: give text files or sentences, one of the two")
    if model not in MODELS:
        raise UsageError(f"model {model!r}: expected {' or '.join(MODELS)}")
    patterns = lattice if isinstance(lattice, Lattice) else Lattice.parse(lattice or MODELS[model], order)
    if sentences is not None:
        blocks = text.blocks_of_sentences(sentences)
    else:
        blocks = text.blocks_of_files(texts or [], shown=shown)
    corpus = text.read_corpus(
        blocks, min_count=min_count, vocab_limit=vocab_limit, rules=rules or text.TextRules()
    )
    counted = count(corpus, patterns, threads=threads, shown=shown)
    discounts = estimate_discounts(counted.counts)
    chosen: Weights = uniform(counted.counts)
    trained = Model(ModelParts.of(model, counted.counts, discounts, chosen))
    if output is not None:
        trained.save(output)
    return trained


def load(path: str | Path, *, verify: bool | None = None) -> Model:
    """Open a model file; it is mapped, so that this takes no longer for a large one."""
    return Model.load(path, verify=verify)
