"""gapgram train: text to a model file."""

from __future__ import annotations

from typing import Any

import click

from gapgram.cli.options import Described, option, print_json, shared, talk

_of_train = Described("gapgram.training.train:train")

_LONG_SENTENCES = 1_000  # words, on average, that hardly a sentence has


@click.command()
@click.argument("texts", nargs=-1, required=True, metavar="TEXT…")
@option("-o", "--output", required=True, metavar="MODEL", help="Model file to write; with Spark also hdfs://…, s3a://….")
@_of_train("order", "-n", default=5, metavar="N")
@_of_train("model", choices=["mkn", "glm"], default="glm")
@_of_train("lattice", metavar="PATTERNS")
@_of_train("weights", metavar="NAME")
@_of_train("effort", choices=["small", "fast", "default", "best"], default="default")
@_of_train("classes", metavar="K|auto|none|FILE")
@_of_train("class_words", default=1 << 24, metavar="N")
@_of_train("held_out_texts", "--held-out", multiple=True, metavar="TEXT")
@_of_train("seed", default=1, metavar="N")
@_of_train("tokenizer", metavar="FILE|chars")
@_of_train("split", choices=["raw", "done"])
@_of_train("layout", choices=["fast", "compact"], default="fast")
@option(
    "--min-count", type=int, metavar="N",
    help="Replace words that occur less often by <unk>.  [default: 1, with --open-vocabulary 2]",
)
@_of_train("open_vocabulary", is_flag=True)
@_of_train("discounts", choices=["textbook", "lmplz"], default="textbook")
@_of_train("documents", is_flag=True)
@_of_train("unbounded", is_flag=True)
@option(
    "--empty-lines", choices=["skip", "count"], default="skip", show_default=False,
    help="Treatment of lines without words: skip them, or count each as a sentence of no words, as lmplz does.",
)
@option("--vocab-limit", type=int, metavar="N", help="Keep the N most frequent words; replace others by <unk>.")
@_of_train("memory", metavar="SIZE")
@_of_train("tmp", metavar="FOLDER")
@_of_train("resume", is_flag=True)
@_of_train("prune", metavar="COUNTS")
@_of_train("size", metavar="SIZE")
@option(
    "--engine", choices=["local", "spark"], default="local", show_default=False,
    help="Count on this machine, or with Apache Spark on many; the result is the same.",
)
@option("--master", metavar="URL", help="Spark's address: local[2], spark://host:7077, yarn, k8s://…  [default: local]")
@option("--spark-conf", multiple=True, metavar="NAME=VALUE", help="Setting of Spark.")
@option(
    "--shards", metavar="FOLDER",
    help="Folder, new and within reach of all machines, in which Spark keeps counts as Parquet.  "
    "[default: temporary, beside the model]",
)
@option(
    "--about", multiple=True, metavar="NAME=TEXT",
    help="Entry about the model, kept in its file, such as language=en or licence=CC-BY-4.0; see gapgram about.",
)
@option("--device", hidden=True, help="Refused: training works on the CPU; a card scores.")
@shared("training special", "invalid", "threads", "json", "quiet")
def command(
    texts: tuple[str, ...], held_out_texts: tuple[str, ...], special: str, invalid: str, min_count: int | None,
    vocab_limit: int | None, empty_lines: str, engine: str, master: str | None, spark_conf: tuple[str, ...],
    shards: str | None, about: tuple[str, ...], device: str | None, as_json: bool, quiet: bool, **options: Any,
) -> None:  # fmt: skip
    """Train a model on text, one sentence a line.

    TEXT may be several files, plain or compressed (gzip, bzip2, xz, zstd), or - for standard input.
    """
    import os
    import time

    settings = _settings(spark_conf)
    if device not in (None, "cpu"):
        raise click.UsageError("train works on the CPU; a card scores: gapgram score MODEL --device cuda")
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
    options["about"] = parse_about(about) if about else {}
    model = train(
        list(texts), held_out_texts=held_out, rules=rules, spark=spark, progress=not quiet, **options
    )
    if options["documents"] and model.parts.history is None:
        talk("--documents: too little text to fit how sessions learn; they keep the weights that are shipped", quiet)
    if quiet and not as_json:
        return
    sections = model.parts.contents()[0]
    n_bytes = os.path.getsize(model.path) if model.path is not None else sum(a.nbytes for a in sections.values())
    summary = train_summary(model.parts, n_bytes)
    summary["seconds"] = round(time.perf_counter() - began, 3)
    if as_json:
        print_json({**summary, "signature": str(model.signature)})
        return
    unit, n = "words" if model.tokeniser is None else "tokens", summary["sentences"]
    if summary["words"] > _LONG_SENTENCES * n:
        said = f"{summary['words'] / n:,.0f} {unit} a line: is there one sentence a line? gapgram prepare makes it so"
        talk(said, quiet)
    talk(
        f"{summary['words']:,} {unit} in {n:,} sentence{'s' * (n != 1)}, {summary['vocabulary']:,} in the "
        f"vocabulary; {summary['grams']:,} grams of {summary['patterns']} patterns; {summary['bytes']:,} bytes "
        f"in {summary['seconds']:.1f} s"
    )


def _settings(given: tuple[str, ...]) -> dict[str, str]:
    for setting in given:
        if "=" not in setting.strip("="):
            raise click.BadParameter(f"{setting!r}: expected NAME=VALUE", param_hint="--spark-conf")
    return dict(setting.split("=", 1) for setting in given)
