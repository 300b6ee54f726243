"""gapgram about: what a model file says of itself."""

from __future__ import annotations

import click

from gapgram.cli.options import model_argument, option, print_json, shared, talk


@click.command()
@model_argument
@click.argument("entries", nargs=-1, metavar="[NAME=TEXT…]")
@option("-o", "--output", metavar="NEW", help="Model file to write with these entries; NAME= removes one.")
@option(
    "--split", choices=["marks", "none"],
    help="Note that punctuation marks were words of their own in the training text: raw text is cut so; or not.",
)
@shared("json", "quiet")
def command(
    model: str, entries: tuple[str, ...], output: str | None, split: str | None, as_json: bool, quiet: bool
) -> None:
    """Show what a model file says of itself, or write it with other entries.

    Usual names are name, language, licence, tokenisation, date and address; any other may be used.

    \b
        gapgram about MODEL
        gapgram about MODEL language=en "licence=CC BY-SA 4.0" -o NEW
        gapgram about MODEL --split marks -o NEW
    """
    from gapgram.counts.about import parse_about
    from gapgram.errors import UsageError
    from gapgram.models.open import load_own
    from gapgram.system.atomic_file import check_writable

    opened = load_own(model, wanted_by="about")
    if bool(entries or split) != (output is not None):
        raise UsageError("about: name a file to write (-o NEW) and what to say in it (NAME=TEXT, --split), or neither")
    if output is not None:
        check_writable(output, [model])
        if split is not None:
            opened = opened.with_splitting("" if split == "none" else split)
        merged = {**opened.about, **parse_about(entries)}
        opened = opened.with_about({name: text for name, text in merged.items() if text}, output=output)
    if as_json:
        print_json(opened.about)
        return
    for name, text in opened.about.items():
        print(f"{name:20}{text}")
    if not opened.about:
        talk("nothing is said of this model; see gapgram about --help", quiet)
