"""gapgram train: text to a model file."""

from __future__ import annotations

from typing import Any

import click

from gapgram.cli.options import (
    announce_compilation,
    json_option,
    print_json,
    quiet_option,
    talk,
    text_options,
    threads_option,
)


@click.command()
@click.argument("texts", nargs=-1, required=True, metavar="TEXT…")
@click.option("-o", "--output", required=True, metavar="MODEL", help="The model file to write.")
@click.option("-n", "--order", default=5, show_default=True, metavar="N", help="Words a gram spans.")
@click.option(
    "--model",
    type=click.Choice(["mkn", "glm"]),
    default="glm",
    show_default=True,
    help="Modified Kneser-Ney, or the generalized language model with skips.",
)
@click.option(
    "--lattice", metavar="PATTERNS", help="chain, full, or patterns such as 1,11,101.  [default: the model's own]"
)
@click.option("--min-count", default=1, show_default=True, metavar="N", help="Rarer words become <unk>.")
@click.option("--vocab-limit", type=int, metavar="N", help="Keep the N most frequent words.")
@text_options(training=True)
@threads_option
@json_option
@quiet_option
def command(
    texts: tuple[str, ...], output: str, special: str, invalid: str, as_json: bool, quiet: bool, **options: Any
) -> None:
    """Train a model on text, one sentence a line.

    TEXT may be several files, plain or compressed (gzip, bzip2, xz, zstd), or - for standard input.
    """
    import time

    announce_compilation(quiet)
    from gapgram import TextRules, train
    from gapgram.model_info import model_info

    began = time.perf_counter()
    rules = TextRules(special=special, invalid=invalid)
    model = train(list(texts), output=output, rules=rules, shown=not quiet, **options)
    info = model_info(model)
    if as_json:
        print_json({**info, "seconds": round(time.perf_counter() - began, 3)})
        return
    talk(
        f"{info['words']:,} words in {info['sentences']:,} sentences, {info['vocabulary']:,} different; "
        f"{info['grams']:,} grams of {len(info['patterns'])} patterns; {info['bytes']:,} bytes "
        f"in {time.perf_counter() - began:.1f} s",
        quiet,
    )
