"""gapgram filter: records of text kept by how well models predict them."""

from __future__ import annotations

from typing import Any

import click

from gapgram.cli.options import option, print_json, shared, talk


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="MODEL… IN")
@option("-o", "--output", required=True, metavar="OUT", help="File to write; - for standard output.")
@option("--field", default="text", metavar="NAME", help="Field of a record with its text.")
@option("--by", choices=["document", "line"], default="document", help="Keep or drop whole records, or lines of them.")
@option("--max-perplexity", type=float, metavar="X", help="Keep what is at most so surprising.")
@option("--min-perplexity", type=float, metavar="X", help="Keep what is at least so surprising.")
@option("--min-words", type=int, metavar="N", help="Keep what has so many words.")
@option("--max-words", type=int, metavar="N", help="Keep what has at most so many words.")
@option("--max-unknown", type=float, metavar="SHARE", help="Keep what has at most this share of unknown words.")
@option("--keep-below", type=float, metavar="SHARE", help="Keep the least surprising, such as 0.3 of all.")
@option("--keep-above", type=float, metavar="SHARE", help="Leave out the least surprising, such as 0.05 of all.")
@option(
    "--buckets", metavar="A,B", is_flag=False, flag_value="0.3,0.6",
    help="Split into head, middle and tail at these shares; 0.3,0.6 if none are said.",
)
@option("--calibrate", metavar="FILE", help="Find the shares on these records.  [default: on a sample of IN]")
@option("--against", metavar="BAD", help="Choose by log10 perplexity minus that under this model.")
@option("--max-difference", type=float, metavar="X", help="Keep what has at most this difference.")
@option("--normalise", choices=["ccnet"], help="Prepare text as the models of cc_net want it.")
@option("--figures/--no-figures", default=None, help="Write perplexity, words and unknown share into records.")
@option("--prefix", default="", metavar="TEXT", help="Prefix of the names of figures.")
@option(
    "--broken", choices=["error", "skip"], default="error",
    help="Records that cannot be read: stop, or count and leave out.",
)
@option("--resume", is_flag=True, help="Go on where an interrupted run stopped.")
@shared("threads", "json", "quiet")
def command(
    paths: tuple[str, ...], output: str, against: str | None, buckets: str | None, threads: int | None,
    as_json: bool, quiet: bool, **options: Any,
) -> None:  # fmt: skip
    """Score the records of IN and write those that are chosen to OUT, in their order.

    IN holds JSON lines, plain text (both compressed or not) or Parquet. Without limits, all records are written with
    their perplexity, words and share of unknown words. With several models, records are chosen by the first. IN may be
    a folder or a pattern of names in quotes: OUT is then a folder, and each worker takes a file at a time.

    \b
        gapgram filter MODEL web.jsonl.gz -o scored.jsonl.gz
        gapgram filter MODEL web.jsonl -o good.jsonl --keep-below 0.3 --min-words 20
        gapgram filter MODEL 'web/*.jsonl.gz' -o good --max-perplexity 500 --threads 8
        gapgram filter GOOD web.parquet -o good.parquet --against BAD --max-difference 0
    """
    from gapgram.applications.filtering.choice import Choice
    from gapgram.applications.filtering.folders import files_of, filter_files
    from gapgram.applications.filtering.run import FilterOptions, filter_records
    from gapgram.errors import UsageError
    from gapgram.models.open import load

    *models, source = paths
    if not models:
        raise UsageError("filter: expected a model and a file of records: gapgram filter MODEL IN -o OUT")
    reading = {name: options.pop(name) for name in _READING}
    choice = Choice(**options, buckets=_cuts(buckets))
    if (files := files_of(source)) is not None:
        several = filter_files(
            models, files, output, choice, against=against, options=FilterOptions(**reading), workers=threads,
            told=lambda line: talk(line, quiet),
        )  # fmt: skip
        if as_json:
            print_json(several.as_dict())
        else:
            talk(str(several), quiet)
        return
    opened = [load(path, progress=not quiet) for path in models]
    other = load(against, progress=not quiet) if against is not None else None
    summary = filter_records(
        opened, source, output, choice, against=other, options=FilterOptions(**reading), threads=threads,
        progress=not quiet,
    )  # fmt: skip
    if as_json:
        print_json(summary.as_dict(), err=output == "-")
    else:
        talk(str(summary), quiet)


_READING = ("field", "by", "figures", "normalise", "prefix", "broken", "calibrate", "resume")


def _cuts(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    try:
        first, second = map(float, text.split(","))
    except ValueError:
        raise click.UsageError(f"buckets {text!r}: expected two shares such as 0.3,0.6") from None
    return first, second
