"""gapgram demo: a tour on text that ships with Python."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gapgram.cli.options import option, print_json, shared, talk

if TYPE_CHECKING:
    from gapgram import LanguageModel, Model
    from gapgram.experiments.compare import Comparison

SENTENCE = "The expression is evaluated once ."
CONTEXT = ["The", "value", "of", "the"]


@click.command()
@option("-o", "--output", metavar="FOLDER", help="Keep the models in this folder.  [default: not kept]")
@shared("json")
def command(output: str | None, as_json: bool) -> None:
    """Compare MKN and GLM on Python's own language reference, and look inside a prediction."""
    import tempfile

    from gapgram.experiments.demo import reference_sentences

    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(output or scratch)
        folder.mkdir(parents=True, exist_ok=True)
        text = reference_sentences()
        words = sum(len(sentence.split()) for sentence in text)
        talk(f"Python's language reference: {len(text):,} sentences, {words:,} words\n")
        rows = _compare(text)
        model = _train(text, folder)
        if as_json:
            print_json(_as_dict(rows, model))
            return
        _print(rows, model)
    _next_steps(output)


def _compare(text: list[str]) -> list[Comparison]:
    from gapgram.experiments.compare import compare, split_lines, usual_models
    from gapgram.text.files import Block

    block = Block("demo", 1, "\n".join([*text, ""]).encode())
    training, test = split_lines([block], 0.8, 1)
    return compare(training, test, [3, 4, 5], models=usual_models(training))


def _train(text: list[str], folder: Path) -> Model:
    """Write the text, an mkn and a glm of it; the glm is the one that is looked into."""
    from gapgram import train

    lines = folder / "python.txt"
    lines.write_text("\n".join([*text, ""]), encoding="utf-8")
    train(lines, output=folder / "mkn.model", model="mkn")
    return train(lines, output=folder / "glm.model", model="glm")


def first_guess(model: LanguageModel) -> str:
    """The word that the model thinks most probable after the context."""
    return model.predict(CONTEXT, k=1)[0].word


def _as_dict(rows: list[Comparison], model: Model) -> dict[str, Any]:
    scores = zip([*SENTENCE.split(), "</s>"], model.scores(SENTENCE).tolist(), strict=True)
    return {
        "comparison": [row.as_dict() for row in rows],
        "explanation": model.explain(first_guess(model), CONTEXT).as_dict(),
        "scores": [{"word": word, "log10_prob": score} for word, score in scores],
    }


def _print(rows: list[Comparison], model: Model) -> None:
    from gapgram.experiments.compare import comparison_table
    from gapgram.reporting.tables import explanation_table, table

    print("Perplexity of a fifth of it, held out (lower is better):\n")
    print(comparison_table(rows), end="\n\n")
    word, context = first_guess(model), " ".join(CONTEXT)
    print(f"Why a GLM of all of it{_with_classes(model)} expects '{word}' after '{context}':\n")
    print(explanation_table(model.explain(word, CONTEXT)), end="\n\n")
    print("The log10 probability of each word of a sentence:\n")
    scores = zip([*SENTENCE.split(), "</s>"], model.scores(SENTENCE), strict=True)
    print(table(["word", "log10"], [[word, f"{score:.3f}"] for word, score in scores]))
    print(f"\nin all {model.score(SENTENCE):.3f}   ({model.signature})")


def _with_classes(model: Model) -> str:
    return ", with word classes," if model.counts.class_names else ""


def _next_steps(output: str | None) -> None:
    program = "gapgram" if shutil.which("gapgram") else sys.argv[0]  # as in a virtual environment that is not active
    folder = output or "FOLDER"
    if output is None:
        talk(f"\nKeep the models with: {program} demo -o FOLDER. Then try:")
    else:
        talk(f"\nThe models are in {output}. Try:")
    talk(f"  {program} info {folder}/glm.model")
    talk(f"  echo 'The value of the expression is returned .' | {program} score {folder}/glm.model --words")
    talk(f"  {program} perplexity {folder}/mkn.model {folder}/python.txt")
    talk(f"  {program} predict {folder}/glm.model 'The value of the'")
    talk(f"  {program} serve {folder}/mkn.model {folder}/glm.model      (a page, at http://127.0.0.1:8000)")
    talk(f"  {program} train YOUR_TEXT -o YOUR_MODEL      (one sentence a line)")
    talk(f"  {program} compare YOUR_TEXT                  (MKN beside GLM on your text)")
