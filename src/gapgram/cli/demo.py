"""gapgram demo: a tour on text that ships with Python."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gapgram.cli.options import option, print_json, shared, talk

if TYPE_CHECKING:
    from gapgram import Model
    from gapgram.experiments.compare import Comparison
    from gapgram.reporting.showcase import TellingPlace

_ROWS = 5  # of patterns that are shown


@click.command()
@option("-o", "--output", metavar="FOLDER", help="Keep the models in this folder.  [default: not kept]")
@shared("json")
def command(output: str | None, as_json: bool) -> None:
    """Compare MKN and GLM on Python's own language reference, and look inside a prediction.

    A fifth of the text is held out: all figures and examples are of sentences that the models have not seen.
    """
    import tempfile

    from gapgram.experiments.compare import SEED, TRAIN_SHARE, compare, split_lines
    from gapgram.experiments.demo import reference_sentences
    from gapgram.reporting.showcase import best_places
    from gapgram.text.files import Block

    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(output or scratch)
        folder.mkdir(parents=True, exist_ok=True)
        text = reference_sentences()
        words = sum(len(sentence.split()) for sentence in text)
        talk(f"Python's language reference: {len(text):,} sentences, {words:,} words; a fifth is held out\n")
        training, held_out = split_lines([Block("demo", 1, "\n".join([*text, ""]).encode())], TRAIN_SHARE, SEED)
        rows = compare(training, held_out)
        mkn, glm = _train(training, held_out, folder)
        places = best_places(glm, held_out, beside=mkn)
        if as_json:
            print_json(_as_dict(rows, mkn, glm, places))
            return
        _print(rows, mkn, glm, places)
    _next_steps(output)


def _train(training: list[str], held_out: list[str], folder: Path) -> tuple[Model, Model]:
    """Write both parts of the text, and an mkn and a glm of the first."""
    from gapgram import train

    for name, sentences in (("python.txt", training), ("held-out.txt", held_out)):
        (folder / name).write_text("\n".join([*sentences, ""]), encoding="utf-8")
    lines = folder / "python.txt"
    return train(lines, output=folder / "mkn.model", model="mkn"), train(lines, output=folder / "glm.model")


def _as_dict(rows: list[Comparison], mkn: Model, glm: Model, places: list[TellingPlace]) -> dict[str, Any]:
    from dataclasses import asdict

    best = places[0]
    scores = zip([*best.sentence.split(), "</s>"], *(m.scores(best.sentence).tolist() for m in (mkn, glm)), strict=True)
    return {
        "comparison": [row.as_dict() for row in rows],
        "places": [asdict(place) for place in places],
        "explanation": glm.explain(best.word, best.context).as_dict(),
        "scores": [{"word": word, "log10_prob_mkn": a, "log10_prob": b} for word, a, b in scores],
    }


def _print(rows: list[Comparison], mkn: Model, glm: Model, places: list[TellingPlace]) -> None:
    from gapgram.experiments.compare import comparison_table
    from gapgram.reporting.showcase import rule_of
    from gapgram.reporting.tables import LEGEND, explanation_table, table

    print("Perplexity of the held-out sentences, lower is better: modified Kneser-Ney (mkn), and models with gaps")
    print("(glm) whose weights are the same (uniform), by counts, learned, and learned with word classes:\n")
    print(comparison_table(rows), end="\n\n")
    best = places[0]
    context, glm_sees = " ".join(best.context), glm.explain(best.word, best.context)
    print(f"What skipping a word buys: in held-out text '{best.word}' comes after '{context}'.")
    seen = 10 ** mkn.log10_prob(best.word, best.context)
    print(f"mkn gives it {seen:.2%}, the glm {glm_sees.probability:.2%}, and this is where that comes from:\n")
    print(explanation_table(glm_sees, most=_ROWS), LEGEND, sep="\n\n", end="\n\n")
    print(f"This place and the next ones are {rule_of(glm)}:\n")
    probabilities = [
        [f"{' '.join(p.context)} → {p.word}", *(f"{10 ** m.log10_prob(p.word, p.context):.2%}" for m in (mkn, glm))]
        for p in places
    ]
    print(table(["words before → word", "mkn", "glm"], probabilities))
    print("\nThe bits that each word of its sentence costs (log10 probabilities: gapgram score --words):\n")
    bits = ([-score / 0.30103 for score in model.scores(best.sentence)] for model in (mkn, glm))
    words = [*best.sentence.split(), "</s>"]
    costs = [[word, f"{a:.1f}", f"{b:.1f}"] for word, a, b in zip(words, *bits, strict=True)]
    print(table(["word", "mkn", "glm"], costs))
    print(f"\nsignature of the glm, on which its figures depend: {glm.signature}")


def _next_steps(output: str | None) -> None:
    program = "gapgram" if shutil.which("gapgram") else sys.argv[0]  # as in a virtual environment that is not active
    folder = output or "FOLDER"
    if output is None:
        talk(f"\nKeep the models with: {program} demo -o FOLDER. Then try:")
    else:
        talk(f"\nThe models are in {output}. Try:")
    talk(f"  {program} info {folder}/glm.model")
    talk(f"  echo 'The value of the expression is returned .' | {program} score {folder}/glm.model --words")
    talk(f"  {program} perplexity {folder}/mkn.model {folder}/held-out.txt")
    talk(f"  {program} predict {folder}/glm.model 'The value of the'")
    talk(f"  {program} serve {folder}/mkn.model {folder}/glm.model --text {folder}/held-out.txt      (a page)")
    talk(f"  {program} train YOUR_TEXT -o YOUR_MODEL      (one sentence a line)")
    talk(f"  {program} compare YOUR_TEXT                  (MKN beside GLM on your text)")
