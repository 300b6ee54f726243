"""Posterior probabilities of classes, each with a model of its own, and the folder that a classifier is kept in."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gapgram.arguments import is_text
from gapgram.arrays import Floats
from gapgram.errors import ModelFileError, ModelNotFoundError, TextError, UsageError
from gapgram.kernels.text.special_words import UNKNOWN_ID
from gapgram.models.open import load
from gapgram.queries.language_model import LanguageModel
from gapgram.signature import is_same_model
from gapgram.system.parallel import parallel_map
from gapgram.text.corpus import TextRules
from gapgram.text.files import Block

FILE, FORMAT = "classifier.json", 1
_RULES = TextRules(special="skip")
_BATCH = 256  # lines that one thread takes at a time


class Classification(NamedTuple):
    """What a text is taken for: the most probable class, its probability, and those of all classes by label."""

    label: str
    probability: float
    probabilities: dict[str, float]


@dataclass(frozen=True)
class Classifier:
    """One model a class. Posteriors are the priors times the probability of the text under each model.

    unit: `words` or `characters`. n_words: of the vocabularies of all models together, over which each of them spreads
        what it gives to unknown words, so that all are distributions over the same texts.
    """

    labels: tuple[str, ...]
    models: tuple[LanguageModel, ...]
    priors: tuple[float, ...]
    unit: str
    n_words: int

    def __post_init__(self) -> None:
        check_unit(self.unit)
        if len(self.labels) < 2:
            raise UsageError(f"{len(self.labels)} classes: expected two or more to tell apart")

    @property
    def signatures(self) -> dict[str, str]:
        """What every figure depends on: the signature of each class's model."""
        return {label: str(model.signature) for label, model in zip(self.labels, self.models, strict=True)}

    def with_priors(self, priors: Sequence[float] | None) -> Classifier:
        """The classifier with other priors, in the order of its labels; None for the same for all."""
        n = len(self.labels)
        chosen = [1 / n] * n if priors is None else list(priors)
        if len(chosen) != n or any(not p > 0 for p in chosen) or not math.isclose(sum(chosen), 1, rel_tol=1e-6):
            raise UsageError(f"priors: expected {n} numbers above 0 with a sum of 1, for {', '.join(self.labels)}")
        return Classifier(self.labels, self.models, tuple(chosen), self.unit, self.n_words)

    def log10_scores(self, texts: Sequence[str]) -> Floats:
        """[text, class]: log10 of the probability of each text, a line, under each model."""
        if not all(map(is_text, texts)):
            raise TextError("a text holds half of a surrogate pair, which is no text")
        lines = [as_units(text.replace("\n", " "), self.unit) for text in texts]
        block = Block("texts", 1, "\n".join([*lines, ""]).encode())
        return np.array([self._scores(model, block) for model in self.models]).T

    def _scores(self, model: LanguageModel, block: Block) -> Floats:
        scored = model.score_block(block, _RULES)
        unknown = np.add.reduceat((scored.ids == UNKNOWN_ID).astype(np.int64), scored.begins[:-1])
        others = self.n_words - len(model.vocabulary) + 1
        has_words = np.diff(scored.begins) > 2
        out: Floats = np.where(has_words, scored.sums - unknown * math.log10(others), 0.0)
        return out

    def posteriors(self, texts: Sequence[str]) -> Floats:
        """[text, class]: the probability of each class."""
        logs = self.log10_scores(texts) + np.log10(self.priors)
        raised = np.power(10.0, logs - logs.max(axis=1, keepdims=True))
        out: Floats = raised / raised.sum(axis=1, keepdims=True)
        return out

    def classify(self, texts: Iterable[str], *, threads: int | None = None) -> Iterator[Classification]:
        """What each text, a line, is taken for; on all cores, in order.

        A text without words has the priors.
        """
        if isinstance(texts, str):
            raise UsageError("texts: expected a list of texts, found one string; put it into a list")
        for posteriors in parallel_map(self.posteriors, _batches(iter(texts)), threads):
            for row in posteriors:
                best = int(row.argmax())
                shares = dict(zip(self.labels, row.tolist(), strict=True))
                yield Classification(self.labels[best], float(row[best]), shares)

    def as_dict(self) -> dict[str, Any]:
        """What the file of a classifier says, beside the files of its models."""
        return {
            "format": FORMAT,
            "unit": self.unit,
            "n_words": self.n_words,
            "classes": [
                {"label": label, "prior": prior, "model": file_name(i), "signature": self.signatures[label]}
                for i, (label, prior) in enumerate(zip(self.labels, self.priors, strict=True))
            ],
        }


def file_name(number: int) -> str:
    """The model file of a class, in the folder of its classifier."""
    return f"{number}.model"


def load_classifier(path: str | Path) -> Classifier:
    """The classifier of a folder."""
    folder = Path(path)
    try:
        said = json.loads((folder / FILE).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        if not folder.exists():
            raise ModelNotFoundError(f"{path}: no such folder") from None
        raise ModelFileError(f"{path}: no classifier: expected a folder that gapgram classify train has made") from None
    except (OSError, ValueError) as error:
        raise ModelFileError(f"{folder / FILE}: cannot be read: {error}") from None
    try:
        if said["format"] != FORMAT:
            raise ModelFileError(
                f"{path}: written in format {said['format']} by another gapgram; this one reads {FORMAT}"
            )
        classes, unit, n_words = said["classes"], str(said["unit"]), int(said["n_words"])
        labels, priors = [str(one["label"]) for one in classes], [float(one["prior"]) for one in classes]
        signatures = [str(one["signature"]) for one in classes]
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"{folder / FILE}: damaged: {error!r}") from None
    models = [load(folder / file_name(i)) for i in range(len(labels))]
    for label, model, signature in zip(labels, models, signatures, strict=True):
        if not is_same_model(str(model.signature), signature):
            raise ModelFileError(f"{path}: the model of {label} has become another: train the classifier again")
    if n_words < max(len(model.vocabulary) for model in models):
        raise ModelFileError(f"{folder / FILE}: damaged: {n_words} words in all")
    made = Classifier(tuple(labels), tuple(models), tuple(priors), unit, n_words)
    return made.with_priors(priors)


def _batches(texts: Iterator[str]) -> Iterator[list[str]]:
    while batch := list(islice(texts, _BATCH)):
        yield batch


WORDS, CHARACTERS = "words", "characters"
UNITS = (WORDS, CHARACTERS)
_BLANK = "▁"  # in the place of white space


def check_unit(unit: str) -> str:
    """The unit, if there is such a one."""
    if unit not in UNITS:
        raise UsageError(f"unit {unit!r}: expected {' or '.join(UNITS)}")
    return unit


def as_units(line: str, unit: str) -> str:
    """A line as a model of the unit reads it.

    >>> as_units("it  is", "words"), as_units(" it  is ", "characters")
    ('it  is', '▁ i t ▁ i s ▁')
    """
    if unit == WORDS:
        return line
    words = line.split()
    return " ".join(_BLANK.join(["", *words, ""])) if words else ""
