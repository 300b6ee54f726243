"""gapgram classify: texts told apart by one model a class."""

from __future__ import annotations

import json
import sys
from collections import deque
from collections.abc import Iterator

import click

from gapgram.cli.options import option, print_json, shared, talk


class _WithDefault(click.Group):
    """A group in which anything that is no command of it belongs to the command `text`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put in the name of the command that is meant."""
        if args and args[0] not in self.commands and args[0] not in ("-h", "--help"):
            args = ["text", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_WithDefault)
def command() -> None:
    """Tell texts apart by one model a class: languages, authors, topics.

    \b
        gapgram classify train LABELLED -o CLASSIFIER
        gapgram classify CLASSIFIER TEXT
        gapgram classify CLASSIFIER LABELLED --evaluate
    """


@command.command()
@click.argument("labelled")
@option("-o", "--output", required=True, metavar="FOLDER", help="Folder of the classifier to write.")
@option("--unit", choices=["characters", "words"], default="characters", help="Unit of the models.")
@option("--model", "kind", choices=["mkn", "glm"], default="glm", help="Kind of the models.")
@option("-n", "--order", type=int, metavar="N", help="Order of the models.  [default: 5; of words 3]")
@option(
    "--priors", choices=["training", "even"], default="training",
    help="Priors of the classes: their shares of the training lines, or the same for all.",
)
@shared("threads", "quiet")
def train(
    labelled: str, output: str, unit: str, kind: str, order: int | None, priors: str, threads: int | None, quiet: bool
) -> None:
    """Train a model for each label of LABELLED.

    LABELLED has lines of label, tab and text (or __label__NAME and text), or is a folder with a folder or a file of
    text for each label.
    """
    from gapgram.applications.classification.training import train_classifier

    made = train_classifier(
        labelled, output, unit=unit, model=kind, order=order, priors=priors, threads=threads, progress=not quiet
    )
    talk(f"{output} written: {len(made.labels)} classes: {', '.join(made.labels)}", quiet)


@command.command()
@click.argument("classifier")
@click.argument("text", default="-")
@option("--all", "all_classes", is_flag=True, help="Print the probability of every class, most probable first.")
@option("--priors", metavar="A=P,…", help="Priors by label, or even.  [default: those of the classifier]")
@option("--evaluate", "evaluating", is_flag=True, help="Print accuracy and a confusion table: TEXT is labelled.")
@shared("threads", "json", "quiet")
def text(
    classifier: str, text: str, all_classes: bool, priors: str | None, evaluating: bool, threads: int | None,
    as_json: bool, quiet: bool,
) -> None:  # fmt: skip
    """Print the most probable class of each line of TEXT, its probability, and the line."""
    from gapgram.applications.classification.classifier import load_classifier
    from gapgram.applications.classification.evaluation import evaluate
    from gapgram.applications.classification.labelled import read_labelled
    from gapgram.text.corpus import numbered_lines

    opened = load_classifier(classifier)
    if priors is not None:
        opened = opened.with_priors(_parsed(priors, opened.labels))
    if evaluating:
        result = evaluate(opened, read_labelled(text, progress=not quiet), threads=threads)
        print_json(result.as_dict()) if as_json else print(result)
        return
    waiting: deque[str] = deque()

    def lines() -> Iterator[str]:
        for _, line in numbered_lines(text, progress=not quiet):
            waiting.append(line)
            yield line

    for answer in opened.classify(lines(), threads=threads):
        line = waiting.popleft()
        if as_json:
            said = answer.probabilities if all_classes else {answer.label: answer.probability}
            print(json.dumps({"label": answer.label, "probabilities": said, "text": line}, ensure_ascii=False))
            continue
        ranked = sorted(answer.probabilities.items(), key=lambda pair: -pair[1]) if all_classes else []
        shown = " ".join(f"{label}:{probability:.4f}" for label, probability in ranked)
        shown = shown or f"{answer.label}\t{answer.probability:.4f}"
        print(f"{shown}\t{line}", flush=text == "-")
    sys.stdout.flush()


def _parsed(priors: str, labels: tuple[str, ...]) -> list[float] | None:
    if priors == "even":
        return None
    try:
        shares = dict(each.rsplit("=", 1) for each in priors.split(","))
        if set(shares) != set(labels):
            raise ValueError
        return [float(shares[label]) for label in labels]
    except ValueError:
        wanted = ",".join(f"{label}={1 / len(labels):.2f}" for label in labels[:6])
        raise click.UsageError(f"priors {priors!r}: expected a number for each label, such as {wanted}") from None
