"""gapgram verify: is a model file whole?"""

from __future__ import annotations

import click

from gapgram.cli.options import json_option, model_argument, print_json


@click.command()
@model_argument
@json_option
def command(model: str, as_json: bool) -> None:
    """Check a model file against its checksums, and that its distributions sum to one."""
    from gapgram.errors import ModelFileError
    from gapgram.models.open import load_own

    opened = load_own(model, wanted_by="verify", verify=True)
    contexts = [[], ["<s>"], *[[opened.vocabulary[i]] for i in range(3, min(11, len(opened.vocabulary)))]]
    worst = max(abs(float(opened.distribution(context).sum()) - 1) for context in contexts)
    if worst > 1e-9:
        raise ModelFileError(f"{model}: whole, but a distribution misses 1 by {worst:.2g}: train the model again")
    result = {"model": model, "whole": True, "largest_miss_of_one": worst, "signature": str(opened.signature)}
    if as_json:
        print_json(result)
    else:
        print(f"{model}: whole; {len(contexts)} distributions sum to 1 within {max(worst, 1e-16):.0e}")
