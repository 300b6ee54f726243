"""gapgram convert: a model in another layout, or quantised."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from gapgram.cli.options import (
    announce_compilation,
    json_option,
    memory_option,
    model_argument,
    print_json,
    quiet_option,
    talk,
)

if TYPE_CHECKING:
    from gapgram import Model


@click.command()
@model_argument
@click.option("-o", "--output", required=True, metavar="MODEL", help="The model file to write.")
@click.option(
    "--layout",
    type=click.Choice(["compact", "fast"]),
    default="compact",
    show_default=True,
    help="A third of the size, or the layout that is scored with fastest.",
)
@click.option(
    "--quantise",
    "bits",
    type=click.IntRange(1, 8),
    metavar="BITS",
    help="Keep 2**BITS different counts for each pattern, from 1 to 8 bits: smaller, and only nearly the same model.",
)
@memory_option
@json_option
@quiet_option
def command(
    model: str, output: str, layout: str, bits: int | None, memory: str | None, as_json: bool, quiet: bool
) -> None:
    """Write a model in another layout.

    Both layouts give the same probabilities, bit for bit, and each can be made from the other. A quantised model
    cannot be made exact again, and says in its signature that it is quantised.
    """
    announce_compilation(quiet)
    from gapgram.models.open import load_own
    from gapgram.system.atomic_file import check_place
    from gapgram.system.memory import default_memory

    check_place(output, [model])
    limit = memory or default_memory()
    opened = load_own(model, memory=limit, wanted_by="convert")
    before = _size(opened)
    if bits and layout == "compact":
        opened.save_quantised(output, bits)
    else:
        (opened.quantised(bits) if bits else opened).save(output, layout=layout)
    after = _size(load_own(output, memory=limit, wanted_by="convert"))
    if as_json:
        print_json({"model": model, "output": output, "before": before, "after": after})
        return
    talk(
        f"{output} written, {layout}: {after['bytes']:,} bytes, {after['bytes_per_gram']:.2f} a gram; "
        f"{model}, {before['layout']}: {before['bytes']:,} bytes, {before['bytes_per_gram']:.2f} a gram",
        quiet,
    )


def _size(model: Model) -> dict[str, Any]:
    from gapgram.reporting.model_info import size_info

    return {**size_info(model), "signature": str(model.signature)}
