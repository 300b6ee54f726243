"""gapgram split: training, validation and test sets."""

from __future__ import annotations

import json

import click


@click.command()
@click.argument("text", metavar="TEXT")
@click.option("--train", default="0.8", show_default=True, metavar="SHARE[,SHARE...]", help="Each holds the smaller.")
@click.option("--valid", type=float, default=0.0, show_default=True, help="Share for validation.")
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("-o", "--output", "prefix", metavar="PREFIX", help="Start of the file names; that of TEXT by default.")
@click.option("--compression", default="", metavar="gz|bz2|xz|zst", help="Compress the parts.")
@click.option("--json", "as_json", is_flag=True, help="Report as JSON.")
@click.option("-q", "--quiet", is_flag=True, help="Hide the progress bar.")
def command(
    text: str,
    train: str,
    valid: float,
    seed: int,
    prefix: str | None,
    compression: str,
    as_json: bool,
    quiet: bool,
) -> None:
    """Share the sentences of TEXT out at random; the test set is what is left."""
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
