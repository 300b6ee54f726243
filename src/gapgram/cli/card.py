"""gapgram card: a model card in Markdown."""

from __future__ import annotations

import click

from gapgram.cli.options import model_argument, option


@click.command()
@model_argument
@option("-o", "--output", metavar="FILE", help="File to write.  [default: standard output]")
def command(model: str, output: str | None) -> None:
    """Write a model card in Markdown, as sites that share models show it.

    It holds what the file says of itself (gapgram about), what the model is and was trained on, how to use it,
    its digest and its signature.

    \b
        gapgram card MODEL > README.md
    """
    from gapgram.errors import UsageError
    from gapgram.models.mixture import Mixture
    from gapgram.models.model import Model
    from gapgram.models.open import load
    from gapgram.reporting.model_card import model_card
    from gapgram.system.atomic_file import check_writable, written_aside

    opened = load(model)
    if not isinstance(opened, Model | Mixture):
        raise UsageError(f"{model}: card needs a model that gapgram train or mix has written")
    card = model_card(opened)
    if output is None:
        print(card, end="")
        return
    check_writable(output, [model])
    with written_aside(output) as file:
        file.write(card.encode())
