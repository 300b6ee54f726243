"""gapgram page: a page with models in it, without a service."""

from __future__ import annotations

import click

from gapgram.cli.options import option, shared, talk


@click.command()
@click.argument("models", nargs=-1, required=True, metavar="MODEL…")
@option("-o", "--output", required=True, metavar="PLACE", help="Page to write: FILE.html, or a folder.")
@option(
    "--text", metavar="FILE",
    help="Text that the models were not trained on, a sentence a line: the page's examples are taken from it.  "
    "[default: MODEL.examples.txt beside a model; else a model writes them]",
)
@shared("quiet")
def command(models: tuple[str, ...], output: str, text: str | None, quiet: bool) -> None:
    """Write a page that shows what models predict, and why, without a service.

    It is the page of `gapgram serve` but for the correction of spelling. One file opens from disk, offline and on a
    phone; the files of a folder need any server of files. Models become compact, and small ones do best.

    \b
        gapgram page en.model -o en.html
        gapgram page mkn.model glm.model -o page/
    """
    from gapgram.errors import UsageError, to_install

    try:
        import fastapi  # noqa: F401 - only to say clearly what is missing
        import uvicorn  # noqa: F401
    except ImportError as missing:
        raise UsageError(f"{missing.name} is not installed: {to_install('web')}") from None
    from gapgram.web.alone import write_page
    from gapgram.web.server import held_out_sentences, open_models

    sentences = held_out_sentences(text, models)
    talk(f"open {write_page(open_models(models), sentences, output)} in a browser", quiet)
