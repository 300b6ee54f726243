"""gapgram train: text to a model file."""

from __future__ import annotations

from typing import Any

import click

from gapgram.cli.options import (
    json_option,
    print_json,
    quiet_option,
    talk,
    text_options,
    threads_option,
    training_device_option,
)


@click.command()
@click.argument("texts", nargs=-1, required=True, metavar="TEXT…")
@click.option("-o", "--output", required=True, metavar="MODEL", help="Model file to write.")
@click.option(
    "-n", "--order", default=5, show_default=True, metavar="N", help="Length of the longest n-grams, in words."
)
@click.option(
    "--model",
    type=click.Choice(["mkn", "glm"]),
    default="glm",
    show_default=True,
    help="Model to train: modified Kneser-Ney (mkn), or the generalized language model with gaps (glm).",
)
@click.option(
    "--lattice",
    metavar="PATTERNS",
    help="Patterns of kept and skipped words: chain, full, a list such as 1,11,101, or auto for those that pay in the "
    "text, auto:16 for at most 16.  [default: the model's own]",
)
@click.option(
    "--weights", metavar="NAME", help="Weights of a glm's patterns: learned, counts or uniform.  [default: learned]"
)
@click.option(
    "--effort",
    type=click.Choice(["fast", "default", "best"]),
    default="default",
    show_default=True,
    help="Work for a better glm: patterns of words alone (fast), of word classes too, or of the classes of several "
    "clusterings (best), which costs time.",
)
@click.option(
    "--classes",
    metavar="K|auto|none|FILE",
    help="Word classes: at most K found in the text, or those of a file (word, tab, class); several, such as "
    "60,350,1500, are clusterings side by side.  [default: auto for a glm with learned weights]",
)
@click.option(
    "--held-out",
    "held_out_texts",
    multiple=True,
    metavar="TEXT",
    help="Learn weights from this text.  [default: the training text, each word left out in turn]",
)
@click.option(
    "--seed", default=1, show_default=True, metavar="N", help="Random seed of the sample that weights are learned from."
)
@click.option(
    "--tokenizer",
    metavar="FILE|chars",
    help="Count tokens of raw text: those of a SentencePiece model or of a tokenizer.json, or characters; the model "
    "keeps its tokeniser.  [default: words, by white space]",
)
@click.option(
    "--layout",
    type=click.Choice(["fast", "compact"]),
    default="fast",
    show_default=True,
    help="Layout of the model file: fast to score with, or compact, a third of the size; see gapgram convert.",
)
@click.option(
    "--min-count",
    type=int,
    metavar="N",
    help="Replace words that occur less often by <unk>.  [default: 1, with --open-vocabulary 2]",
)
@click.option(
    "--open-vocabulary",
    is_flag=True,
    help="Store a model of how words are spelled, too, so that unknown words have probabilities of their own "
    "(perplexity, score --open-vocabulary).",
)
@click.option(
    "--documents",
    is_flag=True,
    help="Keep the order of lines, an empty line between documents, and fit on it how far sessions that learn "
    "(perplexity --learn) trust what they read.",
)
@click.option(
    "--empty-lines",
    type=click.Choice(["skip", "count"]),
    default="skip",
    show_default=True,
    help="Treatment of lines without words: skip them, or count each as a sentence of no words, as lmplz does.",
)
@click.option("--vocab-limit", type=int, metavar="N", help="Keep the N most frequent words; replace others by <unk>.")
@click.option(
    "--memory",
    metavar="SIZE",
    help="Memory to use beside the program itself, such as 4G; a text that needs more is counted through files, with "
    "the same result.  [default: half of the machine's]",
)
@click.option("--tmp", metavar="FOLDER", help="Folder for such files.  [default: beside the model]")
@click.option("--resume", is_flag=True, help="Continue an interrupted run to the same MODEL.")
@click.option("--prune", metavar="COUNTS", help="Drop rare n-grams, such as 0,0,1 or 111=1,1011=2; see gapgram prune.")
@click.option(
    "--size",
    metavar="SIZE",
    help="Size of the file in its layout at most, such as 10MB or 10MiB; n-grams that matter least are dropped.",
)
@click.option(
    "--engine",
    type=click.Choice(["local", "spark"]),
    default="local",
    show_default=True,
    help="Count on this machine, or with Apache Spark on many; the result is the same.",
)
@click.option(
    "--master", metavar="URL", help="Address of Spark: local[2], spark://host:7077, yarn, k8s://…  [default: local]"
)
@click.option("--spark-conf", multiple=True, metavar="NAME=VALUE", help="Setting of Spark.")
@click.option(
    "--shards",
    metavar="FOLDER",
    help="Folder, new and within reach of all machines, in which Spark keeps counts as Parquet.  "
    "[default: temporary, beside the model]",
)
@click.option(
    "--about",
    multiple=True,
    metavar="NAME=TEXT",
    help="Entry about the model, kept in its file, such as language=en or licence=CC-BY-4.0; see gapgram about.",
)
@text_options(training=True)
@training_device_option
@threads_option
@json_option
@quiet_option
def command(
    texts: tuple[str, ...], held_out_texts: tuple[str, ...], special: str, invalid: str, min_count: int | None,
    vocab_limit: int | None, empty_lines: str, engine: str, master: str | None, spark_conf: tuple[str, ...],
    shards: str | None, about: tuple[str, ...], device: str, as_json: bool, quiet: bool, **options: Any,
) -> None:  # fmt: skip
    """Train a model on text, one sentence a line.

    TEXT may be several files, plain or compressed (gzip, bzip2, xz, zstd), or - for standard input.
    """
    import os
    import time

    settings = _settings(spark_conf)
    device = _device_for(device, quiet)
    from gapgram.counts.about import parse_about
    from gapgram.errors import UsageError
    from gapgram.reporting.model_info import train_summary
    from gapgram.text.rules import MIN_COUNT_OPEN, TextRules
    from gapgram.training.spark_options import SparkOptions
    from gapgram.training.train import train

    began = time.perf_counter()
    if engine == "local" and (master is not None or settings or shards is not None):
        raise UsageError("a Spark master, settings and shards are for the engine spark (--engine spark)")
    if min_count is None:
        min_count = MIN_COUNT_OPEN if options["open_vocabulary"] else 1
    rules = TextRules(
        special=special, invalid=invalid, min_count=min_count, vocab_limit=vocab_limit, empty_lines=empty_lines
    )
    spark = SparkOptions(master=master, settings=settings, shards=shards) if engine == "spark" else None
    held_out = list(held_out_texts) or None
    options |= {"about": parse_about(about) if about else {}, "device": device}
    model = train(
        list(texts), held_out_texts=held_out, rules=rules, spark=spark, progress=not quiet, **options
    )
    if options["documents"] and model.parts.history is None:
        talk("--documents: too little text to fit how sessions learn; they keep the weights that are shipped", quiet)
    if quiet and not as_json:
        return
    summary = train_summary(model.parts, os.path.getsize(options["output"]))
    summary["seconds"] = round(time.perf_counter() - began, 3)
    if as_json:
        print_json({**summary, "signature": str(model.signature)})
        return
    unit = "words" if model.tokeniser is None else "tokens"
    talk(
        f"{summary['words']:,} {unit} in {summary['sentences']:,} sentences, {summary['vocabulary']:,} in the "
        f"vocabulary; {summary['grams']:,} grams of {summary['patterns']} patterns; {summary['bytes']:,} bytes "
        f"in {summary['seconds']:.1f} s"
    )


def _settings(given: tuple[str, ...]) -> dict[str, str]:
    for setting in given:
        if "=" not in setting.strip("="):
            raise click.BadParameter(f"{setting!r}: expected NAME=VALUE", param_hint="--spark-conf")
    return dict(setting.split("=", 1) for setting in given)


def _device_for(device: str, quiet: bool) -> str:
    """The device that a model is trained on; with `auto` the CPU, and a line that says why, where there is no card."""
    if device != "auto":
        return device
    from gapgram.cuda.card import find_sorter
    from gapgram.errors import DeviceError

    try:
        find_sorter()
    except DeviceError as missing:
        talk(f"{missing}; the CPU does the work", quiet)
        return "cpu"
    return "cuda"
