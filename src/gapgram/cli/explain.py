"""gapgram explain: where a probability comes from."""

from __future__ import annotations

import click

from gapgram.cli.options import model_argument, option, print_json, shared, talk


@click.command()
@model_argument
@click.argument("word")
@click.argument("context", nargs=-1)
@option("--start", is_flag=True, help="Put the beginning of a sentence before the context.")
@option("--svg", "form", flag_value="svg", help="Print a picture of the lattice.")
@option("--dot", "form", flag_value="dot", help="Print the lattice for Graphviz.")
@shared("json", "quiet")
def command(
    model: str, word: str, context: tuple[str, ...], start: bool, form: str | None, as_json: bool, quiet: bool
) -> None:
    """Show where the probability of WORD after CONTEXT comes from.

    For every pattern of the lattice: its context, how often the context and the word were counted, the
    discounted relative frequency, g (what goes on to smaller patterns), the share of the prediction that
    the pattern received, and what it contributes. The contributions add up to the probability. Where the model holds a
    tokeniser it is the last token of CONTEXT and WORD that is explained.

    \b
        gapgram explain MODEL world "the end of the"
        gapgram explain MODEL world "the end of the" --svg > lattice.svg
    """
    from gapgram.models.open import load_own
    from gapgram.queries.lattice_picture import as_dot, as_svg
    from gapgram.reporting.tables import explanation_table

    opened = load_own(model, wanted_by="explain")
    before = opened.tokens(" ".join(context))
    if opened.tokeniser is not None:
        *before, word = opened.tokens(" ".join([*context, word])) or [word]
    words = [*(["<s>"] if start else []), *before]
    result = opened.explain(word, words)
    unknown = [w for w in [*words[max(0, len(words) - opened.order + 1) :], word] if w not in opened.vocabulary]
    if unknown:
        talk(f"not in the model's vocabulary, mapped to <unk>: {' '.join(unknown)}", quiet)
    if as_json:
        print_json(result.as_dict())
    elif form is not None:
        print(as_svg(result) if form == "svg" else as_dot(result), end="")
    else:
        print(explanation_table(result))
        talk(f"\nsignature  {result.signature}", quiet)
