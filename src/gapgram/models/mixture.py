"""A linear mixture of models: P(w | context) = λ1·P1(w | context) + λ2·P2(w | context) + …

The models may know different words. The vocabulary is that of all of them; what a model gives to `<unk>` it
spreads evenly over the words that only others know and over `<unk>` itself, so that the mixture sums to one.
A mixture is saved as a small JSON file that names the files of its models, or with them as one file
(`models.mixture_file`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gapgram.arguments import wrong_type
from gapgram.arrays import Begins, Floats, Ids, Integers
from gapgram.errors import ModelFileError, TextError, UsageError
from gapgram.kernels.mixing import mix
from gapgram.kernels.special_words import SPECIAL, START_ID, UNKNOWN_ID
from gapgram.models.mixture_states import MixtureStepper
from gapgram.queries.by_ids import ByIds
from gapgram.queries.id_runs import score_in_runs
from gapgram.queries.language_model import LanguageModel, Sentence, checked_model
from gapgram.queries.line_scores import ScoredLines
from gapgram.system.array_reading import plain
from gapgram.system.atomic_file import check_writable, written_aside
from gapgram.text import corpus as text
from gapgram.text.files import Paths, blocks_of_files
from gapgram.text.tokenisers.tokeniser import Tokeniser, check_same
from gapgram.text.vocabulary import Vocabulary

FORMAT = "gapgram mixture 1"
MOST_BYTES = 1 << 20  # of a mixture's file
ROUNDS, ENOUGH = 200, 1e-7  # of expectation maximisation, and the change of a weight that ends it


@dataclass(frozen=True)
class _Translation:
    """For each word of the mixture its id in one model, and log10 of its share of what that id gets."""

    ids: Ids
    log10_shares: Floats

    @classmethod
    def of(cls, words: Sequence[str], vocabulary: Vocabulary) -> _Translation:
        ids = vocabulary.ids(words)
        log10_shares = np.zeros(len(words))
        log10_shares[ids == UNKNOWN_ID] = -np.log10(np.count_nonzero(ids == UNKNOWN_ID))
        return cls(ids, log10_shares)


class Mixture(ByIds):
    """Several models as one; it answers what `gapgram.Model` answers.

    >>> import gapgram
    >>> a = gapgram.train(sentences=["the cat sat", "a cat ran"] * 9, order=2, model="mkn")
    >>> b = gapgram.train(sentences=["the dog sat", "a dog ran"] * 9, order=3, model="mkn")
    >>> both = Mixture([a, b], [0.5, 0.5])
    >>> both.order, float(both.distribution("the").sum().round(9))
    (3, 1.0)
    """

    def __init__(
        self,
        models: Sequence[LanguageModel],
        weights: Sequence[float],
        path: Path | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        if not isinstance(models, Sequence):
            raise wrong_type("models of a mixture", models, "a list of models")
        self.models, self.weights, self._path = tuple(models), _checked(models, weights), path
        self._names = names
        tokenisers = {str(model.path or f"model {i}"): model.tokeniser for i, model in enumerate(models, 1)}
        self._tokeniser = check_same(tokenisers, "a mixture")
        known = dict.fromkeys(word for model in models for word in model.vocabulary)
        words = [*SPECIAL, *(word for word in known if word not in SPECIAL)]
        self._vocabulary = Vocabulary.of(words[len(SPECIAL) :])
        self._translations = [_Translation.of(words, model.vocabulary) for model in models]

    @property
    def order(self) -> int:
        """The largest of the models' orders."""
        return max(model.order for model in self.models)

    @property
    def vocabulary(self) -> Vocabulary:
        """The words that at least one model knows."""
        return self._vocabulary

    @property
    def tokeniser(self) -> Tokeniser | None:
        """That of the models."""
        return self._tokeniser

    @property
    def path(self) -> Path | None:
        """The file of the mixture, once it has one."""
        return self._path

    @property
    def names(self) -> tuple[str, ...]:
        """What its models are called: by their files, or by those that they had before they became parts of one."""
        return tuple(self._names or (str(m.path or f"model {i}") for i, m in enumerate(self.models, 1)))

    def __reduce__(self) -> tuple[Any, ...]:
        if self._path is not None:
            return import_module("gapgram.models.open").load, (str(self._path),)  # which knows this kind and others
        return type(self), (self.models, self.weights.tolist())

    @cached_property
    def _stepper(self) -> MixtureStepper:
        return MixtureStepper(
            [model._stepper for model in self.models],
            [t.ids for t in self._translations],
            [t.log10_shares for t in self._translations],
            self.weights,
        )

    @cached_property
    def signature(self) -> str:
        """The weights and what they weigh."""
        weighed = (f"{w:.6f}*({m.signature})" for w, m in zip(self.weights, self.models, strict=True))
        return "mixture:" + "+".join(weighed)

    def scores_of_models(self, ids: Ids, begins: Begins, threads: int | None = 1) -> Floats:
        """[model, position]: log10 of the probability of each position under each model."""
        pairs = zip(self.translated(ids), self._translations, strict=True)
        return np.stack([
            score_in_runs(model, own, begins, threads, checked=True) + t.log10_shares[ids] for (model, own), t in pairs
        ])  # fmt: skip

    def translated(self, ids: Ids) -> list[tuple[LanguageModel, Ids]]:
        """Each model with the ids that it has for these words of the mixture."""
        return [(model, t.ids[ids]) for model, t in zip(self.models, self._translations, strict=True)]

    def gram_lengths(self, ids: Ids) -> Integers:
        """For each word of one sequence the length of the longest gram that one of the models holds."""
        longest: Integers = np.max([model.gram_lengths(own) for model, own in self.translated(ids)], axis=0)
        return longest

    @property
    def run_words(self) -> int:
        """As many as the model takes that takes most."""
        return max(model.run_words for model in self.models)

    def score_checked_ids(self, ids: Ids, begins: Begins, out: Floats | None = None) -> Floats:
        """log10 of the probability of each position of sequences of word ids; 0 for `<s>`."""
        out = np.empty(ids.size) if out is None else out
        out[:] = mix(self.scores_of_models(ids, begins), self.weights)
        out[ids == START_ID] = 0.0
        return out

    @property
    def open_vocabulary(self) -> bool:
        """Whether all models can give every word a probability of its own."""
        return all(model.open_vocabulary for model in self.models)

    def _open_scores(self, lines: ScoredLines) -> Floats:
        """The scores of lines, with words that a model does not know by its own spelling."""
        scores = [
            model.opened(lines._replace(ids=own, scores=model.score_checked_ids(own, lines.begins))).scores
            for model, own in self.translated(lines.ids)
        ]
        out: Floats = mix(np.stack(scores), self.weights)
        out[lines.ids == START_ID] = 0.0
        return out

    def _on_card(self) -> LanguageModel:
        return Mixture([model.on("cuda") for model in self.models], self.weights.tolist(), self._path)

    def distribution(self, context: Sentence = ()) -> Floats:
        """P(· | context) as an array over the ids of the vocabulary; it sums to one."""
        out = np.zeros(len(self.vocabulary))
        for weight, model, t in zip(self.weights, self.models, self._translations, strict=True):
            out += weight * model.distribution(context)[t.ids] * 10.0**t.log10_shares
        return out

    def save(self, path: str | Path, *, whole: bool = False, layout: str | None = None) -> None:
        """Write a file that names the models' files, relative to its own folder, and their weights.

        whole: write the models themselves into the file, which then needs no other.
        layout: with `whole`, `fast` or `compact` for the models in it; by default each as it is.
        """
        check_writable(path, _files_of(self))
        if layout is not None and not whole:
            raise UsageError("a layout is for a mixture that is written whole, with its models")
        if whole:
            from gapgram.models.mixture_file import write_mixture

            write_mixture(path, self, layout=layout)
        else:
            self._save_names(path)
        self._path = Path(path).resolve()

    def _save_names(self, path: str | Path) -> None:
        entries = []
        for model, weight in zip(self.models, self.weights.tolist(), strict=True):
            if model.path is None:
                raise ModelFileError(
                    "a mixture names the files of its models: save them first, or write it whole (whole=True)"
                )
            relative = os.path.relpath(model.path, Path(path).resolve().parent)
            entries.append({"path": relative, "weight": weight, "signature": str(model.signature)})
        with written_aside(Path(path)) as file:
            file.write(json.dumps({"format": FORMAT, "models": entries}, indent=2).encode() + b"\n")


def _files_of(mixture: Mixture) -> Iterator[Path]:
    """The files that a mixture is read from."""
    for model in mixture.models:
        if isinstance(model, Mixture):
            yield from _files_of(model)
        if model.path is not None:
            yield model.path


class MixtureEntry(NamedTuple):
    """A model of a mixture as its file has it: where it is, its weight, and what it was when it was mixed."""

    path: str
    weight: float
    signature: str


def read_entries(path: Path) -> list[MixtureEntry]:
    """What a mixture file names; no model is opened yet."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ValueError
        content = json.loads(path.read_text("utf-8"))
        entries = [MixtureEntry(plain(e["path"], str), plain(e["weight"], float), plain(e["signature"], str))
                   for e in plain(content["models"], list)]  # fmt: skip
        is_mixture = content["format"] == FORMAT and not any("\0" in entry.path for entry in entries)
    except (ValueError, KeyError, TypeError, RecursionError):
        is_mixture = False
    if not is_mixture:
        raise ModelFileError(f"{path}: not a mixture as gapgram writes it; make it again with gapgram mix")
    return entries


def _checked(models: Sequence[LanguageModel], weights: Sequence[float]) -> Floats:
    for model in models:
        checked_model("mixture", model)
    out = np.array(weights, float)
    if len(models) < 2 or len(out) != len(models):
        raise UsageError(f"{len(models)} models and {len(out)} weights: expected two models or more, a weight for each")
    if not (out >= 0).all() or abs(out.sum() - 1) > 1e-6:
        raise UsageError(f"weights {', '.join(map(str, weights))}: expected none below 0, and a sum of 1")
    normed: Floats = out if abs(out.sum() - 1) < 1e-12 else out / out.sum()  # those of a file stay as they are
    return normed


def tune(
    models: Sequence[LanguageModel],
    texts: Paths,
    *,
    rules: text.TextRules | None = None,
    threads: int | None = None,
) -> Mixture:
    """The mixture that gives a text the highest probability, found by expectation maximisation."""
    if not isinstance(models, Sequence):
        raise wrong_type("models of a mixture", models, "a list of models")
    even = Mixture(models, [1 / max(1, len(models))] * len(models))
    scores = []
    asked = rules or text.QUERY_RULES
    blocks = (even.tokenised(block, asked) for block in blocks_of_files(texts))
    for encoded in text.encode(blocks, even.vocabulary, asked):
        ids = encoded.ids
        scores.append(even.scores_of_models(ids, text.sentence_begins(ids), threads)[:, ids != START_ID])
    if not any(block.size for block in scores):
        raise TextError(f"{texts}: no sentence in it: expected one sentence a line")
    return Mixture(models, best_weights(np.concatenate(scores, axis=1)).tolist())


def best_weights(log10_probs: Floats) -> Floats:
    """The weights that maximise the sum of log Σ λi·Pi, for [model, position] probabilities.

    >>> best_weights(np.log10([[0.2, 0.2, 0.1], [0.2, 0.1, 0.2]])).round(3).tolist()
    [0.5, 0.5]
    """
    # Only the ratio of the models matters at a position; the largest is 1, so that none is lost.
    probs = 10.0 ** (log10_probs - log10_probs.max(axis=0))
    weights = np.full(len(probs), 1 / len(probs))
    for _ in range(ROUNDS):
        shares = weights[:, None] * probs
        new = (shares / shares.sum(axis=0)).mean(axis=1)
        change, weights = np.abs(new - weights).max(), new
        if change < ENOUGH:
            break
    normed: Floats = weights / weights.sum()
    return normed
