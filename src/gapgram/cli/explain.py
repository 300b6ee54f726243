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
@option("--evidence", type=click.IntRange(min=1), metavar="N", help="Name N training sentences for each pattern.")
@shared("json", "quiet")
def command(
    model: str, word: str, context: tuple[str, ...], start: bool, form: str | None, evidence: int | None,
    as_json: bool, quiet: bool,
) -> None:  # fmt: skip
    """Show where the probability of WORD after CONTEXT comes from.

    For every pattern of the lattice: its context, how often the word was counted after it, and of how many words, the
    discount D, the discounted relative frequency, the backoff weight (what is passed on to smaller patterns), the
    weight that the pattern received, and what it contributes. The contributions add up to the probability. A model that
    keeps its text (gapgram train --unbounded) adds what followed there, and can name training sentences. Where the
    model holds a tokeniser it is the last token of CONTEXT and WORD that is explained.

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
    named = opened.evidence(word, words, most=evidence) if evidence is not None else []
    if as_json:
        print_json({**result.as_dict(), **({"evidence": [one.as_dict() for one in named]} if named else {})})
    elif form is not None:
        print(as_svg(result) if form == "svg" else as_dot(result), end="")
    else:
        print(explanation_table(result))
        for one in named:
            more = "" if one.is_whole else " at least"
            print(f"\n{one.source}  {one.context} •  {one.places:,} places{more}")
            print("\n".join(f"  {sentence}" for sentence in one.sentences))
        talk(f"\nsignature  {result.signature}", quiet)
