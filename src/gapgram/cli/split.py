"""gapgram split: training, validation and test sets."""

from __future__ import annotations

import json

import click

from gapgram.cli.options import option, shared


@click.command()
@click.argument("text", metavar="TEXT")
@option(
    "--train", default="0.8", metavar="SHARE[,SHARE...]",
    help="Share of training text; of several, the larger hold the smaller.",
)
@option("--valid", type=float, default=0.0, help="Share of validation text.")
@option("--seed", type=int, default=1, help="Random seed.")
@option("-o", "--output", "prefix", metavar="PREFIX", help="Beginning of the file names.  [default: that of TEXT]")
@option("--compression", default="", metavar="gz|bz2|xz|zst", help="Compress the parts.")
@shared("json", "quiet")
def command(
    text: str, train: str, valid: float, seed: int, prefix: str | None, compression: str, as_json: bool, quiet: bool,
) -> None:  # fmt: skip
    """Split the sentences of TEXT at random; the test set is what is left."""
    from gapgram.preparation.split import split_text

    split = split_text(
        text, prefix, train=_shares(train), valid=valid, seed=seed, compression=compression, progress=not quiet
    )
    if as_json:
        click.echo(json.dumps(split.signature(), ensure_ascii=False))
        return
    for part in split.parts:
        click.echo(f"{part.path}: {part.sentences:,} sentences, {part.words:,} words")


def _shares(text: str) -> list[float]:
    from gapgram.errors import UsageError

    try:
        return [float(share) for share in text.split(",")]
    except ValueError:
        raise UsageError(f"training share {text!r}: expected numbers between 0 and 1, such as 0.8,0.08") from None
