"""gapgram compare: MKN beside GLM on one text."""

from __future__ import annotations

import click

from gapgram.cli.options import option, print_json, shared, talk


def parse_orders(text: str) -> list[int]:
    """`5`, `3-5` or `2,3,5`."""
    orders: list[int] = []
    for item in text.split(","):
        first, _, last = item.partition("-")
        if not first.strip().isdecimal() or (last and not last.strip().isdecimal()):
            raise click.UsageError(f"orders {text!r}: expected numbers such as 5, 3-5 or 2,3,5")
        orders += range(int(first), int(last or first) + 1)
    if not orders:
        raise click.UsageError(f"orders {text!r}: the first is larger than the last")
    return orders


@click.command()
@click.argument("texts", nargs=-1, required=True, metavar="TEXT…")
@option("-n", "--orders", default="3-5", metavar="N-M", help="Orders to compare.")
@option("--train", "share", default=0.8, metavar="SHARE", help="Share of training text.")
@option("--seed", default=1, type=click.IntRange(min=0), metavar="N", help="Random seed of the split.")
@shared("training special", "invalid", "threads", "json", "quiet")
def command(
    texts: tuple[str, ...], orders: str, share: float, seed: int, special: str, invalid: str,
    threads: int | None, as_json: bool, quiet: bool,
) -> None:  # fmt: skip
    """Compare modified Kneser-Ney with the generalized language model on TEXT.

    Splits the lines at random into training and test text, trains both models of each order, and prints
    perplexities (words that training did not show are left out) and the change relative to MKN.
    """
    from gapgram import TextRules
    from gapgram.experiments.compare import compare, comparison_table, split_lines, usual_models
    from gapgram.text.corpus import checked
    from gapgram.text.files import blocks_of_files

    chosen = parse_orders(orders)
    rules = TextRules(special=special, invalid=invalid)
    training, test = split_lines(checked(blocks_of_files(texts, progress=not quiet), rules), share, seed)
    rows = compare(
        training, test, chosen, models=usual_models(training), rules=rules, threads=threads, progress=not quiet
    )
    if as_json:
        split = {"training": len(training), "test": len(test), "share": share, "seed": seed}
        print_json({"split": split, "results": [row.as_dict() for row in rows]})
        return
    print(comparison_table(rows))
    first = rows[0].result
    talk(
        f"\nperplexity of {first.predictions - first.unknown_words:,} predictions in {first.sentences:,} test "
        f"sentences, {first.unknown_words:,} unknown words left out; trained on {len(training):,} sentences; "
        f"split {share} with seed {seed}\nsignature of the last: {rows[-1].result.signature}",
        quiet,
    )
