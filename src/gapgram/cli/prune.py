"""gapgram prune: a smaller model from a model."""

from __future__ import annotations

import click

from gapgram.cli.options import Described, model_argument, option, print_json, shared, talk

_of_pruned = Described("gapgram.models.model:pruned")


@click.command()
@model_argument
@option("-o", "--output", required=True, metavar="SMALL", help="Model file to write.")
@_of_pruned("counts", metavar="COUNTS")
@_of_pruned("size", metavar="SIZE")
@_of_pruned("keep", type=float, metavar="PART")
@_of_pruned("layout", choices=["fast", "compact"])
@shared("memory", "json", "quiet")
def command(
    model: str, output: str, counts: str | None, size: str | None, keep: float | None, layout: str | None,
    memory: str | None, as_json: bool, quiet: bool,
) -> None:  # fmt: skip
    """Drop n-grams from a model: the rare ones, or, down to a size, those that matter least.

    Words stay, probabilities still sum to one, and discounts and weights stay those of the whole model.
    A size is that of the file which is written: 10MB are 10,000,000 bytes, 10MiB or 10M are 10,485,760.
    """
    from gapgram.models.open import load_own
    from gapgram.reporting.model_info import model_info
    from gapgram.system.atomic_file import check_writable
    from gapgram.system.memory import default_memory

    check_writable(output, [model])
    limit = memory or default_memory()
    whole = load_own(model, memory=limit, wanted_by="prune")
    before = model_info(whole)
    pruned = whole.pruned(counts=counts, size=size, keep=keep, layout=layout, output=output)
    if pruned.signature == whole.signature:
        talk(f"nothing to prune: {model} has {before['bytes']:,} bytes, no more than asked for; it is copied", quiet)
    info = model_info(pruned)
    if as_json:
        print_json(info)
        return
    talk(
        f"{info['grams']:,} of {before['grams']:,} grams, {info['bytes']:,} of {before['bytes']:,} bytes "
        f"({info['bytes'] / before['bytes']:.1%})",
        quiet,
    )
