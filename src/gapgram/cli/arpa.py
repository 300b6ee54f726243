"""gapgram arpa: a model as an ARPA file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from gapgram.cli.options import Described, model_argument, option, print_json, shared, talk

if TYPE_CHECKING:
    from pathlib import Path

    from gapgram import BackoffModel, Perplexity

_of_growing = Described("gapgram.models.arpa.growing.files:grow_arpa")


@click.command()
@model_argument
@option("-o", "--output", required=True, metavar="FILE", help="File to write; compressed if its name ends in .gz.")
@option("--approximate", "nearly", is_flag=True, help="Write a glm too, with the grams that it has.")
@option("--grow", is_flag=True, help="Write a glm too, with the grams that bring the file nearest to it.")
@_of_growing("grams", metavar="N")
@_of_growing("size", metavar="SIZE")
@_of_growing("order", type=int, metavar="N")
@_of_growing("encoding", choices=["words", "nemo"], default="words")
@_of_growing("held_out", metavar="TEXT")
@option("--measure", metavar="TEXT", help="Text on which to measure what the file loses.")
@shared("threads", "json", "quiet")
def command(
    model: str, output: str, nearly: bool, grow: bool, grams: str | None, size: str | None, order: int | None,
    encoding: str, held_out: str | None, measure: str | None, threads: int | None, as_json: bool, quiet: bool,
) -> None:  # fmt: skip
    """Write a modified Kneser-Ney model as an ARPA file, which KenLM and other toolkits read.

    The file gives the same probabilities. A generalized language model mixes several shorter contexts, for which ARPA
    has no place: it is refused, or, with --grow, written as a backoff model of the size asked for that is as near to it
    as can be. Several sizes (--grams 4x,1x) are several files of one growth, with their sizes in their names. --measure
    says what is lost. With --approximate the file has the grams of the glm alone; it loses most or all of the gain over
    mkn. MODEL may also be an ARPA file or a binary file of KenLM.
    """
    from gapgram import load
    from gapgram.system.atomic_file import check_writable

    _check(nearly, grow, measure, {"--grams": grams, "--size": size, "--order": order,
                                   "--held-out": held_out})  # fmt: skip
    check_writable(output, [model, *(text for text in (measure, held_out) if text)])
    opened = load(model, progress=not quiet)
    if grow:
        options: dict[str, Any] = {"order": order, "encoding": encoding, "held_out": held_out}
        options |= {"threads": threads, "progress": not quiet}
        files = _grown(opened, output, grams, size, options)
    else:
        files = iter([(output, _written(opened, output, nearly, encoding, threads, not quiet))])
    exact, figures = opened.perplexity(measure, threads=threads) if measure else None, []
    for path, written in files:
        talk(f"{path} written: order {written.order}, {sum(written.grams.sizes()):,} grams", quiet)
        found = written.perplexity(measure) if measure else None
        figures.append({"output": str(path), "grams": written.grams.sizes(), "perplexity": _figures(exact, found)})
        if exact is not None and found is not None and not as_json:
            _print_loss(exact, found)
    if as_json:
        print_json(figures[0] if len(figures) == 1 else {"files": figures})


def _check(nearly: bool, grow: bool, measure: str | None, of_growing: dict[str, object]) -> None:
    from gapgram.errors import UsageError

    given = [name for name, value in of_growing.items() if value is not None]
    if given and not grow:
        raise UsageError(f"{given[0]} is for files that are grown: add --grow")
    if nearly and grow:
        raise UsageError("--approximate keeps the grams of the glm, --grow chooses others: give one of them")
    if measure is not None and not (nearly or grow):
        raise UsageError("--measure says what a file loses: give a glm, and --grow or --approximate too")


def _grown(
    opened: Any, output: str, grams: str | None, size: str | None, options: dict[str, Any]
) -> Iterator[tuple[Path | str, BackoffModel]]:
    """The grown files: one, or where several sizes are asked for several, each with its size in its name."""
    from gapgram.models.arpa.growing.files import grow_arpa, grow_arpas

    if "," not in f"{grams or ''}{size or ''}" or (grams and size):
        return iter([(output, grow_arpa(opened, output, grams=grams, size=size, **options))])
    several, sizes = (asked.split(",") if asked else [] for asked in (grams, size))
    return grow_arpas(opened, output, grams=several, sizes=sizes, **options)


def _figures(exact: Perplexity | None, written: Perplexity | None) -> dict[str, Any]:
    both = {"model": exact, "arpa": written}
    return {name: result.as_dict() for name, result in both.items() if result is not None}


def _written(
    opened: Any, output: str, nearly: bool, encoding: str, threads: int | None, progress: bool
) -> BackoffModel:
    from gapgram import Model
    from gapgram.models.arpa.approximation import approximate
    from gapgram.models.arpa.writing import to_backoff, write_arpa
    from gapgram.models.nemo import nemo_words

    if isinstance(opened, Model) and nearly:
        written = approximate(opened, threads=threads)
    else:
        written = to_backoff(opened, threads=threads, progress=progress)
    write_arpa(written, output, words=nemo_words(opened, written) if encoding == "nemo" else None)
    return written


def _print_loss(exact: Perplexity, written: Perplexity) -> None:
    from gapgram.reporting.tables import change, table

    pairs = [
        ("with unknown words", exact.perplexity, written.perplexity),
        ("without unknown words", exact.perplexity_known, written.perplexity_known),
    ]
    rows = [[name, f"{a:.2f}", f"{b:.2f}", change(b, a)] for name, a, b in pairs]
    print(table(["perplexity", "model", "ARPA file", "change"], rows))
