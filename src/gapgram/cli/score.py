"""gapgram score: the probability of each line."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import click

from gapgram.cli.options import model_argument, open_reader, opened, option, shared, talk

if TYPE_CHECKING:
    from gapgram.queries.line_scores import LineScore


@click.command()
@model_argument
@click.argument("text", default="-")
@option("--words", is_flag=True, help="Print a line for each word: word, log10 probability.")
@option("--per-line", is_flag=True, help="Print perplexity, words, unknown words and the line itself, for filtering.")
@option(
    "--open-vocabulary", is_flag=True,
    help="Give words that the model does not know probabilities of their own; see gapgram train.",
)
@shared("learn", "history", "documents", "special", "invalid", "tokens", "threads", "device", "json", "quiet")
def command(
    model: str, text: str, words: bool, per_line: bool, open_vocabulary: bool, learn: bool, history: tuple[str, ...],
    documents: bool, special: str, invalid: str, tokens: bool, threads: int | None, device: str, as_json: bool,
    quiet: bool,
) -> None:  # fmt: skip
    """Score each line of TEXT (standard input by default).

    Prints for each line, separated by tabs: log10 of its probability, its words, and how many of them the
    model does not know; with --per-line its perplexity, its words, how many of them the model does not know,
    and the line as it is. An empty line gives an empty line. With --learn the text is read in its order, and scores
    learn from what was read (docs/guide/sessions.md). Words are tokens where the model holds a tokeniser.
    """
    from gapgram.errors import UsageError
    from gapgram.queries.line_scores import read_line_blocks, score_line_blocks
    from gapgram.text.corpus import TextRules

    if words and per_line:
        raise UsageError("score: --words or --per-line, one of the two")
    asked = opened(model, device=device, tokens=tokens, quiet=quiet)
    if sys.stdin is not None and sys.stdin.isatty() and text == "-" and not quiet:
        print("reading sentences from the terminal, one a line; end with Ctrl-D", file=sys.stderr)
    rules = TextRules(special=special, invalid=invalid, tokenised=tokens)
    if learn or history or documents:
        if open_vocabulary:
            raise UsageError("score: --open-vocabulary is for a model that does not learn what it reads; leave one out")
        reader = open_reader(asked, learn=learn, history=history, documents=documents, rules=rules)
        scored = read_line_blocks(reader, text, words=words, learn=learn, documents=documents, rules=rules)
    else:
        scored = score_line_blocks(
            asked, text, words=words, open_vocabulary=open_vocabulary, rules=rules, threads=threads
        )
    for number, lines in enumerate(scored):
        if number == 0 and lines[0].line.startswith(b'{"'):
            talk("the text looks like JSON lines and is scored as it is; gapgram filter reads their fields", quiet)
        # Whoever writes into our pipe may wait for the answer before writing more.
        print("\n".join(_answer(line, words, per_line, as_json) for line in lines), flush=text == "-")


def _answer(line: LineScore, words: bool, per_line: bool, as_json: bool) -> str:
    if as_json and per_line:
        figures = {"perplexity": line.perplexity, **line.as_dict(words=False), "text": line.text}
        return json.dumps(figures, ensure_ascii=False)
    if per_line and line.words:
        return f"{line.perplexity:.4f}\t{line.words}\t{line.unknown_words}\t{line.text}"
    if as_json:
        return json.dumps(line.as_dict(words=words), ensure_ascii=False)
    if words:
        return "".join(f"{word}\t{score:.6f}\n" for word, score in line.word_scores)
    return f"{line.log10_prob:.6f}\t{line.words}\t{line.unknown_words}" if line.words else ""
