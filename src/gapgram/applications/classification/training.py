"""One model a class from labelled text."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

from gapgram.applications.classification.classifier import (
    CHARACTERS,
    FILE,
    WORDS,
    Classifier,
    as_units,
    check_unit,
    file_name,
    load_classifier,
)
from gapgram.applications.classification.labelled import read_labelled
from gapgram.arguments import is_text
from gapgram.errors import ModelFileError, TextError, UsageError
from gapgram.models.model import Model
from gapgram.system.atomic_file import no_folder, sync_folder, temporary_folder
from gapgram.text.corpus import TextRules
from gapgram.training.train import train

ORDERS = {WORDS: 3, CHARACTERS: 5}
MOST_CLASSES = 500


def train_classifier(
    labelled: str | Path | Iterable[tuple[str, str]],
    output: str | Path | None = None,
    *,
    unit: str = CHARACTERS,
    model: str = "glm",
    order: int | None = None,
    priors: str = "training",
    threads: int | None = None,
    progress: bool = False,
) -> Classifier:
    """Train a model for each label.

    labelled: lines `label<TAB>text`, a folder with a folder or file for each label, or pairs of label and text.
    output: the folder of the classifier; without it, it stays in memory.
    unit: models of `characters`, or of `words`. order: 5 for characters, 3 for words.
    priors: those of the `training` lines, or `even`.

    >>> pairs = [("greeting", "good morning to you"), ("question", "how are you today")] * 9
    >>> classifier = train_classifier(pairs, model="mkn", order=2)
    >>> [c.label for c in classifier.classify(["good day", "how is it"])]
    ['greeting', 'question']
    """
    if priors not in ("training", "even"):
        raise UsageError(f"priors {priors!r}: expected training or even")
    if output is not None:
        _check_target(Path(output))
    lines = read_labelled(labelled, progress=progress) if isinstance(labelled, str | Path) else labelled
    options = {"model": model, "order": order or ORDERS[check_unit(unit)], "threads": threads, "progress": progress}
    with ExitStack() as stack:
        if output is None:
            folder = Path(stack.enter_context(TemporaryDirectory()))
        else:
            folder = stack.enter_context(temporary_folder(output))
        counts = _split(lines, folder, unit)
        models: list[Model] = []
        for number in range(len(counts)):
            made = folder / file_name(number) if output is not None else None
            classes = "none" if model == "glm" and unit == CHARACTERS else None
            rules = TextRules(special="skip")
            models.append(train(folder / f"{number}.txt", output=made, classes=classes, rules=rules, **options))  # type: ignore[arg-type]
        total = sum(counts.values())
        n_words = len({word for model in models for word in model.vocabulary})
        shares = [n / total if priors == "training" else 1 / len(counts) for n in counts.values()]
        classifier = Classifier(tuple(counts), tuple(models), tuple(shares), unit, n_words)
        if output is None:
            return classifier
        _put_in_place(classifier, folder, Path(output))
    return load_classifier(output)


def _split(lines: Iterable[tuple[str, str]], folder: Path, unit: str) -> dict[str, int]:
    """Write the lines of each label to a file of its own; how many there are, by label in order of first sight."""
    counts: dict[str, int] = {}
    with ExitStack() as stack:
        files: dict[str, IO[str]] = {}
        for label, text in lines:
            if label not in files:
                if len(files) == MOST_CLASSES:
                    raise TextError(
                        f"more than {MOST_CLASSES} labels, {label[:40]!r} the last: expected label and text"
                    )
                text_path = folder / f"{len(files)}.txt"
                files[label] = stack.enter_context(text_path.open("w", encoding="utf-8", newline="\n"))
            if not is_text(text):
                raise TextError(f"a text of the label {label!r} holds half of a surrogate pair, which is no text")
            files[label].write(as_units(text.replace("\n", " "), unit) + "\n")
            counts[label] = counts.get(label, 0) + 1
    if len(counts) < 2:
        raise TextError(f"{len(counts)} labels in the labelled text: expected two or more to tell apart")
    return counts


def _check_target(target: Path) -> None:
    if not target.parent.is_dir():
        raise no_folder(target, target.parent)
    if target.exists() and not (target / FILE).is_file():
        raise ModelFileError(f"{target}: is there already and is no classifier; name another folder to write")


def _put_in_place(classifier: Classifier, folder: Path, target: Path) -> None:
    """Give the folder its name; a classifier that was there is replaced."""
    whole = folder / "whole"
    whole.mkdir()
    for number in range(len(classifier.labels)):
        (folder / file_name(number)).replace(whole / file_name(number))
    said = json.dumps(classifier.as_dict(), ensure_ascii=False, indent=1)
    (whole / FILE).write_text(said + "\n", encoding="utf-8")
    target = Path(os.path.realpath(target))
    if target.exists():
        target.replace(folder / "before")
    whole.replace(target)
    sync_folder(target.parent)
    shutil.rmtree(folder / "before", ignore_errors=True)
