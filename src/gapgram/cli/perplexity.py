"""gapgram perplexity: how well a model predicts text."""

from __future__ import annotations

import click

from gapgram.cli.options import model_argument, open_reader, opened, print_json, shared


@click.command()
@model_argument
@click.argument("texts", nargs=-1, required=True, metavar="TEXT…")
@shared("learn", "history", "documents", "special", "invalid", "tokens", "threads", "device", "json", "quiet")
def command(
    model: str, texts: tuple[str, ...], learn: bool, history: tuple[str, ...], documents: bool, special: str,
    invalid: str, tokens: bool, threads: int | None, device: str, as_json: bool, quiet: bool,
) -> None:  # fmt: skip
    """Print the perplexity of text under a model, with and without unknown words.

    Of a model with an open vocabulary (gapgram train --open-vocabulary) also with unknown words by their own spelling,
    which can be compared between models that know different words.

    Of a model that holds a tokeniser it is that of tokens; per word and per byte it can be compared with others.

    With --learn the text is read in its order, and predictions learn from what was read (docs/guide/sessions.md).
    """
    from gapgram.errors import TextError
    from gapgram.text.corpus import TextRules

    asked = opened(model, device=device, tokens=tokens, quiet=quiet)
    rules = TextRules(special=special, invalid=invalid, tokenised=tokens)
    reader = open_reader(asked, learn=learn, history=history, documents=documents, rules=rules)
    if reader is not None:
        result = reader.perplexity(list(texts), learn=learn, documents=documents, rules=rules, progress=not quiet)
    else:
        result = asked.perplexity(list(texts), rules=rules, threads=threads, progress=not quiet)
    if not result.sentences:
        raise TextError(f"{', '.join(texts)}: no sentence in it: expected one sentence a line")
    if as_json:
        print_json(result.as_dict())
        return
    unit = result.unit
    print(f"perplexity                {result.perplexity:.4f}")
    print(f"{f'without unknown {unit}':26}{result.perplexity_known:.4f}")
    if result.log10_prob_open is not None:
        print(f"open vocabulary           {result.perplexity_open:.4f}")
    print(f"{unit:26}{result.words:,}")
    print(f"{f'unknown {unit}':26}{result.unknown_words:,}")
    print(f"sentences                 {result.sentences:,}")
    if unit == "tokens" and result.text_words is not None:
        print(f"words                     {result.text_words:,}")
        print(f"perplexity per word       {result.perplexity_per_word:.4f}")
        print(f"bytes                     {result.text_bytes:,}")
        print(f"perplexity per byte       {result.perplexity_per_byte:.4f}")
        print(f"bits per byte             {result.bits_per_byte:.4f}")
    if result.log10_prob_open is not None:
        print(f"bits per byte             {result.bits_per_byte_open:.4f} (open vocabulary)")
    print(f"log10 probability         {result.log10_prob:.4f}")
    print(f"signature                 {result.signature}")
