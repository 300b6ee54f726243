"""gapgram info: what is in a model file."""

from __future__ import annotations

import click

from gapgram.cli.options import json_option, model_argument, print_json


@click.command()
@model_argument
@click.option("--pattern", metavar="PATTERN", help="Show this pattern's most frequent grams, e.g. 101.")
@click.option("--top", default=10, show_default=True, metavar="K", help="How many grams to show.")
@json_option
def command(model: str, pattern: str | None, top: int, as_json: bool) -> None:
    """Show what is in a model: order, patterns, counts of counts, discounts, sizes."""
    from gapgram import Pattern, load
    from gapgram.model_info import model_info
    from gapgram.report import table

    opened = load(model)
    info = model_info(opened)
    if pattern is not None:
        grams = opened.counts.most_frequent(Pattern.parse(pattern), top)
        named = [{"gram": " ".join(w or "_" for w in words), "count": count} for words, count in grams]
        if as_json:
            print_json({"pattern": pattern, "grams": named, "signature": info["signature"]})
        else:
            print(table(["gram", "count"], [[g["gram"], f"{g['count']:,}"] for g in named]))
        return
    if as_json:
        print_json(info)
        return
    for name in ("model", "order", "lattice", "weights", "words", "sentences", "vocabulary", "grams", "bytes"):
        value = info[name]
        print(f"{name:16}{value:,}" if isinstance(value, int) else f"{name:16}{value}")
    print(f"{'bytes per gram':16}{info['bytes_per_gram']:.1f}")
    print()
    print(_pattern_table(info["patterns"], table))
    print(f"\nsignature       {info['signature']}")


def _pattern_table(patterns: list[dict[str, object]], table: object) -> str:
    header = ["pattern", "words", "grams", "n1", "n2", "n3", "n4", "D1", "D2", "D3+"]
    rows = []
    for p in patterns:
        counts, discounts = p["counts_of_counts"], p["discounts"]
        figures = [f"{n:,}" for n in (p["grams"], *counts)]  # type: ignore[misc]
        rows.append([p["pattern"], p["words"], *figures, *[f"{d:.4f}" for d in discounts]])  # type: ignore[attr-defined]
    return table(header, rows, left=2)  # type: ignore[operator, no-any-return]
