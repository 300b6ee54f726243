"""gapgram serve: a page and an API on this machine."""

from __future__ import annotations

import click

from gapgram.cli.options import option, shared, talk


@click.command()
@click.argument("models", nargs=-1, required=True, metavar="MODEL…")
@option("--port", type=click.IntRange(0, 65535), default=8000, help="Port to listen on; 0 takes any free one.")
@option("--host", default="127.0.0.1", help="Address to listen on; the default is reached from this machine only.")
@option(
    "--text", metavar="FILE",
    help="Text that the models were not trained on, a sentence a line: the page's examples are taken from it.  "
    "[default: MODEL.examples.txt beside a model; else a model writes them]",
)
@shared("quiet")
def command(models: tuple[str, ...], port: int, host: str, text: str | None, quiet: bool) -> None:
    """Show what models predict, and why, on a page in the browser.

    The page compares several models side by side, KenLM's and ARPA files, too. A model is called as its file is,
    without the ending; NAME=MODEL gives it another name. Programs find a JSON API beside the page, described at
    /api/openapi.json.

    \b
        gapgram serve mkn.model glm.model --text held-out.txt
        gapgram serve kenlm.bin glm.model
        gapgram serve old=2024/glm.model new=glm.model --port 8080
    """
    from gapgram.errors import UsageError, to_install

    try:
        import fastapi  # noqa: F401 - only to say clearly what is missing
        import uvicorn  # noqa: F401
    except ImportError as missing:
        raise UsageError(f"{missing.name} is not installed: {to_install('web')}") from None
    from gapgram.web.server import application, held_out_sentences, is_loopback, listen, open_models, run

    with listen(host, port) as listener:
        sentences = held_out_sentences(text, models)
        app = application(open_models(models), host, sentences)
        address = listener.getsockname()
        shown = f"[{address[0]}]" if ":" in address[0] else address[0]
        talk(f"open http://{shown}:{address[1]}/ in a browser; end with Ctrl-C", quiet)
        if not is_loopback(host):
            talk(f"listening on {host}: every machine that can reach this one may ask", quiet)
        run(app, listener)
