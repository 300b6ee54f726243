"""gapgram arpa: a model as an ARPA file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gapgram.cli.options import (
    announce_compilation,
    json_option,
    model_argument,
    print_json,
    quiet_option,
    talk,
    threads_option,
)

if TYPE_CHECKING:
    from gapgram import Perplexity


@click.command()
@model_argument
@click.option(
    "-o", "--output", required=True, metavar="FILE", help="File to write; compressed if its name ends in .gz."
)
@click.option("--approximate", "nearly", is_flag=True, help="Write a glm too, as the nearest backoff model.")
@click.option(
    "--encoding",
    type=click.Choice(["words", "nemo"]),
    default="words",
    show_default=True,
    help="Write words as they are, or tokens as NeMo's decoders expect them: the character of the token's id + 100.",
)
@click.option("--measure", metavar="TEXT", help="Text on which to measure what an approximation loses.")
@threads_option
@json_option
@quiet_option
def command(
    model: str, output: str, nearly: bool, encoding: str, measure: str | None, threads: int | None, as_json: bool,
    quiet: bool,
) -> None:  # fmt: skip
    """Write a modified Kneser-Ney model as an ARPA file, which KenLM and other toolkits read.

    The file gives the same probabilities. A generalized language model mixes several shorter contexts, for
    which ARPA has no place: it is refused, or, with --approximate, written as the nearest backoff model.
    That model loses most or all of the gain over mkn: --measure says how much. MODEL may also be an ARPA
    file or a binary file of KenLM.
    """
    announce_compilation(quiet)
    from gapgram import Model, load
    from gapgram.errors import UsageError
    from gapgram.models.arpa import approximate, nemo_words, write_arpa
    from gapgram.models.to_backoff import to_backoff
    from gapgram.system.atomic_file import check_writable

    check_writable(output, [model, *([measure] if measure else [])])
    opened = load(model, progress=not quiet)
    if measure is not None and not (nearly and isinstance(opened, Model)):
        raise UsageError("--measure says what an approximation loses: give a glm and --approximate too")
    if isinstance(opened, Model) and nearly:
        written = approximate(opened, threads=threads)
    else:
        written = to_backoff(opened, threads=threads, progress=not quiet)
    write_arpa(written, output, words=nemo_words(opened, written) if encoding == "nemo" else None)
    talk(f"{output} written: order {written.order}, {sum(written.grams.sizes()):,} grams", quiet)
    measured = [opened.perplexity(measure, threads=threads), written.perplexity(measure)] if measure else []
    if as_json:
        names = ("model", "arpa")
        perplexities = {name: result.as_dict() for name, result in zip(names, measured, strict=False)}
        print_json({"output": output, "grams": written.grams.sizes(), "perplexity": perplexities})
    elif measured:
        _print_loss(*measured)


def _print_loss(exact: Perplexity, written: Perplexity) -> None:
    from gapgram.reporting.tables import change, table

    pairs = [
        ("with unknown words", exact.perplexity, written.perplexity),
        ("without unknown words", exact.perplexity_known, written.perplexity_known),
    ]
    rows = [[name, f"{a:.2f}", f"{b:.2f}", change(b, a)] for name, a, b in pairs]
    print(table(["perplexity", "model", "ARPA file", "change"], rows))
