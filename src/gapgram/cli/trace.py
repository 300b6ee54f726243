"""gapgram trace: the runs of words that a text has in common with a model's training text."""

from __future__ import annotations

import json

import click

from gapgram.cli.options import option, shared, talk


@click.command()
@click.argument("texts", nargs=-1, required=True, metavar="TEXT…")
@option("--index", required=True, metavar="MODEL", help="Model that keeps its text (gapgram train --unbounded).")
@option("--least", type=int, metavar="N", help="Words of a copied run.  [default: twice chance, 8 or more]")
@option("--svg", "picture", is_flag=True, help="Print a picture: the longer the run, the darker.")
@shared("special", "invalid", "threads", "json", "quiet")
def command(
    texts: tuple[str, ...], index: str, least: int | None, picture: bool, special: str, invalid: str,
    threads: int | None, as_json: bool, quiet: bool,
) -> None:  # fmt: skip
    """Find runs of words of TEXT that the training text of MODEL has.

    Prints for each document (an empty line, or a new file, begins one) its words, its score, which is the share of
    words in copied runs, how long the longest run from a word on is on average, how long it would be by chance, and the
    longest run with its place in the training text. With --json a line for each document, with all words.
    """
    from gapgram.models.open import load_own
    from gapgram.reporting.tracing import Tracer, as_svg
    from gapgram.text.files import blocks_of_files
    from gapgram.text.rules import TextRules

    opened = load_own(index, wanted_by="trace")
    tracer = Tracer(opened, least=least)
    blocks = blocks_of_files(list(texts), title="tracing", progress=not quiet)
    documents = tracer.documents(blocks, TextRules(special=special, invalid=invalid), threads=threads)
    if picture:
        print(as_svg(documents), end="")
        return
    for document in documents:
        print(json.dumps(document.as_dict(), ensure_ascii=False) if as_json else document)
    talk(f"copied: in runs of {tracer.least} words or more; signature  {opened.signature}", quiet)
