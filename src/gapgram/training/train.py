"""Text to model in one call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gapgram.compression.pruning.by_count import Thresholds
from gapgram.counts.layouts import check_layout
from gapgram.errors import UsageError
from gapgram.lattice import Lattice
from gapgram.models.model import Model
from gapgram.queries.language_model import Sentence
from gapgram.system.atomic_file import check_place
from gapgram.system.memory import parse_size
from gapgram.text import corpus as text
from gapgram.training.choose_classes import ClassSource
from gapgram.training.limits import Limits
from gapgram.training.run import Run
from gapgram.training.spark_options import Cluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
    classes: str | int | Path | None = None,
    held_out_texts: text.Paths | None = None,
    seed: int = 1,
    min_count: int = 1,
    vocab_limit: int | None = None,
    rules: text.TextRules | None = None,
    threads: int | None = None,
    layout: str = "fast",
    memory: str | int | None = None,
    tmp: str | Path | None = None,
    resume: bool = False,
    engine: str = "local",
    spark: SparkSession | None = None,
    master: str | None = None,
    spark_conf: Mapping[str, str] | None = None,
    shards: str | None = None,
    prune: str | None = None,
    size: str | int | None = None,
    progress: bool = False,
) -> Model:
    """Train a model on text files, or on sentences in memory.

    model: `mkn` (modified Kneser-Ney) or `glm` (generalized language model).
    lattice: other patterns than the model's own: `chain`, `full`, or patterns such as "1,11,101".
    weights: of a glm: `learned` (the default), `counts` or `uniform`.
    classes: of a glm with learned weights, patterns of word classes beside those of words: how many classes to find in
        the text at most; `auto`, by its size, and none where it is small; the path of a file of words and their
        classes; or `none`. The default is `auto`, and `none` where the lattice is named.
    held_out_texts: text to learn weights from; by default the training text, each word left out in turn.
    seed: of the sample that weights are learned from.
    output: where to write the model file; without it the model stays in memory.
    layout: of the tables: `fast`, or `compact`, a third of the size; both give the same probabilities.
    memory: bytes, or a size such as "4G", that training to an output may take beside the program itself; by default
        half of what the machine has. A text that needs more is counted through files. The model is the same.
    tmp: the folder for those files; by default that of the output.
    resume: go on where an interrupted run with the same texts and options stopped, if there is one.
    engine: `local`, or `spark` to count on a cluster, with the same result; the texts are then any that Spark reads.
    spark: a session to count with; without it one is started, with `master` and `spark_conf`, and stopped again.
    shards: a new folder for the counts of a cluster, which all its machines reach; kept. By default a temporary one
        beside the model, which does where all run on this machine.
    prune, size: drop grams once the weights are fitted; `counts` and `size` of `Model.pruned`.
    """
    kind = _checked_weights(model, lattice, weights, held_out_texts)
    if (texts is None) == (sentences is None):
        raise UsageError("train: give text files or sentences, one of the two")
    patterns = lattice if isinstance(lattice, Lattice) else Lattice.parse(lattice or MODELS[model], order)
    patterns, source = _with_classes(patterns, classes, kind, named=lattice is not None)
    check_layout(layout)
    reading = {"min_count": min_count, "vocab_limit": vocab_limit, "rules": rules or text.TextRules()}
    cluster = Cluster.of(engine, spark, master, spark_conf, shards)
    run = Run(texts, sentences, held_out_texts, model, patterns, kind, source, seed, reading, threads, progress)
    smaller = prune is not None or size is not None
    if prune is not None:
        Thresholds.parse(prune, patterns)
    if size is not None:
        parse_size(size, "size")
    if output is not None:
        inputs = (texts, held_out_texts, source.path if source is not None else None)
        read = [path for paths in inputs if paths is not None for path in text.as_paths(paths)]
        check_place(output, read)
        limits = Limits.of(memory, threads, output, tmp)
        if cluster is not None:
            trained = run.on(cluster, limits, resume=resume)
        else:
            trained = run.within(limits, resume=resume)
    elif cluster is not None:
        raise UsageError("the engine spark writes a model file: name an output")
    elif memory is not None or tmp is not None or resume:
        raise UsageError("memory, tmp and resume are for a model that is written: name an output")
    else:
        trained = run.in_memory(text.read_corpus(run.blocks(), **run.reading))
    if output is None:
        changed = trained.pruned(counts=prune, size=size) if smaller else trained
        return changed if changed.layout == layout else changed.with_layout(layout)
    if smaller:
        trained.save_pruned(output, counts=prune, size=size, layout=layout)
    elif trained.layout != layout:
        trained.save(output, layout=layout)
    else:
        return trained
    return Model.load(output, most_resident=limits.most_resident)


def _with_classes(
    lattice: Lattice, asked: str | int | Path | None, weights: str, *, named: bool
) -> tuple[Lattice, ClassSource | None]:
    """The lattice with patterns of classes where there are to be classes, and where these come from."""
    has_patterns = lattice.of_classes is not None
    if asked is None:
        asked = "auto" if has_patterns or (weights == "learned" and not named) else "none"
    source = ClassSource.parse(asked)
    if source is None:
        if has_patterns:
            raise UsageError("the lattice has patterns of classes: say which classes (auto, a number, or a file)")
        return lattice, None
    if weights != "learned":
        raise UsageError("classes are for a glm with learned weights: nothing else knows how far to trust them")
    return (lattice, replace(source, least=0)) if has_patterns else (lattice.with_classes("chain"), source)


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
