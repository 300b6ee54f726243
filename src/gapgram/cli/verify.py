"""gapgram verify: is a model file whole?"""

from __future__ import annotations

import click

from gapgram.cli.options import model_argument, option, print_json, shared


@click.command()
@model_argument
@option("--complete", is_flag=True, help="Look for the parts of every gram of a large model, too: takes seconds.")
@shared("json")
def command(model: str, complete: bool, as_json: bool) -> None:
    """Check a file of any kind: its checksums, its tables, and that its distributions sum to one.

    A mixture is checked with the models that it names. A session is checked without its model.
    """
    from gapgram.models.verify import verify

    report = verify(model, complete=complete)
    if as_json:
        print_json(report.as_dict())
    elif report.distributions:
        close = max(report.largest_miss_of_one, 1e-16)
        print(f"{model}: whole; {report.distributions} distributions sum to 1 within {close:.0e}")
    else:
        print(f"{model}: whole")
