"""gapgram surprisal: the surprisal of each word."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import IO, Any

import click

from gapgram.cli.options import model_argument, open_reader, option, shared, talk


@click.command()
@model_argument
@click.argument("text", default="-")
@option("-o", "--output", metavar="FILE", help="File to write the table to.  [default: standard output]")
@option(
    "--format", "kind", choices=["tsv", "csv", "jsonl"],
    help="Format of the table.  [default: by the name of the output, or tsv]",
)
@option("--entropy", is_flag=True, help="Add the entropy of the next-word distribution before each word.")
@option("--lengths", is_flag=True, help="Add the surprisal if only the last 0, 1, 2 … words were known.")
@option("--patterns", is_flag=True, help="Add the surprisal under each pattern of kept and skipped words alone.")
@option(
    "--punctuation", choices=["as-is", "split", "join"],
    help="Punctuation: as it is, as words of its own, or counted with the word that it touches.  "
    "[default: as the model cuts raw text]",
)
@option(
    "--unknown", choices=["score", "empty"], default="score",
    help="Unknown words: scored as <unk>, or without figures.",
)
@option("--no-start", is_flag=True, help="Predict the first word of a sentence without context, not after <s>.")
@option("--end", is_flag=True, help="Add a row for the end of each sentence.")
@option("--text-column", metavar="NAME", help="Column of the sentences, where TEXT is a table.")
@option("--region-column", metavar="NAME", help="Column of the words or regions, where TEXT is a table.")
@option("--item-column", metavar="NAME", help="Column of the items.")
@option("--sentence-column", metavar="NAME", help="Column of the sentences of an item.")
@option("--separator", metavar="MARK", help="Mark between the regions of a sentence, such as '|'.")
@option("--no-about", is_flag=True, help="Write no FILE.about.txt, which says what the figures mean.")
@shared("learn", "history", "documents", "threads", "quiet")
def command(
    model: str, text: str, output: str | None, kind: str | None, punctuation: str | None, unknown: str, no_about: bool,
    learn: bool, history: tuple[str, ...], documents: bool, threads: int | None, quiet: bool, **options: Any,
) -> None:  # fmt: skip
    """Print the surprisal of each word of TEXT, in bits.

    TEXT has one sentence a line, an empty line between items (standard input by default); or it is a table of stimuli
    with named columns, separated by commas, semicolons or tabs. A row of the result has item, sentence, position, word,
    surprisal, whether the word is known, its frequency in the training text, and what else is asked for. Columns
    called item and sentence are taken for what they are. What the figures mean is written to FILE.about.txt.

    \b
        gapgram surprisal MODEL TEXT --entropy -o table.tsv
        gapgram surprisal MODEL stimuli.csv --text-column sentence --item-column item --separator '|'
    """
    from gapgram.applications.surprisal.formats import Writer, write_about
    from gapgram.applications.surprisal.measures import Measures
    from gapgram.applications.surprisal.stimuli import StimulusReader
    from gapgram.applications.surprisal.table import Surprisal, UnknownWords, usual_punctuation
    from gapgram.models.open import load
    from gapgram.system.atomic_file import check_writable, written_aside

    if output is not None:
        check_writable(output, [model, text, *history])
    columns, asked_for = _columns(options), ("end", "entropy", "lengths", "patterns")
    measures = Measures(start=not options["no_start"], **{name: options[name] for name in asked_for})
    opened = load(model, progress=not quiet)
    session = open_reader(opened, learn=learn, history=history, documents=documents)
    asked = Surprisal(opened, measures, unknown=unknown, session=session, learn=learn, documents=documents)
    reader = StimulusReader(columns, punctuation or usual_punctuation(opened), opened.splitter.cut)
    stimuli = reader.read(text, progress=not quiet)
    writer, n = Writer(kind or _kind_of(output), asked.columns(reader.carried)), 0
    unknown_words = UnknownWords(opened)
    with nullcontext(sys.stdout.buffer) if output is None else written_aside(output) as file:
        _put(file, writer.header())
        for rows in asked.pieces(stimuli, threads=threads):
            n += len(rows)
            unknown_words.add(rows)
            _put(file, writer.rows(rows))
    if output is not None:
        if not no_about:
            write_about(output, asked.about)
        talk(f"{output} written: {n:,} rows", quiet)
    if unknown_words.seen:
        talk(str(unknown_words), quiet)


def _put(file: IO[bytes], text: str) -> None:
    file.write(text.encode("utf-8", "surrogatepass"))


def _kind_of(output: str | None) -> str:
    suffix = (output or "").rpartition(".")[2].lower()
    return suffix if suffix in ("csv", "jsonl") else "tsv"


def _columns(options: dict[str, Any]) -> Any:
    """Which columns mean what; None where the text is no table."""
    from gapgram.applications.surprisal.stimuli import StimulusColumns
    from gapgram.errors import UsageError

    names = {role: options[f"{role}_column"] for role in ("text", "region", "item", "sentence")}
    if names["text"] is None and names["region"] is None:
        if any(names.values()) or options["separator"] is not None:
            wanted = "its column of sentences (--text-column) or regions (--region-column)"
            raise UsageError(f"a table of stimuli: name {wanted}")
        return None
    return StimulusColumns(**names, separator=options["separator"])
