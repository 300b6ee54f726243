"""Accuracy of a classifier, and a table of what was taken for what."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from gapgram.applications.classification.classifier import Classification, Classifier
from gapgram.errors import TextError
from gapgram.reporting.tables import table


@dataclass(frozen=True)
class Evaluation:
    """How many texts of each label were taken for which; log2_loss: bits of surprise at the right label, on average."""

    labels: tuple[str, ...]
    confusion: dict[tuple[str, str], int]
    log2_loss: float
    signatures: dict[str, str]

    @property
    def texts(self) -> int:
        """How many texts there were."""
        return sum(self.confusion.values())

    @property
    def accuracy(self) -> float:
        """The share of texts that were taken for what they are."""
        return sum(n for (right, taken), n in self.confusion.items() if right == taken) / self.texts

    def as_dict(self) -> dict[str, Any]:
        """All figures by name, for JSON."""
        rows = {right: {taken: self.confusion.get((right, taken), 0) for taken in self.labels} for right in self.labels}
        return {
            "texts": self.texts,
            "accuracy": self.accuracy,
            "log2_loss": self.log2_loss,
            "confusion": rows,
            "signatures": self.signatures,
        }

    def __str__(self) -> str:
        rows = [
            [right, *(self.confusion.get((right, taken), 0) for taken in self.labels), self._recall(right)]
            for right in self.labels
        ]
        head = f"{self.texts:,} texts, accuracy {100 * self.accuracy:.2f} %, {self.log2_loss:.4f} bits a text"
        return f"{head}\n{table(['taken for', *self.labels, 'right'], rows)}"

    def _recall(self, label: str) -> str:
        of_label = sum(n for (right, _), n in self.confusion.items() if right == label)
        return f"{100 * self.confusion.get((label, label), 0) / of_label:.1f} %" if of_label else ""


def evaluate(classifier: Classifier, labelled: Iterable[tuple[str, str]], *, threads: int | None = None) -> Evaluation:
    """Classify texts whose labels are known."""
    confusion: Counter[tuple[str, str]] = Counter()
    loss, rights = 0.0, list[str]()

    def texts() -> Iterator[str]:
        for label, text in labelled:
            if label not in classifier.labels:
                raise TextError(
                    f"the label {label!r} is none of the classifier's: {', '.join(classifier.labels)}"[:300]
                )
            rights.append(label)
            yield text

    answers: Iterator[Classification] = classifier.classify(texts(), threads=threads)
    for number, one in enumerate(answers):
        right = rights[number]
        confusion[right, one.label] += 1
        loss -= math.log2(max(one.probabilities[right], 5e-324))
    if not confusion:
        raise TextError("no labelled text to evaluate on: expected label, tab and text a line")
    n = sum(confusion.values())
    return Evaluation(classifier.labels, dict(confusion), loss / n, classifier.signatures)
