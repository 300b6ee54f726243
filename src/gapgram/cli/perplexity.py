"""gapgram perplexity: how well a model predicts text."""

from __future__ import annotations

import click

from gapgram.cli.options import (
    announce_compilation,
    device_option,
    json_option,
    model_argument,
    on_device,
    open_reader,
    print_json,
    quiet_option,
    session_options,
    text_options,
    threads_option,
)


@click.command()
@model_argument
@click.argument("texts", nargs=-1, required=True, metavar="TEXT…")
@session_options()
@text_options(training=False)
@threads_option
@device_option
@json_option
@quiet_option
def command(
    model: str, texts: tuple[str, ...], learn: bool, history: tuple[str, ...], documents: bool, special: str,
    invalid: str, threads: int | None, device: str, as_json: bool, quiet: bool,
) -> None:  # fmt: skip
    """Print the perplexity of text under a model, with and without unknown words.

    With --learn the text is read in its order, and predictions learn from what was read (docs/guide/sessions.md).
    """
    announce_compilation(quiet)
    from gapgram.errors import TextError
    from gapgram.models.open import load
    from gapgram.text.corpus import TextRules

    rules = TextRules(special=special, invalid=invalid)
    opened = on_device(load(model, progress=not quiet), device, quiet)
    reader = open_reader(opened, learn=learn, history=history, documents=documents, rules=rules)
    if reader is not None:
        result = reader.perplexity(list(texts), learn=learn, documents=documents, rules=rules, progress=not quiet)
    else:
        result = opened.perplexity(list(texts), rules=rules, threads=threads, progress=not quiet)
    if not result.sentences:
        raise TextError(f"{', '.join(texts)}: no sentence in it: expected one sentence a line")
    if as_json:
        print_json(result.as_dict())
        return
    print(f"perplexity                {result.perplexity:.4f}")
    print(f"without unknown words     {result.perplexity_known:.4f}")
    print(f"words                     {result.words:,}")
    print(f"unknown words             {result.unknown_words:,}")
    print(f"sentences                 {result.sentences:,}")
    print(f"log10 probability         {result.log10_prob:.4f}")
    print(f"signature                 {result.signature}")
