"""gapgram info: what is in a model file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from gapgram.cli.options import model_argument, option, print_json, shared

if TYPE_CHECKING:
    from gapgram.models.model import Model


@click.command()
@model_argument
@option("--pattern", metavar="PATTERN", help="Show the grams of this pattern with the largest counts, e.g. 101.")
@option("--top", default=10, type=click.IntRange(min=0), metavar="K", help="Number of grams to show.")
@option("--classes", is_flag=True, help="Show the word classes, each with its most frequent words.")
@shared("json")
def command(model: str, pattern: str | None, top: int, classes: bool, as_json: bool) -> None:
    """Show what is in a model: order, patterns, counts of counts, discounts, sizes.

    Of a mixture, an ARPA file or a binary file of KenLM: its order, its grams or models, and its words.
    """
    from gapgram import Model, Pattern, load
    from gapgram.errors import UsageError
    from gapgram.reporting.model_info import foreign_info, model_info
    from gapgram.reporting.tables import table

    opened = load(model)
    if not isinstance(opened, Model):
        if pattern is not None or classes:
            raise UsageError(f"{model}: --pattern and --classes need a model that gapgram train has written")
        _show_foreign({**foreign_info(opened), "sha256": _digest(opened.path or model)}, as_json)
        return
    info = {**model_info(opened), "about": opened.about, "sha256": _digest(opened.path or model)}
    if pattern is not None:
        grams = opened.counts.most_frequent(Pattern.parse(pattern), top)
        named = [{"gram": " ".join(w or "_" for w in words), "count": count} for words, count in grams]
        if as_json:
            print_json({"pattern": pattern, "grams": named, "signature": info["signature"]})
        else:
            counted = "count" if _counts_occurrences(opened, pattern) else "continuation count"
            print(table(["gram", counted], [[g["gram"], f"{g['count']:,}"] for g in named]))
        return
    if classes:
        _show_classes(opened, top, as_json)
        return
    if as_json:
        print_json(info)
        return
    for name, text in info["about"].items():
        print(f"{name:20}{text}")
    tokenizer = ("tokenizer",) if opened.tokeniser is not None else ()
    about_text = (*tokenizer, "words", "sentences", "vocabulary")
    for name in ("model", "order", "lattice", "classes", "weights", *about_text, "grams", "layout", "bytes"):
        value = info[name]
        if name == "classes" and len(info["clusterings"]) > 1:
            value = " + ".join(f"{n:,}" for n in info["clusterings"])
        if value == "custom":
            value = f"{value}: {' '.join(map(str, opened.counts.lattice.patterns))}"
        print(f"{name:20}{value:,}" if isinstance(value, int) else f"{name:20}{value}")
    by_part = ", ".join(f"{name} {value:.2f}" for name, value in info["bytes_per_gram_by_part"].items())
    print(f"{'bytes per gram':20}{info['bytes_per_gram']:.2f}: {by_part}")
    if spelling := info["spelling"]:
        characters = f"{spelling['order']} characters, {spelling['characters']:,} different"
        print(f"{'unknown words':20}spelled by {spelling['grams']:,} grams of up to {characters}")
    if info["quantised"]:
        print(f"{'quantised':20}to at most {1 << info['quantised']} different counts for each pattern")
    if info["pruned"]:
        print(f"{'pruned':20}{info['pruned']}")
    if info["learned"]:
        _print_learned(info["learned"])
    print(f"\n{_pattern_table(info['patterns'])}")
    print(f"\nsignature           {info['signature']}\nsha256              {info['sha256']}")


def _digest(path: Any) -> str:
    from pathlib import Path

    from gapgram.reporting.model_card import sha256_of

    return sha256_of(Path(path))


def _show_foreign(info: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(info)
        return
    for name in ("model", "kind", "order", "vocabulary"):
        value = info.get(name, "")
        if not value:
            continue
        print(f"{name:20}{value:,}" if isinstance(value, int) else f"{name:20}{value}")
    for length, n in enumerate(info.get("grams", ()), 1):
        print(f"{f'{length}-grams':20}{n:,}")
    for mixed in info.get("models", ()):
        print(f"{mixed['weight']:<20.6f}{mixed['path']}")
    print(f"\nsignature           {info['signature']}\nsha256              {info['sha256']}")


def _counts_occurrences(model: Model, pattern: str) -> bool:
    """Whether a pattern is the longest one without gaps; all others count different surroundings."""
    from gapgram import Pattern

    shown = str(Pattern.parse(pattern))
    return len(shown) == model.order and len(set(shown)) == 1


def _show_classes(model: Model, top: int, as_json: bool) -> None:
    from gapgram.errors import UsageError
    from gapgram.reporting.model_info import class_info
    from gapgram.reporting.tables import table

    if not model.counts.class_names:
        raise UsageError("the model has no word classes: train a glm on a larger text, or name them (--classes)")
    figures = class_info(model, top)
    if as_json:
        print_json({"classes": figures, "signature": str(model.signature)})
        return
    rows = [[c["class"], f"{c['words']:,}", " ".join(c["most_frequent"])] for c in figures]
    print(table(["class", "words", "most frequent"], [[name, n, words] for name, n, words in rows], left=1))


def _print_learned(learned: dict[str, Any]) -> None:
    print(f"{'learned from':20}{learned['source']}: {learned['positions']:,} positions")
    print(f"{'parameters':20}{learned['parameters']:,}")
    before, after = learned["perplexity_before"], learned["perplexity_after"]
    print(f"{'its perplexity':20}{before:.2f} before, {after:.2f} after fitting")


def _pattern_table(patterns: list[dict[str, Any]]) -> str:
    from gapgram.reporting.tables import table

    header = ["pattern", "words", "grams", "bytes a gram", "n1", "n2", "n3", "n4", "D1", "D2", "D3+"]
    rows = [
        [p["pattern"], p["words"], f"{p['grams']:,}", f"{p['bytes_per_gram']:.2f}"]
        + [f"{n:,}" for n in p["counts_of_counts"]]
        + [f"{d:.4f}" for d in p["discounts"]]
        for p in patterns
    ]
    if patterns[0]["mean_weight"] is not None:
        header.append("mean weight")
        rows = [[*row, f"{p['mean_weight']:.4f}"] for row, p in zip(rows, patterns, strict=True)]
    return table(header, rows, left=2)
