"""gapgram mix: several models as one."""

from __future__ import annotations

import click

from gapgram.cli.options import option, print_json, shared, talk


@click.command()
@click.argument("models", nargs=-1, required=True, metavar="MODEL MODEL…")
@option("--tune", "tuning", metavar="TEXT", help="Find the weights that suit this text best.")
@option("--weights", metavar="A,B,…", help="Weights to use, a sum of 1.")
@option("-o", "--output", metavar="FILE", help="File to write the mixture to; it names the models' files.")
@option("--whole", is_flag=True, help="Put the models themselves into FILE, so that it needs no other file.")
@shared("special", "invalid", "threads", "json", "quiet")
def command(
    models: tuple[str, ...], tuning: str | None, weights: str | None, output: str | None, whole: bool, special: str,
    invalid: str, threads: int | None, as_json: bool, quiet: bool,
) -> None:  # fmt: skip
    """Mix models linearly, with weights given or found on held-out text by expectation maximisation.

    \b
        gapgram mix NEWS_MODEL MAIL_MODEL --tune VALIDATION_TEXT -o BOTH --whole
        gapgram perplexity BOTH TEXT
    """
    from gapgram import TextRules, load
    from gapgram.errors import UsageError
    from gapgram.models.mixture import Mixture, tune
    from gapgram.system.atomic_file import check_writable

    if (tuning is None) == (weights is None):
        raise UsageError("mix: give --tune TEXT or --weights, one of the two")
    if whole and output is None:
        raise UsageError("mix: --whole says how FILE is written: name it (-o FILE)")
    if output is not None:
        check_writable(output, [*models, *([tuning] if tuning else [])])
    opened = [load(path, progress=not quiet) for path in models]
    if tuning is not None:
        mixed = tune(opened, tuning, rules=TextRules(special=special, invalid=invalid), threads=threads)
    else:
        mixed = Mixture(opened, _parsed(weights or ""))
    if output is not None:
        mixed.save(output, whole=whole)
    if as_json:
        entries = [{"model": path, "weight": w} for path, w in zip(models, mixed.weights.tolist(), strict=True)]
        print_json({"models": entries, "signature": mixed.signature})
        return
    for path, weight in zip(models, mixed.weights.tolist(), strict=True):
        print(f"{weight:.6f}\t{path}")
    if output is not None:
        talk(f"{output} written", quiet)


def _parsed(weights: str) -> list[float]:
    try:
        return [float(w) for w in weights.split(",")]
    except ValueError:
        raise click.UsageError(f"weights {weights!r}: expected numbers such as 0.7,0.3") from None
