"""A linear mixture of models: P(w | context) = λ1·P1(w | context) + λ2·P2(w | context) + …

The models may know different words. The vocabulary is that of all of them; what a model gives to `<unk>` it
spreads evenly over the words that only others know and over `<unk>` itself, so that the mixture sums to one.
A mixture is saved as a small JSON file that names the files of its models, or with them as one file:

    parts       the models' files, one after the other, each at a multiple of 64 bytes; that of a mixture is such a file
    part_sizes  the bytes of each
    weights     of the models
"""

from __future__ import annotations

import json
import math
import os
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from importlib import import_module
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from gapgram import sections
from gapgram.arguments import wrong_type
from gapgram.arrays import Begins, Floats, Ids, Integers
from gapgram.errors import ModelFileError, TextError, UsageError
from gapgram.kernels.probability.scores import mix
from gapgram.kernels.text.special_words import SPECIAL, START_ID, UNKNOWN_ID
from gapgram.models.backoff import BackoffModel, backoff_contents
from gapgram.models.model import Model
from gapgram.queries.id_runs import score_in_runs
from gapgram.queries.language_model import LanguageModel, Sentence, checked_model
from gapgram.queries.line_scores import ScoredLines
from gapgram.queries.state_rows import MixedRows, StateRows
from gapgram.queries.states import Stepper, other_model
from gapgram.system import array_file
from gapgram.system.array_file import HEADER, FilePart, Writing
from gapgram.system.array_reading import plain, reading
from gapgram.system.atomic_file import check_writable, written_aside
from gapgram.system.section_rules import ALIGN, Arrays
from gapgram.text import corpus as text
from gapgram.text.files import Paths, blocks_of_files
from gapgram.text.tokenisers.tokeniser import check_same
from gapgram.text.vocabulary import Vocabulary

FORMAT = "gapgram mixture 1"
MOST_BYTES = 1 << 20  # of a mixture's file
ROUNDS, ENOUGH = 200, 1e-7  # of expectation maximisation, and the change of a weight that ends it


@dataclass(frozen=True)
class _Translation:
    """For each word of the mixture its id in one model, and its share of what that id gets, and log10 of it."""

    ids: Ids
    shares: Floats
    log10_shares: Floats

    @classmethod
    def of(cls, words: Sequence[str], vocabulary: Vocabulary) -> _Translation:
        ids = vocabulary.ids(words)
        unknown = ids == UNKNOWN_ID
        n = int(unknown.sum())
        return cls(ids, np.where(unknown, 1 / n, 1.0), np.where(unknown, -math.log10(n), 0.0))


class Mixture(LanguageModel):
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
        self.run_words = max((model.run_words for model in models), default=0)  # of the model that takes most
        self._tokeniser = check_same(tokenisers, "a mixture")
        self._splitting = _same_splitting(models)
        known = dict.fromkeys(word for model in models for word in model.vocabulary)
        words = [*SPECIAL, *(word for word in known if word not in SPECIAL)]
        self._vocabulary = Vocabulary.of(words[len(SPECIAL) :])
        self._translations = [_Translation.of(words, model.vocabulary) for model in models]

    @property
    def order(self) -> int:
        """The largest of the models' orders."""
        return max(model.order for model in self.models)

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
        longest: Integers = np.max([model.gram_lengths(own) for model, own in self.translated(ids)], axis=0)
        return longest

    def score_checked_ids(self, ids: Ids, begins: Begins, out: Floats | None = None) -> Floats:
        out = np.empty(ids.size) if out is None else out
        out[:] = mix(self.scores_of_models(ids, begins), self.weights)
        out[ids == START_ID] = 0.0
        return out

    @property
    def open_vocabulary(self) -> bool:
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
        out = np.zeros(len(self.vocabulary))
        for weight, model, t in zip(self.weights, self.models, self._translations, strict=True):
            out += weight * model.distribution(context)[t.ids] * t.shares
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
        raise ModelFileError(
            f"{path}: not a mixture as gapgram writes it; make it again with gapgram mix; "
            "if it is the text, MODEL comes before it"
        )
    return entries


def _same_splitting(models: Sequence[LanguageModel]) -> str:
    """How all models have marks cut off words; refuses those of which only some do."""
    ways = {model.splitting: str(model.path or f"model {i}") for i, model in enumerate(models, 1)}
    if len(ways) > 1:
        raise UsageError(
            f"a mixture: {ways['marks']} cuts punctuation marks off words and {ways['']} does not:\n"
            "say of both what their text was like (gapgram about MODEL --split marks -o NEW, or --split none)"
        )
    return next(iter(ways), "")


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


class MixtureStepper(Stepper):
    """Steps of one mixture. A key holds how many bytes the keys of its models have, then these keys.

    ids, log10_shares: for each model the ids that it has for the words of the mixture, and log10 of a word's share.
    """

    def __init__(
        self, steppers: Sequence[Stepper], ids: Sequence[Ids], log10_shares: Sequence[Floats], weights: Floats
    ) -> None:
        self._parts, self._weights = list(zip(steppers, ids, log10_shares, strict=True)), weights
        self._sizes = struct.Struct(f"<{len(steppers)}H")
        self.null = self._packed([stepper.null for stepper in steppers])
        self.beginning = self._packed([stepper.beginning for stepper in steppers])
        self.one = self._one

    def _one(self, key: bytes, word: int) -> tuple[float, int, bytes]:
        scores, lengths, keys = [], [], []
        for (stepper, ids, log10_shares), own in zip(self._parts, self._unpacked(key), strict=True):
            score, length, after = stepper.checked(own, int(ids[word]))
            scores.append(score + log10_shares[word])
            lengths.append(length)
            keys.append(after)
        return self._mixed(scores), max(lengths), self._packed(keys)

    def _mixed(self, scores: list[float]) -> float:
        return float(mix(np.array(scores).reshape(-1, 1), self._weights)[0])

    def start_score(self, key: bytes) -> float:
        """The mixture of what the models say."""
        keys = self._unpacked(key)
        return self._mixed([stepper.start_score(own) for (stepper, *_), own in zip(self._parts, keys, strict=True)])

    def many(self, keys: Sequence[bytes], words: Ids, threads: int) -> tuple[Floats, list[bytes]]:
        columns = list(zip(*map(self._unpacked, keys), strict=True)) or [()] * len(self._parts)
        scores, after = [], []
        for (stepper, ids, log10_shares), own in zip(self._parts, columns, strict=True):
            own_scores, own_after = stepper.many(own, ids[words], threads)
            scores.append(own_scores + log10_shares[words])
            after.append(own_after)
        return mix(np.stack(scores), self._weights), [self._packed(each) for each in zip(*after, strict=True)]

    def rows(self) -> StateRows:
        parts = [(stepper.rows(), ids, log10_shares) for stepper, ids, log10_shares in self._parts]
        return MixedRows(parts, lambda scores: mix(scores, self._weights), self._packed, self._unpacked)

    def _packed(self, keys: Sequence[bytes]) -> bytes:
        return self._sizes.pack(*map(len, keys)) + b"".join(keys)

    def _unpacked(self, key: bytes) -> list[bytes]:
        if len(key) < self._sizes.size:
            raise other_model()
        sizes = self._sizes.unpack_from(key)
        if sum(sizes) != len(key) - self._sizes.size:
            raise other_model()
        ends = np.cumsum([self._sizes.size, *sizes]).tolist()
        return [key[a:b] for a, b in pairwise(ends)]


class StoredMixture(NamedTuple):
    """What a mixture's file holds: where each model is, how it begins, what its file was called, and its weight."""

    parts: list[FilePart]
    first_bytes: list[bytes]
    names: list[str]
    weights: list[float]


def write_mixture(path: str | Path, mixture: Mixture, *, layout: str | None = None) -> None:
    """Write a mixture with its models to one file, aside and renamed.

    layout: `fast` or `compact`, of all models that gapgram has trained; by default each as it is.
    """
    _check(mixture)
    with written_aside(Path(path)) as file:
        _write_mixture(mixture, layout, file)


def read_mixture(path: str | Path | FilePart, *, verify: bool | None = None) -> StoredMixture:
    """What the file of a mixture holds; no model is opened yet."""
    with reading(path, array_file.MIXTURE, sections.MIXTURE, verify=verify) as file:
        whole, begin = (path.path, path.begin) if isinstance(path, FilePart) else (Path(path), 0)
        memory, sizes = file.arrays["parts"], file.arrays["part_sizes"].tolist()
        names = [plain(name, str) for name in plain(file.metadata["models"], list)]
        if len(sizes) < 2 or len(names) != len(sizes):
            raise ValueError(f"{len(sizes)} models with {len(names)} names, expected two or more, a name for each")
        places = [0, *accumulate(size + -size % ALIGN for size in sizes)]
        if places.pop() != memory.size:
            raise ValueError("models that are larger or smaller than their place")
        begin += next(section.offset for section in file.sections if section.name == "parts")
        return StoredMixture(
            [FilePart(whole, begin + at, sizes[i], f"model {i + 1}") for i, at in enumerate(places)],
            [memory[at : at + min(sizes[i], HEADER.size)].tobytes() for i, at in enumerate(places)],
            names,
            file.arrays["weights"].tolist(),
        )


def _check(mixture: Mixture) -> None:
    """Refuse what has no file of gapgram's own format, before anything is written."""
    for model, name in zip(mixture.models, mixture.names, strict=True):
        if isinstance(model, Mixture):
            _check(model)
        elif not isinstance(model, Model | BackoffModel):
            raise UsageError(f"{name}: cannot be a part of one file: convert it first (gapgram convert), and mix that")


def _write_mixture(mixture: Mixture, layout: str | None, file: BinaryIO) -> None:
    writing = Writing(file, array_file.MIXTURE)
    sizes = writing.add_files("parts", (_writer_of(model, layout) for model in mixture.models))
    writing.add("part_sizes", np.array(sizes, np.int64))
    writing.add("weights", mixture.weights)
    writing.finish({"models": [os.fsencode(Path(name).name).decode("utf-8", "replace") for name in mixture.names]})


def _writer_of(model: LanguageModel, layout: str | None) -> Callable[[BinaryIO], None]:
    if isinstance(model, Mixture):
        return partial(_write_mixture, model, layout)
    if isinstance(model, BackoffModel):
        return partial(_write_arrays, array_file.BACKOFF, *backoff_contents(model), bool)
    assert isinstance(model, Model)
    parts, pages = model.with_layout(layout or model.layout).parts, model.counts.pages
    return partial(_write_arrays, array_file.MODEL, *parts.contents(), pages.release if pages is not None else bool)


def _write_arrays(
    kind: int, arrays: Arrays, metadata: dict[str, Any], between: Callable[[], object], file: BinaryIO
) -> None:
    writing = Writing(file, kind)
    for name, array in arrays.items():
        writing.add(name, array, between=between)
    writing.finish(metadata)
