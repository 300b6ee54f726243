"""gapgram rescore: n-best lists rescored."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import click

from gapgram.cli.options import model_argument, option, print_json, shared, talk

if TYPE_CHECKING:
    from gapgram.applications.rescoring.rescorer import Rescored

_FILES = ("tune", "tune_references", "weights", "references")  # options that name files to read


@click.command()
@model_argument
@click.argument("nbest", default="-")
@option("-o", "--output", metavar="FILE", help="File to write the best texts to.  [default: standard output]")
@option("--tune", metavar="NBEST", help="Lists to tune the weights on.")
@option("--tune-references", metavar="FILE", help="References of the lists to tune on.")
@option("--weights", metavar="FILE", help="Weights that were saved.  [default: 1 for every score, 0 for words]")
@option("--save-weights", metavar="FILE", help="File to write the weights to.")
@option("--references", metavar="FILE", help="References of NBEST: print word error rates before and after.")
@option("--all", "all_hypotheses", is_flag=True, help="Print whole lists with their totals, not only the best.")
@option("--graph", is_flag=True, help="Read NBEST as one word graph in HTK's format, and print its best path.")
@shared("threads", "json", "quiet")
def command(
    model: str, nbest: str, output: str | None, all_hypotheses: bool, threads: int | None, as_json: bool, quiet: bool,
    **options: Any,
) -> None:  # fmt: skip
    """Rescore the hypotheses of a recogniser or translator with a model.

    NBEST has a hypothesis a line: id, scores and text, separated by tabs, or as Moses writes them. References have id,
    tab and text a line, or a text a line in the order of the lists.

    \b
        gapgram rescore MODEL TEST.nbest --tune DEV.nbest --tune-references DEV.txt --references TEST.txt
    """
    from gapgram.applications.rescoring.graphs import best_path, read_graph
    from gapgram.applications.rescoring.nbest import read_nbest, read_references
    from gapgram.applications.rescoring.rescorer import Rescorer, gain, load_weights
    from gapgram.errors import UsageError
    from gapgram.models.open import load
    from gapgram.system.atomic_file import check_writable, written_aside

    tuning, answers = options["tune"], options["tune_references"]
    if (tuning is None) != (answers is None):
        raise UsageError("rescore: tuning needs lists and their references: --tune NBEST --tune-references FILE")
    read = [model, nbest, *(options[name] for name in _FILES if options[name] is not None)]
    for target in (output, options["save_weights"]):
        if target is not None:
            check_writable(target, read)
    if output is not None and output == options["save_weights"]:
        raise UsageError(f"{output}: named for the lists and for the weights; name two files")
    weights = load_weights(options["weights"]) if options["weights"] else None
    rescorer = Rescorer(load(model, progress=not quiet), weights)
    if options["graph"]:
        words, _ = best_path(rescorer.model, read_graph(nbest), *([weights] if weights else []))
        with nullcontext(sys.stdout.buffer) if output is None else written_aside(output) as file:
            file.write(" ".join(words).encode() + b"\n")
        return
    lists = read_nbest(nbest)
    if tuning is not None:
        tune_lists = read_nbest(tuning)
        right = read_references(answers, tune_lists)
        rescorer = rescorer.tuned(tune_lists, right, threads=threads, progress=not quiet)
    rescored = rescorer.rescore(lists, threads=threads)
    if options["save_weights"]:
        Rescorer(rescorer.model, rescored.weights).save_weights(options["save_weights"])
    result = gain(rescored, read_references(options["references"], lists)) if options["references"] else None
    said = {"weights": rescored.weights, "signature": rescored.signature, **(result.as_dict() if result else {})}
    if as_json:
        print_json(said)
    if not as_json or output is not None:
        with nullcontext(sys.stdout.buffer) if output is None else written_aside(output) as file:
            file.write("".join(_lines(rescored, all_hypotheses)).encode("utf-8", "surrogatepass"))
    talk(f"weights {' '.join(f'{weight:.4g}' for weight in rescored.weights)}", quiet)
    if result is not None:
        talk(f"word error rate {result.before} before, {result.after} after; best in the lists {result.oracle}", quiet)
        talk(f"lower in {100 * result.better:.1f} % of texts drawn from this one; {result.words:,} words", quiet)


def _lines(rescored: Rescored, all_hypotheses: bool) -> list[str]:
    if not all_hypotheses:
        return [f"{one.id}\t{text}\n" for one, text in zip(rescored.lists, rescored.texts, strict=True)]
    out = []
    for one, totals in zip(rescored.lists, rescored.totals, strict=True):
        ranked = sorted(zip(totals, one.hypotheses, strict=True), key=lambda pair: -pair[0])
        out += [f"{one.id}\t{total:.6f}\t{hypothesis.text}\n" for total, hypothesis in ranked]
    return out
