"""gapgram push: a model and its card to a hub."""

from __future__ import annotations

import click

from gapgram.cli.options import model_argument, option


@click.command()
@model_argument
@click.argument("address", metavar="hf://OWNER/NAME")
@option("--private", is_flag=True, help="Make a repository that only its owner sees, where there is none yet.")
def command(model: str, address: str, private: bool) -> None:
    """Write a model and its card to a repository of Hugging Face's hub, from which all commands can read it.

    The account is the one that the hub's own program knows (hf auth login). Say what the model is first: gapgram about.

    \b
        gapgram push MODEL hf://OWNER/NAME
        gapgram predict hf://OWNER/NAME "the end of"
    """
    from gapgram.reporting.model_card import push

    print(push(model, address, private=private))
