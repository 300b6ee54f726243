"""MKN beside GLM on one text: the paper's table of perplexities and their relative change."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from gapgram.errors import DiscountWarning, TextError, UsageError
from gapgram.estimation.weights.estimators import GLM_WEIGHTS
from gapgram.queries.perplexity import Perplexity
from gapgram.queries.shown import html_table
from gapgram.reporting.tables import change, table
from gapgram.text.corpus import TextRules
from gapgram.text.files import Block
from gapgram.training.choose_classes import LEAST_POSITIONS
from gapgram.training.train import train

TRAIN_SHARE, SEED = 0.8, 1  # of a split at random


@dataclass(frozen=True)
class Comparison:
    """The perplexity of one model on the test part of a text."""

    order: int
    model: str
    weights: str
    result: Perplexity

    def as_dict(self) -> dict[str, Any]:
        """All figures by name, for JSON."""
        return {**asdict(self), "result": self.result.as_dict()}


class Comparisons(list[Comparison]):
    """The perplexities of all models and orders; printed, a line for each order and a column for each model."""

    def __repr__(self) -> str:
        return comparison_table(self)

    def _repr_html_(self) -> str:
        header, lines = _cells(self)
        return html_table(header, lines, title="perplexity of known words, and its change from the first model")


def split_lines(blocks: Iterable[Block], train_share: float, seed: int) -> tuple[list[str], list[str]]:
    """The lines with words, split at random into training and test part; the same for the same seed."""
    if not 0 < train_share < 1:
        raise UsageError(f"share of training text {train_share}: expected a number between 0 and 1")
    lines = [line.decode() for block in blocks for line in block.data.split(b"\n") if line.strip()]
    chosen = np.random.default_rng(seed).random(len(lines)) < train_share
    texts: tuple[list[str], list[str]] = [], []
    for line, is_training in zip(lines, chosen, strict=True):
        texts[0 if is_training else 1].append(line)
    if not texts[0] or not texts[1]:
        raise TextError(f"{len(lines)} lines with words are too few to split into training and test text")
    return texts


def usual_models(training: Sequence[str]) -> list[tuple[str, str | None]]:
    """All estimators; the one with classes where the text is large enough for them."""
    models: list[tuple[str, str | None]] = [("mkn", None), *[("glm", weights) for weights in GLM_WEIGHTS]]
    enough = sum(len(line.split()) for line in training) >= LEAST_POSITIONS
    return [*models, ("glm", "learned+classes")] if enough else models


def compare(
    training: Sequence[str],
    test: Sequence[str] | None = None,
    orders: Iterable[int] = (3, 4, 5),
    *,
    models: Sequence[tuple[str, str | None]] | None = None,
    rules: TextRules | None = None,
    threads: int | None = None,
    progress: bool = False,
) -> Comparisons:
    """The perplexity of each model and order, all trained and tested on the same lines.

    test: sentences to test on; without them a fifth of `training`, chosen at random.
    models: the name of each and its weights, `learned+classes` for patterns of word classes, too; by default `mkn` and
        each kind of `glm`.

    >>> import gapgram
    >>> gapgram.compare(["the cat sat", "the dog sat", "a cat ran"] * 9, orders=[2], models=[("mkn", None)])
    order  mkn
    2      1.8
    """
    if test is None:
        block = Block("training", 1, "\n".join([*training, ""]).encode())
        training, test = split_lines([block], TRAIN_SHARE, SEED)
    if models is None:
        models = usual_models(training)
    rows = Comparisons()
    for order in orders:
        for model, weights in models:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DiscountWarning)
                name, _, classes = (weights or "").partition("+")
                trained = train(
                    sentences=training, order=order, model=model, weights=name or None,
                    classes="auto" if classes else "none", rules=rules, threads=threads, progress=progress,
                )  # fmt: skip
            result = trained.perplexity(sentences=test, rules=rules, threads=threads)
            rows.append(Comparison(order, model, weights or trained.parts.weights.name, result))
    return rows


def comparison_table(rows: Sequence[Comparison]) -> str:
    """A line for each order, a column for each model, each with its change relative to the first."""
    return table(*_cells(rows))


def _cells(rows: Sequence[Comparison]) -> tuple[list[str], list[list[str]]]:
    """The header and the rows of that table."""
    orders = sorted({row.order for row in rows})
    columns = list(dict.fromkeys((row.model, row.weights) for row in rows))
    by_model = {(row.order, row.model, row.weights): row.result.perplexity_known for row in rows}
    header = ["order", _title(*columns[0])]
    for column in columns[1:]:
        header += [_title(*column), "change"]
    lines = []
    for order in orders:
        first = by_model[(order, *columns[0])]
        cells = [str(order), f"{first:.1f}"]
        for column in columns[1:]:
            perplexity = by_model[(order, *column)]
            cells += [f"{perplexity:.1f}", change(perplexity, first)]
        lines.append(cells)
    return header, lines


def _title(model: str, weights: str) -> str:
    return model if model == "mkn" else f"{model} {weights}"
