"""Text to model in one call."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from gapgram import container
from gapgram import corpus as text
from gapgram.counting import count
from gapgram.counts import Counts
from gapgram.discounts import Discounts, estimate_discounts
from gapgram.errors import TextError, UsageError
from gapgram.lattice import Lattice
from gapgram.model import Model
from gapgram.model_file import ModelParts
from gapgram.queries import Sentence
from gapgram.vocabulary import Vocabulary
from gapgram.weights import Weights, by_counts, held_out, learned, left_out, uniform

MODELS = {"mkn": "chain", "glm": "full"}
WEIGHTS = ("uniform", "counts", "learned")


def train(
    texts: text.Paths | None = None,
    *,
    sentences: Iterable[Sentence] | None = None,
    output: str | Path | None = None,
    order: int = 5,
    model: str = "glm",
    lattice: str | Lattice | None = None,
    weights: str | None = None,
    held_out_texts: text.Paths | None = None,
    seed: int = 1,
    min_count: int = 1,
    vocab_limit: int | None = None,
    rules: text.TextRules | None = None,
    threads: int | None = None,
    shown: bool = False,
) -> Model:
    """Train a model on text files, or on sentences in memory.

    model: `mkn` (modified Kneser-Ney) or `glm` (generalized language model).
    lattice: other patterns than the model's own: `chain`, `full`, or patterns such as "1,11,101".
    weights: of a glm: `learned` (the default), `counts` or `uniform`.
    held_out_texts: text to learn weights from; by default the training text, each word left out in turn.
    seed: of the sample that weights are learned from.
    output: where to write the model file; without it the model stays in memory.
    """
    kind = _checked_weights(model, lattice, weights, held_out_texts)
    if (texts is None) == (sentences is None):
        raise UsageError("train: give text files or sentences, one of the two")
    patterns = lattice if isinstance(lattice, Lattice) else Lattice.parse(lattice or MODELS[model], order)
    rules = rules or text.TextRules()
    if output is not None:
        read = [path for paths in (texts, held_out_texts) if paths is not None for path in text.as_paths(paths)]
        container.check_place(output, read)
    if sentences is not None:
        blocks = text.blocks_of_sentences(sentences)
    else:
        blocks = text.blocks_of_files(texts or [], shown=shown)
    corpus = text.read_corpus(blocks, min_count=min_count, vocab_limit=vocab_limit, rules=rules)
    unseen = _encode(held_out_texts, corpus.vocabulary, rules) if held_out_texts is not None else None
    counts = count(corpus, patterns, threads=threads, shown=shown)
    discounts = estimate_discounts(counts)
    chosen, discounts = _weights(kind, counts, corpus.ids, unseen, discounts, seed=seed, shown=shown)
    trained = Model(ModelParts.of(model, counts, discounts, chosen))
    if output is not None:
        trained.save(output)
    return trained


def _checked_weights(
    model: str, lattice: str | Lattice | None, weights: str | None, held_out_texts: text.Paths | None
) -> str:
    if model not in MODELS:
        raise UsageError(f"model {model!r}: expected {' or '.join(MODELS)}")
    if model == "mkn":
        if lattice is not None:
            raise UsageError("a lattice of your own is for model glm; modified Kneser-Ney has the chain")
        if weights not in (None, "none"):
            raise UsageError(f"weights {weights!r}: modified Kneser-Ney has none to choose; they are for model glm")
        kind = "none"
    else:
        kind = weights or "learned"
        if kind not in WEIGHTS:
            raise UsageError(f"weights {kind!r}: expected {', '.join(WEIGHTS)}")
    if held_out_texts is not None and kind != "learned":
        raise UsageError("held-out text is for learned weights")
    return kind


def _encode(texts: text.Paths, vocabulary: Vocabulary, rules: text.TextRules) -> text.Ids:
    parts = [part.ids for part in text.encode(text.blocks_of_files(texts), vocabulary, rules)]
    ids = np.concatenate([np.empty(0, np.int32), *parts])
    if not ids.size:
        raise TextError("the held-out text is empty: expected one sentence a line")
    return ids


def _weights(
    kind: str,
    counts: Counts,
    ids: text.Ids,
    unseen: text.Ids | None,
    discounts: Discounts,
    *,
    seed: int,
    shown: bool,
) -> tuple[Weights, Discounts]:
    if kind == "none":
        return replace(uniform(counts), name="none"), discounts
    if kind == "uniform":
        return uniform(counts), discounts
    if kind == "counts":
        return by_counts(counts, discounts), discounts
    if unseen is not None:
        return learned(counts, discounts, held_out(counts, unseen), source="held-out text", shown=shown)
    sample = left_out(counts, ids, seed=seed)
    return learned(counts, discounts, sample, source=f"training text, left out, seed {seed}", shown=shown)


def load(path: str | Path, *, verify: bool | None = None) -> Model:
    """Open a model file; it is mapped, so that this takes no longer for a large one."""
    return Model.load(path, verify=verify)
