"""gapgram prepare: dumps and documents to sentences."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from gapgram.cli.options import option, shared

if TYPE_CHECKING:
    from gapgram.preparation import Prepared


@click.group()
def command() -> None:
    """Turn dumps and documents into text: one sentence a line, words apart."""


def _source(name: str, metavar: str, told: str) -> click.Command:
    """The command of one kind of source; the function of the package is called `prepare_NAME`."""

    @click.argument("sources", nargs=-1, required=True, metavar=metavar)
    @option("-o", "--output", required=True, metavar="TEXT", help="File to write (.gz .bz2 .xz .zst compress), or -.")
    @option("--language", required=True, metavar="CODE", help="Wikipedia code: en, de, fr, it, …")
    @option(
        "--malformed", default="error", metavar="error|skip",
        help="Stop at a malformed document and keep those before it, or count it and go on.",
    )
    @option("--processes", type=int, help="Number of processes.  [default: all cores]")
    @shared("json", "quiet")
    def run(
        sources: tuple[str, ...], output: str, language: str, malformed: str, processes: int | None, as_json: bool,
        quiet: bool,
    ) -> None:  # fmt: skip
        from gapgram import preparation

        options = preparation.Options(malformed=malformed, processes=processes, progress=not quiet)
        _report(getattr(preparation, f"prepare_{name}")(sources, output, language, options), output, as_json)

    return click.command(name, help=told)(run)


command.add_command(_source("wikipedia", "DUMP...", "Prepare MediaWiki dumps: articles without their markup."))
command.add_command(
    _source("acquis", "FOLDER|FILE...", "Prepare JRC-Acquis documents in TEI XML; a folder stands for its files.")
)
command.add_command(
    _source("text", "TEXT...", "Prepare plain text; blank lines end paragraphs, - is standard input.")
)


def _report(prepared: Prepared, output: str, as_json: bool) -> None:
    """Say what was done: on standard output, unless the text itself went there."""
    if as_json:
        click.echo(json.dumps(prepared.signature() | {"output": output}, ensure_ascii=False), err=output == "-")
        return
    said = (
        f"{output}: {prepared.sentences:,} sentences, {prepared.words:,} words "
        f"from {prepared.documents:,} documents ({prepared.left_out:,} left out, {prepared.malformed:,} malformed)"
    )
    click.echo(said, err=output == "-")
    if prepared.malformed:
        click.echo(f"first malformed: {prepared.first_malformed}", err=True)
