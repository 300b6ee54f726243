"""The scores of hypotheses, the best ones, and what ranking anew has gained."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gapgram.applications.rescoring.nbest import NBest
from gapgram.applications.rescoring.tuning import Scored, tuned
from gapgram.arrays import Floats, Integers
from gapgram.errors import TextError, UsageError
from gapgram.queries.language_model import LanguageModel
from gapgram.system.atomic_file import written_aside
from gapgram.text.files import read_head

_MOST_BYTES = 1 << 20  # of a file of weights


@dataclass(frozen=True)
class Rescored:
    """Lists ranked anew: `best` is the number of the best hypothesis of each, `totals` the totals of all of each."""

    lists: list[NBest]
    best: list[int]
    totals: list[list[float]]
    weights: tuple[float, ...]
    signature: str

    @property
    def texts(self) -> list[str]:
        """The best text of each list."""
        return [one.hypotheses[i].text for one, i in zip(self.lists, self.best, strict=True)]


@dataclass(frozen=True)
class Gain:
    """Word error rates: of the first hypotheses, of the best ones, and of the best that the lists hold.

    better: the share of drawn texts whose rate is lower after than before.
    """

    before: ErrorRate
    after: ErrorRate
    oracle: ErrorRate
    better: float
    words: int

    def as_dict(self) -> dict[str, Any]:
        """All figures by name, for JSON."""
        rates = {name: getattr(self, name)._asdict() for name in ("before", "after", "oracle")}
        return {**rates, "better": self.better, "words": self.words}


class Rescorer:
    """Ranks hypotheses by weighted scores: their own, log10 of the model's probability, and their words.

    weights: of the own scores in their order, of the model, and of each word; by default 1 for each but 0 for words.
    """

    def __init__(self, model: LanguageModel, weights: Sequence[float] | None = None) -> None:
        self.model, self.weights = model, None if weights is None else tuple(map(float, weights))

    def tuned(
        self, lists: list[NBest], references: list[list[str]], *, threads: int | None = None, progress: bool = False
    ) -> Rescorer:
        """With the weights that make the fewest errors on some lists."""
        scores = self.scores(lists, threads=threads)
        inputs = [
            Scored(rows, _errors(one, reference))
            for rows, one, reference in zip(scores, lists, references, strict=True)
        ]
        start = np.array(self._weights(scores[0].shape[1]))
        return Rescorer(self.model, tuned(inputs, start, progress=progress).tolist())

    def scores(self, lists: list[NBest], *, threads: int | None = None) -> list[Floats]:
        """[hypothesis, score] of each list: own scores, the model's, words."""
        texts = [hypothesis.text for one in lists for hypothesis in one.hypotheses]
        of_model, at, out = self.model.score_many(texts, threads=threads), 0, []
        for one in lists:
            rows = [
                [*hypothesis.scores, float(of_model[at + i]), float(len(hypothesis.text.split()))]
                for i, hypothesis in enumerate(one.hypotheses)
            ]
            at += len(rows)
            out.append(np.array(rows))
        return out

    def rescore(self, lists: list[NBest], *, threads: int | None = None) -> Rescored:
        """Rank lists anew; of hypotheses that are alike the first stays first."""
        scores = self.scores(lists, threads=threads)
        weights = np.array(self._weights(scores[0].shape[1]))
        totals = [rows @ weights for rows in scores]
        best = [int(np.argmax(one)) for one in totals]
        return Rescored(
            lists, best, [one.tolist() for one in totals], tuple(weights.tolist()), str(self.model.signature)
        )

    def _weights(self, n: int) -> tuple[float, ...]:
        if self.weights is None:
            return (*[1.0] * (n - 1), 0.0)
        if len(self.weights) != n:
            raise UsageError(
                f"{len(self.weights)} weights for {n} scores: expected those of the {n - 2} scores of a hypothesis, of "
                "the model and of words"
            )
        return self.weights

    def save_weights(self, path: str | Path) -> None:
        """Write the weights to a file of JSON."""
        with written_aside(path) as file:
            file.write(json.dumps({"weights": self.weights, "signature": str(self.model.signature)}).encode() + b"\n")


def load_weights(path: str | Path) -> list[float]:
    """The weights of a file that `save_weights` has written."""
    try:
        return [float(weight) for weight in json.loads(read_head(path, _MOST_BYTES))["weights"]]
    except (ValueError, KeyError, TypeError):
        raise TextError(
            f"{path}: no weights: expected a file that gapgram rescore --save-weights has written"
        ) from None


def gain(rescored: Rescored, references: list[list[str]]) -> Gain:
    """Errors before and after, against references."""
    errors = [_errors(one, reference) for one, reference in zip(rescored.lists, references, strict=True)]
    lengths = np.array([len(reference) for reference in references])
    before = np.array([one[0] for one in errors])
    after = np.array([one[i] for one, i in zip(errors, rescored.best, strict=True)])
    oracle = np.array([one.min() for one in errors])
    return Gain(
        before=error_rate(before, lengths),
        after=error_rate(after, lengths),
        oracle=error_rate(oracle, lengths),
        better=chance_of_gain(before, after, lengths),
        words=int(lengths.sum()),
    )


def _errors(one: NBest, reference: list[str]) -> Integers:
    return np.array([word_errors(hypothesis.text.split(), reference) for hypothesis in one.hypotheses])


_DRAWS = 1000
_SEED = 1


def word_errors(hypothesis: Sequence[str], reference: Sequence[str]) -> int:
    """The fewest words put in, left out or replaced that make one text of the other.

    >>> word_errors("the cat sat".split(), "a cat sat down".split())
    2
    """
    row = list(range(len(reference) + 1))
    for i, word in enumerate(hypothesis, 1):
        above, row = row, [i]
        for j, right in enumerate(reference, 1):
            row.append(min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (word != right)))
    return row[-1]


class ErrorRate(NamedTuple):
    """A word error rate with the bounds of 95 % of rates of texts drawn from this one, whole inputs at a time."""

    rate: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{100 * self.rate:.2f} % ({100 * self.low:.2f} to {100 * self.high:.2f})"


def error_rate(errors: Integers, lengths: Integers) -> ErrorRate:
    """The rate of some inputs with so many errors and words of reference each."""
    rates = _drawn(errors, lengths)
    low, high = np.quantile(rates, [0.025, 0.975]).tolist()
    return ErrorRate(float(errors.sum() / max(lengths.sum(), 1)), low, high)


def chance_of_gain(before: Integers, after: Integers, lengths: Integers) -> float:
    """The share of texts drawn from this one of which the rate after is lower than that before."""
    return float((_drawn(after, lengths) < _drawn(before, lengths)).mean())


def _drawn(errors: Integers, lengths: Integers) -> Floats:
    """Rates of texts of as many inputs, drawn with replacement; the same draws every time."""
    picks = np.random.default_rng(_SEED).integers(0, errors.size, (_DRAWS, errors.size))
    rates: Floats = errors[picks].sum(axis=1) / np.maximum(lengths[picks].sum(axis=1), 1)
    return rates
