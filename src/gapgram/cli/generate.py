"""gapgram generate: sentences drawn from a model."""

from __future__ import annotations

import click

from gapgram.cli.options import model_argument, option, print_json, shared


@click.command()
@model_argument
@click.argument("begin", nargs=-1)
@option("-n", "--sentences", "n", default=1, metavar="N", help="Number of sentences.")
@option(
    "--temperature", default=1.0, metavar="T",
    help="Temperature: below 1 for ordinary sentences, above 1 for surprising ones.",
)
@option("--top-k", type=int, metavar="K", help="Draw from the K most probable words only.")
@option("--max-words", default=100, metavar="N", help="Cut sentences off after N words.")
@option("--seed", default=1, metavar="N", help="Random seed; the same seed gives the same sentences.")
@shared("threads", "json", "quiet")
def command(
    model: str, begin: tuple[str, ...], n: int, temperature: float, top_k: int | None, max_words: int, seed: int,
    threads: int | None, as_json: bool, quiet: bool,
) -> None:  # fmt: skip
    """Draw sentences from a model; each begins with the words BEGIN if they are given."""
    from gapgram import load
    from gapgram.queries.generate import generate

    opened = load(model)
    drawn = generate(
        opened, n, begin=" ".join(begin), temperature=temperature, top_k=top_k, max_words=max_words, seed=seed,
        threads=threads,
    )  # fmt: skip
    if as_json:
        options = {"temperature": temperature, "top_k": top_k, "max_words": max_words, "seed": seed}
        sentences = [opened.text_of(words) for words in drawn]
        print_json({"sentences": sentences, **options, "signature": str(opened.signature)})
        return
    for words in drawn:
        print(opened.text_of(words))
