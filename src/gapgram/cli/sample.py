"""gapgram sample: random word sequences."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from gapgram.cli.options import option


@click.command()
@click.argument("text", metavar="TEXT")
@option("--sequences", type=int, default=100_000, help="Number of sequences.")
@option("--length", type=int, default=5, help="Words of each sequence.")
@option("--seed", type=int, default=1, help="Random seed.")
@option(
    "-o", "--output", default="-", metavar="FILE", show_default=False,
    help="File to write.  [default: standard output]",
)
@option("--json", "as_json", is_flag=True, help="Print the result as JSON; needs --output.")
@option("-q", "--quiet", is_flag=True, help="Hide the progress bar.")
def command(text: str, sequences: int, length: int, seed: int, output: str, as_json: bool, quiet: bool) -> None:
    """Draw word sequences from the sentences of TEXT, all equally likely, without replacement."""
    from gapgram.errors import UsageError
    from gapgram.preparation.split import sample_text

    if as_json and output == "-":
        raise UsageError("--json: the sequences go to standard output already; name a file with --output")
    sample = sample_text(text, output, sequences=sequences, length=length, seed=seed, progress=not quiet)
    if as_json:
        click.echo(json.dumps(asdict(sample) | {"output": output}, ensure_ascii=False))
    elif output != "-":
        click.echo(f"{output}: {sample.sequences:,} of {sample.runs:,} runs of {sample.length} words")
