"""gapgram decode: logits of a recogniser to text."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import click

from gapgram.cli.options import model_argument, option, shared, talk

if TYPE_CHECKING:
    from gapgram.applications.decoding.tuning import TunedWeights
    from gapgram.ctc import Decoder, Hypothesis

_READ = ("labels", "hot_words", "tune")  # options that name files to read


@click.command()
@model_argument
@click.argument("logits")
@option("--labels", required=True, metavar="FILE", help="Labels of the columns: a JSON list, or a label a line.")
@option("-o", "--output", metavar="FILE", help="File to write to.  [default: standard output]")
@option("--nbest", type=int, metavar="N", help="Print N hypotheses for each utterance, as rescore reads them.")
@option("--hot-words", metavar="FILE", help="Words to listen for, a line each; a tab and a weight may follow.")
@option("--alpha", type=float, metavar="WEIGHT", help="Weight of the model.  [default: 0.5]")
@option("--beta", type=float, metavar="SCORE", help="Score of each word.  [default: 1.5]")
@option("--beam", "beam_width", type=int, metavar="N", help="Hypotheses to keep.  [default: 100]")
@option("--unknown", type=float, metavar="LOG10", help="Score of an unknown word, log10.  [default: -10]")
@option("--known", is_flag=True, help="Allow only words that the model knows, and hot words.")
@option("--tune", metavar="FILE", help="References, a line an utterance: find alpha and beta with the fewest errors.")
@option("--picture", metavar="FILE", help="Write the word errors that --tune finds as a picture, SVG.")
@shared("threads", "json", "quiet")
def command(
    model: str, logits: str, output: str | None, nbest: int | None, known: bool, picture: str | None,
    threads: int | None, as_json: bool, quiet: bool, **options: Any,
) -> None:  # fmt: skip
    """Turn the logits of a recogniser trained with CTC into text, with a model.

    LOGITS has an array of frames and labels for each utterance: a file of numpy.savez, or JSON lines with "id" and
    "logits". Prints id, tab and text of each; with --nbest id, scores and text.

    \b
        gapgram decode MODEL TEST.npz --labels vocab.json
        gapgram decode MODEL DEV.npz --labels vocab.json --tune DEV.txt
    """
    from gapgram.ctc import Decoder
    from gapgram.ctc.files import read_hot_words, read_labels, read_logits
    from gapgram.errors import UsageError
    from gapgram.models.open import load
    from gapgram.system.atomic_file import check_writable, written_aside

    if nbest is not None and nbest < 1:
        raise UsageError(f"decode: --nbest {nbest}: expected 1 or more")
    if known and options["unknown"] is not None:
        raise UsageError("decode: --known allows no unknown words: --known or --unknown, one of the two")
    if picture is not None and options["tune"] is None:
        raise UsageError("decode: --picture shows what --tune finds: give that, too")
    for written in (output, picture):
        if written is not None:
            check_writable(written, [model, logits, *(options[name] for name in _READ if options[name] is not None)])
    names = ("alpha", "beta", "beam_width", "unknown")
    chosen: dict[str, Any] = {name: options[name] for name in names if options[name] is not None}
    if known:
        chosen["unknown"] = None
    decoder = Decoder(read_labels(options["labels"]), load(model, progress=not quiet), **chosen)
    utterances = list(read_logits(logits, len(decoder.alphabet.texts)))
    if options["tune"] is not None:
        tuned = _tune(decoder, [one for _, one in utterances], options["tune"], threads, as_json, quiet)
        if picture is not None:
            with written_aside(picture) as file:
                file.write(tuned.as_svg().encode())
        return
    hot = read_hot_words(options["hot_words"], decoder.options.hot_weight) if options["hot_words"] else None
    lists = decoder.decode_beams_many([one for _, one in utterances], hot, threads=threads, distinct=nbest is None)
    with nullcontext(sys.stdout.buffer) if output is None else written_aside(output) as file:
        for (name, _), found in zip(utterances, lists, strict=True):
            file.write("".join(_lines(name, found, nbest, as_json)).encode("utf-8", "surrogatepass"))
    talk(f"{len(lists):,} utterances", quiet)


def _lines(name: str, found: list[Hypothesis], nbest: int | None, as_json: bool) -> list[str]:
    kept = found[: nbest or 1]
    if as_json:
        held = [one.as_dict() for one in kept]
        return [json.dumps({"id": name, **({"hypotheses": held} if nbest else held[0])}, ensure_ascii=False) + "\n"]
    if nbest is None:
        return [f"{name}\t{one.text}\n" for one in kept]
    return [f"{name}\tacoustic={one.acoustic:.6f} language={one.language:.6f}\t{one.text}\n" for one in kept]


def _tune(
    decoder: Decoder, logits: list[Any], path: str, threads: int | None, as_json: bool, quiet: bool
) -> TunedWeights:
    from gapgram.applications.decoding.tuning import tune_weights
    from gapgram.cli.options import print_json
    from gapgram.reporting.tables import table
    from gapgram.text.corpus import numbered_lines

    references = [line for _, line in numbered_lines(path)]
    tuned = tune_weights(decoder, logits, references, threads=threads, progress=not quiet)
    if as_json:
        print_json({**tuned._asdict(), "rates": tuned.rates.tolist()})
        return tuned
    rows = [
        [alpha, *(f"{100 * rate:.2f}" for rate in rates)]
        for alpha, rates in zip(tuned.alphas, tuned.rates, strict=True)
    ]
    print(table(["alpha \\ beta", *map(str, tuned.betas)], rows))
    print(f"fewest word errors, {100 * tuned.rates.min():.2f} %, with --alpha {tuned.alpha} --beta {tuned.beta}")
    return tuned
