"""Text to model in one call."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import gettempdir

from gapgram.arguments import checked_whole, wrong_type
from gapgram.counts.about import checked_about
from gapgram.errors import UsageError
from gapgram.estimation.weights.estimators import ESTIMATORS, GLM_WEIGHTS, Fitted
from gapgram.lattice import Lattice
from gapgram.models.model import Model
from gapgram.queries.language_model import Sentence
from gapgram.system.parallel import checked_threads
from gapgram.text.corpus import TextRules
from gapgram.text.files import Paths
from gapgram.text.rules import MIN_COUNT_OPEN
from gapgram.text.splitting import RAW
from gapgram.text.tokenisers.tokeniser import Tokeniser
from gapgram.training.choose_classes import MAX_POSITIONS, AskedClasses, ClassSource, with_classes
from gapgram.training.choose_lattice import parse_budget, placeholder
from gapgram.training.limits import TrainingLimits
from gapgram.training.run import train_in_memory, train_to_file, train_with_spark
from gapgram.training.spark_options import SparkOptions
from gapgram.training.task import TrainingTask

LATTICES = {"mkn": "chain", "glm": "full"}  # the lattice of each model, unless a user names another


def train(  # noqa: PLR0913 - the front door: every choice there is, by keyword
    texts: Paths | None = None,
    *,
    sentences: Iterable[Sentence] | None = None,
    output: str | Path | None = None,
    order: int = 5,
    model: str = "glm",
    lattice: str | Lattice | None = None,
    weights: str | None = None,
    classes: AskedClasses = None,
    class_words: int = MAX_POSITIONS,
    effort: str = "default",
    held_out_texts: Paths | None = None,
    seed: int = 1,
    rules: TextRules | None = None,
    tokenizer: str | Path | None = None,
    split: str | None = None,
    layout: str = "fast",
    prune: str | None = None,
    size: str | int | None = None,
    discounts: str = "textbook",
    documents: bool = False,
    unbounded: bool = False,
    open_vocabulary: bool = False,
    threads: int | None = None,
    memory: str | int | None = None,
    tmp: str | Path | None = None,
    resume: bool = False,
    spark: SparkOptions | None = None,
    about: Mapping[str, str] | None = None,
    progress: bool = False,
) -> Model:
    """Train a model on text files, or on sentences in memory. `gapgram train --help` is read from here.

    output: model file to write, with Spark also an address such as hdfs://…; without it the model stays in memory.
    order: length of the longest n-grams, in words.
    model: model to train: modified Kneser-Ney (`mkn`), or the generalized language model with gaps (`glm`).
    lattice: patterns of kept and skipped words: `chain`, `full`, a list such as 1,11,101, or, where weights are
        learned, `auto` for those that pay in the text, 24 at most or two for each word of the order, `auto:16` for at
        most 16; by default the model's own.
    weights: weights of a glm's patterns: `learned` (the default), `counts` or `uniform`.
    classes: word classes for patterns beside those of words, of a glm with learned weights: at most so many found in
        the text; `auto`, by its size, and none where it is small; those of a file (word, tab, class); `none`; several,
        such as 60,350,1500, are clusterings side by side. The default is `auto`, and `none` where the lattice is named.
    class_words: words of the text that classes are found in, a sample of a larger one.
    effort: work for a better glm: patterns of words alone (`fast`), of the classes of one clustering, too (`default`),
        or of several (`best`), which costs time in training and scoring; or few patterns of up to three words and
        classes (`small`), which are best in files of a few bytes a word of the text (`size`).
    held_out_texts: text to learn weights from; by default the training text, each word left out in turn.
    seed: random seed of the sample that weights are learned from.
    rules: which words are kept (`min_count`, `vocab_limit`), and what to do with special words and invalid bytes.
    tokenizer: path of a SentencePiece model or of a tokenizer.json, or `chars` for characters: what cuts raw text into
        the tokens that are counted, kept in the model; by default words are what white space separates.
    split: cut punctuation marks off words (`raw`), or note that they are words of their own already, as `prepare` has
        them (`done`); the model cuts raw text so from then on; by default words by white space.
    layout: layout of the tables: `fast` to score with, or `compact`, a third of the size; both give the same
        probabilities.
    prune: drop rare n-grams, such as 0,0,1 or 111=1,1011=2; see `pruned`. Where no weights are learned they go where
        they are counted, and take no memory or disk.
    size: size of the file in its layout at most, such as 10MB or 10MiB; n-grams that matter least are dropped.
    discounts: counts of counts that discounts of mkn are taken from: the `textbook`'s, or those of `lmplz`, which takes
        the last n-gram of each order otherwise; the difference is small but for texts of few different words.
    documents: keep the order of lines, and fit on the documents of the text how far sessions that learn may trust what
        they read; an empty line, or a new file, begins one. The model is the same otherwise.
    unbounded: keep the text in the model and trust what followed the longest ends of a context, of any length, as far
        as that is worth; the file then holds the training text, 16 bytes a word or so.
    open_vocabulary: store how words are spelled, so that unknown words have probabilities of their own; words met once
        are then unknown, unless rules say otherwise.
    threads: number of threads; by default all cores.
    memory: memory to use beside the program itself, such as 4G; a text that needs more is counted through files, with
        the same result; by default half of the machine's.
    tmp: folder for such files; by default that of the output.
    resume: continue an interrupted run with the same texts, options and output, if there is one.
    spark: count with Spark, on this machine or a cluster, with the same result; texts are then any that Spark reads.
    about: entries about the model, kept in its file: name, language, licence, tokenisation, date, address, anything.
    progress: show bars on a terminal.
    """
    rules = checked_rules(rules, open_vocabulary=open_vocabulary, is_tokenised=tokenizer is not None)
    if not 0 <= checked_whole("seed", seed) < 1 << 63:
        raise UsageError(f"seed {seed}: expected a whole number from 0 to 2**63 - 1")
    if checked_whole("class words", class_words) < 1:
        raise UsageError(f"class words {class_words}: expected 1 or more")
    estimator = checked_estimator(model, weights, lattice=lattice, held_out_texts=held_out_texts)
    if discounts not in ("textbook", "lmplz") or (discounts == "lmplz" and (model != "mkn" or spark is not None)):
        raise UsageError(f"discounts {discounts!r}: expected textbook, or lmplz for model mkn on this machine")
    budget = parse_budget(lattice, order) if lattice is not None else None
    patterns, class_sources = _patterns_asked_for(lattice, order, model, estimator, classes, effort, budget)
    task = TrainingTask(
        texts=texts, sentences=sentences, held_out_texts=held_out_texts, rules=rules, model=model,
        lattice=patterns, weights=estimator, classes=class_sources, class_words=class_words, seed=seed,
        layout=layout, prune=prune, size=size,
        tokeniser=Tokeniser.named(tokenizer) if tokenizer is not None else None, split=split,
        discounts=discounts, documents=documents, unbounded=unbounded, threads=checked_threads(threads),
        progress=progress,
        about=checked_about(about) if about else (), lattice_budget=budget,
    )  # fmt: skip
    if output is None:
        if spark is not None:
            raise UsageError("the engine spark writes a model file: name an output")
        if memory is not None or tmp is not None or resume:
            raise UsageError("memory, tmp and resume are for a model that is written: name an output")
        return train_in_memory(task)
    inputs = [path for paths in task.inputs().values() for path in paths]
    place = _moved_to(output, spark)
    if place is not None:  # the model is made on this machine, and moved there
        output = Path(tmp or gettempdir()) / posixpath.basename(place)
    limits = TrainingLimits.of(memory, task.threads, output, tmp, inputs)
    if spark is None:
        return train_to_file(task, limits, resume=resume)
    return train_with_spark(checked_for_spark(task), limits, spark, resume=resume, place=place)


def _moved_to(output: str | Path, spark: SparkOptions | None) -> str | None:
    """The address that Spark moves the model to; None: the output is a file of this machine."""
    if "://" not in str(output):
        return None
    if spark is None:
        raise UsageError(f"{output}: only Spark writes models there: name a file, or train with --engine spark")
    return str(output)


def _patterns_asked_for(
    lattice: str | Lattice | None,
    order: int,
    model: str,
    estimator: str,
    classes: AskedClasses,
    effort: str,
    budget: int | None,
) -> tuple[Lattice, tuple[ClassSource, ...]]:
    """The lattice, or one as large as patterns that are to be chosen, and where the classes of words come from."""
    fitted = isinstance(ESTIMATORS[estimator], Fitted)
    if budget is not None:
        if not fitted:
            raise UsageError(f"lattice {lattice}: patterns are chosen for learned weights alone; name them")
        _, sources = with_classes(None, "chain", order, classes, fitted=True, effort=effort)
        return placeholder(order, budget), sources
    return with_classes(lattice, LATTICES[model], order, classes, fitted=fitted, effort=effort)


def checked_rules(rules: TextRules | None, *, open_vocabulary: bool, is_tokenised: bool) -> TextRules:
    """How the text is read."""
    if rules is not None and not isinstance(rules, TextRules):
        raise wrong_type("rules", rules, "a TextRules, such as TextRules(min_count=2)")
    if open_vocabulary:
        rules = replace(rules or TextRules(min_count=MIN_COUNT_OPEN), open_vocabulary=True)
    rules = rules or TextRules()
    if rules.open_vocabulary and is_tokenised:
        raise UsageError("open vocabulary: tokens of a tokeniser spell any word already; leave one of the two out")
    return rules


def checked_for_spark(task: TrainingTask) -> TrainingTask:
    """A task; one that a cluster cannot do is refused."""
    if task.sentences is not None:
        raise UsageError("the engine spark reads text files: name them, or use the local engine")
    if task.documents:
        raise UsageError("documents: Spark does not keep the order of lines; use the local engine")
    if task.split == RAW:
        raise UsageError("split raw: Spark counts the words of a text as it is; use the local engine")
    if task.tokeniser is not None:
        raise UsageError("tokenizer: Spark counts the words of a text as it is; use the local engine")
    if task.unbounded:
        raise UsageError("unbounded: Spark does not keep the text; use the local engine")
    return task


def checked_estimator(
    model: str, weights: str | None, *, lattice: str | Lattice | None, held_out_texts: Paths | None
) -> str:
    """The name of the estimator of a model with such weights."""
    if model not in LATTICES:
        raise UsageError(f"model {model!r}: expected {' or '.join(LATTICES)}")
    if model == "mkn":
        if lattice is not None:
            raise UsageError("a lattice of your own is for model glm; modified Kneser-Ney has the chain")
        if weights not in (None, "none"):
            raise UsageError(f"weights {weights!r}: modified Kneser-Ney has none to choose; they are for model glm")
        name = "none"
    else:
        name = weights or "learned"
        if name not in GLM_WEIGHTS:
            raise UsageError(f"weights {name!r}: expected {', '.join(GLM_WEIGHTS)}")
    if held_out_texts is not None and not isinstance(ESTIMATORS[name], Fitted):
        raise UsageError("held-out text is for learned weights")
    return name
