"""gapgram correct: spelling corrected in context."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from gapgram.cli.options import model_argument, option, shared, talk

if TYPE_CHECKING:
    from gapgram.applications.correction.corrector import Corrector, Suggestion


@click.command()
@model_argument
@click.argument("text", default="-")
@option("-o", "--output", metavar="FILE", help="File to write to.  [default: standard output]")
@option("--errors", metavar="FILE", help="Pairs to learn errors from: misspelling, tab, right word.")
@option("--diff", is_flag=True, help="Show what changed, as [-before-]{+after+}.")
@option("--suggest", is_flag=True, help="Print alternatives and their probabilities instead of corrected lines.")
@option("--no-real-words", is_flag=True, help="Change only words that the model does not know.")
@option("--error-rate", type=float, metavar="SHARE", help="Share of words that are misspelt.  [default: 0.01]")
@shared("json", "quiet")
def command(
    model: str, text: str, output: str | None, errors: str | None, diff: bool, suggest: bool, no_real_words: bool,
    error_rate: float | None, as_json: bool, quiet: bool,
) -> None:  # fmt: skip
    """Correct the spelling of each line of TEXT (standard input by default), in context.

    Letters may be wrong, missing, too many or swapped; a word may be split, two may be joined; a word may
    stand for another one that exists. Capital letters and punctuation are left alone.

    \b
        gapgram correct MODEL TEXT -o CORRECTED --errors PAIRS
        echo "They went too the store ." | gapgram correct MODEL --diff
    """
    from gapgram.applications.correction.corrector import CorrectionOptions, Corrector
    from gapgram.applications.correction.errors import read_pairs
    from gapgram.errors import UsageError
    from gapgram.models.open import load
    from gapgram.system.atomic_file import check_writable, written_aside
    from gapgram.text.corpus import numbered_lines

    if suggest and diff:
        raise UsageError("correct: --suggest or --diff, one of the two")
    if output is not None:
        check_writable(output, [model, text, *([errors] if errors else [])])
    options = CorrectionOptions(real_words=not no_real_words)
    if error_rate is not None:
        options = replace(options, error_rate=error_rate)
    pairs = list(read_pairs(errors)) if errors else []
    corrector = Corrector(load(model, progress=not quiet), pairs, options, progress=not quiet)
    changed = 0
    with nullcontext(sys.stdout.buffer) if output is None else written_aside(output) as file:
        for _, line in numbered_lines(text, progress=not quiet):
            answer, n = _suggested(corrector, line, as_json) if suggest else _corrected(corrector, line, diff, as_json)
            changed += n
            file.write(answer.encode("utf-8", "surrogatepass"))
            if output is None:
                file.flush()
    talk(f"{changed:,} words {'in doubt' if suggest else 'changed'}", quiet)


def _corrected(corrector: Corrector, line: str, diff: bool, as_json: bool) -> tuple[str, int]:
    correction = corrector.correct(line)
    if as_json:
        return json.dumps(correction.as_dict(), ensure_ascii=False) + "\n", len(correction.changes)
    return (correction.diff() if diff else correction.after) + "\n", len(correction.changes)


def _suggested(corrector: Corrector, line: str, as_json: bool) -> tuple[str, int]:
    suggestions = corrector.suggest(line)
    if as_json:
        said = [{**one._asdict(), "alternatives": dict(one.alternatives)} for one in suggestions]
        return json.dumps({"text": line, "suggestions": said}, ensure_ascii=False) + "\n", len(suggestions)
    return "".join(_rows(line, suggestions)), len(suggestions)


def _rows(line: str, suggestions: list[Suggestion]) -> Iterator[str]:
    yield f"{line}\n"
    for one in suggestions:
        alternatives = "  ".join(f"{word} {share:.3f}" for word, share in one.alternatives)
        yield f"\t{one.token + 1}\t{one.before}\t{alternatives}\n"
