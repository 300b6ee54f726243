"""gapgram prepare: dumps and documents to sentences."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from gapgram.cli.options import option, shared

if TYPE_CHECKING:
    from gapgram.preparation import Options, Prepared

@click.group()
def command() -> None:
    """Turn dumps and documents into text: one sentence a line, words apart."""


_LANGUAGE = option("--language", required=True, metavar="CODE", help="Wikipedia code: en, de, fr, it, …")
_OUTPUT = option(
    "-o", "--output", required=True, metavar="TEXT", help="File to write (.gz .bz2 .xz .zst compress), or -."
)
_MALFORMED = option(
    "--malformed", default="error", metavar="error|skip",
    help="Stop at a malformed document and keep those before it, or count it and go on.",
)
_PROCESSES = option("--processes", type=int, help="Number of processes.  [default: all cores]")


@command.command()
@click.argument("dumps", nargs=-1, required=True, metavar="DUMP...")
@_OUTPUT
@_LANGUAGE
@_MALFORMED
@_PROCESSES
@shared("json", "quiet")
def wikipedia(dumps: tuple[str, ...], output: str, language: str, as_json: bool, **rest: Any) -> None:
    """Prepare MediaWiki dumps: articles without their markup."""
    from gapgram.preparation import prepare_wikipedia

    _report(prepare_wikipedia(dumps, output, language, _options(**rest)), output, as_json)


@command.command()
@click.argument("sources", nargs=-1, required=True, metavar="FOLDER|FILE...")
@_OUTPUT
@_LANGUAGE
@_MALFORMED
@_PROCESSES
@shared("json", "quiet")
def acquis(sources: tuple[str, ...], output: str, language: str, as_json: bool, **rest: Any) -> None:
    """Prepare JRC-Acquis documents in TEI XML; a folder stands for its files."""
    from gapgram.preparation import prepare_acquis

    _report(prepare_acquis(sources, output, language, _options(**rest)), output, as_json)


@command.command()
@click.argument("texts", nargs=-1, required=True, metavar="TEXT...")
@_OUTPUT
@_LANGUAGE
@_MALFORMED
@_PROCESSES
@shared("json", "quiet")
def text(texts: tuple[str, ...], output: str, language: str, as_json: bool, **rest: Any) -> None:
    """Prepare plain text; blank lines end paragraphs, - is standard input."""
    from gapgram.preparation import prepare_text

    _report(prepare_text(texts, output, language, _options(**rest)), output, as_json)


def _options(*, malformed: str, processes: int | None, quiet: bool) -> Options:
    from gapgram.preparation import Options

    return Options(malformed=malformed, processes=processes, progress=not quiet)


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
