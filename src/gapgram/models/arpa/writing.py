"""Modified Kneser-Ney models as ARPA files, exactly.

An interpolated model on the chain is a backoff model: the probability of a gram already holds its part of
the shorter ones, and the backoff of a context is its g. That is so because every pattern falls back on one
other. A model with gaps falls back on several at once, and an ARPA file has no place for more than one.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple, cast

import numpy as np

from gapgram.arguments import checked_path
from gapgram.arrays import Floats, Integers
from gapgram.errors import UsageError
from gapgram.kernels.backoff import grams as kernels
from gapgram.kernels.probability.probabilities import discounted
from gapgram.kernels.tables.arrays import COUNT_BITS, COUNT_MASK, FIRST_ROW, ROW_BITS, ROW_MASK
from gapgram.kernels.tables.model_arrays import BACKOFF, SCALE
from gapgram.kernels.text.special_words import START_ID
from gapgram.models.backoff import BackoffModel
from gapgram.models.grams import NEVER, Grams, closed, word_ids
from gapgram.models.model import Model
from gapgram.pattern import Pattern
from gapgram.queries.language_model import checked_model
from gapgram.system.atomic_file import written_aside

if TYPE_CHECKING:
    from gapgram.models.open import AnyModel

_LINES_PER_BATCH = 1 << 16


def as_backoff(model: Model) -> BackoffModel:
    """The backoff model that gives the same probabilities as a modified Kneser-Ney model."""
    return BackoffModel(
        model.vocabulary, closed(_grams_of(model)), str(model.signature), tokeniser=model.tokeniser
    )


def to_backoff(model: AnyModel, *, threads: int | None = None, progress: bool = False) -> BackoffModel:
    """The backoff model with the same probabilities, of a modified Kneser-Ney model, an ARPA file or KenLM's own."""
    from gapgram.models.kenlm_binary.conversion import as_backoff as converted
    from gapgram.models.kenlm_binary.model import KenlmModel

    if isinstance(model, KenlmModel):
        return converted(model, threads=threads, progress=progress)
    if not isinstance(model, Model | BackoffModel):
        raise UsageError(f"{model.path}: a mixture is no backoff model; use it as it is, through gapgram.kenlm")
    return as_backoff(model) if isinstance(model, Model) else model


def _grams_of(model: Model) -> Grams:
    """The grams of a modified Kneser-Ney model, with their probabilities and backoffs."""
    lattice, weights = model.counts.lattice.name, model.parts.weights.name
    if lattice != "chain" or weights not in ("none", "uniform"):
        raise UsageError(
            f"a model with lattice {lattice} and weights {weights} has no exact ARPA file: ARPA knows one shorter "
            "context for each context, this model mixes several. Train --model mkn, use the model itself "
            "through gapgram.adapters.kenlm, or write an approximation (--approximate)"
        )
    tree = contiguous_tree(model)
    base, words, children = tree[:3]
    probs = _probabilities(model, tree)
    backoffs = [_rows(model, k, tree.numbers[k - 1])[:, BACKOFF] for k in range(1, model.order)]
    backoffs.append(np.ones(len(tree.numbers[-1])))
    with np.errstate(divide="ignore"):
        grams = Grams(base, words, children, np.log10(probs), np.maximum(np.log10(np.concatenate(backoffs)), NEVER))
    grams.log10_probs[START_ID] = NEVER
    return grams


def _probabilities(model: Model, tree: Tree) -> Floats:
    """The probability of each gram, from the shortest to the longest."""
    base, words, children, counts, numbers = tree
    suffixes = kernels.suffixes_of(base, model.order, words, children)
    probs, ids = np.empty(len(words)), np.empty((1, 0), np.int64)
    for p, (first, last) in enumerate(pairwise(base)):
        ids = word_ids(base, words, children, p + 1, ids)
        left = discounted(model.parts.arrays.discounts, p, counts[first:last])
        if p == 0:
            row = _rows(model, 0, np.arange(1))[0]
            probs[first:last] = left * row[SCALE] + row[BACKOFF] * model._arrays.uniform
        else:
            contexts = np.repeat(numbers[p - 1], np.diff(children[base[p - 1] : first + 1]))
            rows = _rows(model, p, contexts)
            shorter = probs[suffixes[first:last]]
            gone = np.flatnonzero(suffixes[first:last] < 0)  # pruned
            shorter[gone] = _last_probabilities(model, ids[gone, 1:])
            probs[first:last] = left * rows[:, SCALE] + rows[:, BACKOFF] * shorter
    return probs


def _last_probabilities(model: Model, sequences: Integers) -> Floats:
    """The probability of the last word of each sequence after the others."""
    n, length = sequences.shape
    if not n:
        return np.empty(0)
    scores = model.score_ids(sequences.astype(np.int32).reshape(-1), np.arange(n + 1) * length)
    probabilities: Floats = 10.0 ** scores[length - 1 :: length]
    return probabilities


def _rows(model: Model, p: int, contexts: Integers) -> Floats:
    """The values of some contexts of pattern {1 … p}, by their places in its table."""
    pattern = Pattern.contiguous(p)
    first = int(model.counts.tables.places[model.counts.index(pattern), FIRST_ROW])
    values: Floats = model.parts.arrays.row_values[first + (model.counts.contexts(pattern)[contexts] & ROW_MASK)]
    return values


def write_arpa(model: Model | BackoffModel, path: str | Path, *, words: Sequence[str] | None = None) -> None:
    """Write a model as an ARPA file, aside and renamed; compressed where its name ends in `.gz`.

    words: what to write for each word of the vocabulary; by default the word.
    """
    checked_model("write_arpa", model)
    grams = _grams_of(model) if isinstance(model, Model) else model.grams
    if (grams.log10_probs > 0).any():  # the end of a gram, which was missing, after a backoff above 0
        raise UsageError("a gram has log10 of a probability above 0, which no ARPA file can say: convert to .model")
    target = checked_path("file to write", path)
    with written_aside(target) as raw:
        stream = gzip.GzipFile("", "wb", 6, raw, 0) if target.suffix == ".gz" else raw
        for piece in arpa_text(grams, list(words or model.vocabulary)):
            stream.write(piece.encode("utf-8", "surrogatepass"))
        if stream is not raw:
            cast("IO[bytes]", stream).close()


def arpa_text(grams: Grams, words: list[str]) -> Iterator[str]:
    """An ARPA file, some lines at a time."""
    yield "\\data\\\n" + "".join(f"ngram {k}={n}\n" for k, n in enumerate(grams.sizes(), 1))
    ids = np.empty((1, 0), np.int64)
    for length, (first, last) in enumerate(pairwise(grams.base), 1):
        yield f"\n\\{length}-grams:\n"
        ids = word_ids(grams.base, grams.words, grams.children, length, ids)
        for begin in range(first, last, _LINES_PER_BATCH):
            some = range(begin, min(begin + _LINES_PER_BATCH, last))
            yield _lines(ids[begin - first : some.stop - first], grams, some, words, length < grams.order)
    yield "\n\\end\\\n"


def _lines(ids: Integers, grams: Grams, some: range, words: list[str], with_backoff: bool) -> str:
    probs = grams.log10_probs[some.start : some.stop].tolist()
    backoffs = grams.log10_backoffs[some.start : some.stop].tolist()
    texts = (" ".join([words[i] for i in gram]) for gram in ids.tolist())
    digits = 9 if grams.log10_probs.dtype == np.float32 else 8  # nine tell all single floats apart
    if not with_backoff:
        return "".join(f"{p:.{digits}g}\t{text}\n" for p, text in zip(probs, texts, strict=True))
    rows = zip(probs, texts, backoffs, strict=True)
    return "".join(f"{p:.{digits}g}\t{text}\t{b:.{digits}g}\n" for p, text, b in rows)


class Tree(NamedTuple):
    """Grams as `kernels.backoff.grams` has them, their counts, and the place of each in its pattern's table."""

    base: Integers
    words: Integers
    children: Integers
    counts: Integers
    numbers: list[Integers]


def contiguous_tree(model: Model) -> Tree:
    """The tables of the contiguous patterns, sorted by word below each gram."""
    words, counts, sizes, numbers = [], [], [], [np.arange(1)]
    for pattern in map(Pattern.contiguous, range(model.order)):
        grams, begins = model.counts.grams(pattern), model.counts.contexts(pattern) >> ROW_BITS
        n = np.diff(begins)[numbers[-1]]
        unsorted = np.arange(grams.size) + np.repeat(begins[:-1][numbers[-1]] - np.cumsum(n) + n, n)
        numbers.append(unsorted[np.lexsort((grams[unsorted] >> COUNT_BITS, np.repeat(np.arange(n.size), n)))])
        words.append(grams[numbers[-1]] >> COUNT_BITS)
        counts.append(grams[numbers[-1]] & COUNT_MASK)
        sizes.append(n)
    base = np.cumsum([0, *map(len, words)])
    ends = base[1] + np.cumsum(np.concatenate([base[:0], *sizes[1:]]))
    children = np.concatenate([base[1:2], ends, np.full(len(words[-1]), base[-1])])
    return Tree(base, np.concatenate(words), children, np.concatenate(counts), numbers[1:])
