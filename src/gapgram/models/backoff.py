"""A backoff model: probabilities and backoffs of grams, what an ARPA file holds.

    P(w | context) = the probability of the gram, where it is there,
                     else the backoff of the context times P(w | context without its oldest word)

A context that is not there has the backoff 1. A word that is not there is `<unk>`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gapgram import sections
from gapgram.arrays import Begins, Floats, Ids, Integers
from gapgram.counts.check_meaning import MAX_GRAMS_CHECKED_ON_OPENING
from gapgram.kernels.backoff import grams as kernels
from gapgram.kernels.backoff.grams import distribution
from gapgram.kernels.backoff.score import score_line, score_positions
from gapgram.kernels.compiled import bind
from gapgram.kernels.text.special_words import START_ID
from gapgram.models.grams import Grams, warn_of_sums
from gapgram.queries.language_model import LanguageModel, Sentence
from gapgram.queries.line_scores import LineKernel
from gapgram.queries.state_rows import ArrayRows, StateRows
from gapgram.queries.states import Stepper
from gapgram.system import array_file
from gapgram.system.array_file import FilePart
from gapgram.system.array_reading import plain, reading
from gapgram.system.section_rules import Arrays
from gapgram.text.tokenisers.tokeniser import Tokeniser
from gapgram.text.vocabulary import Vocabulary


class BackoffModel(LanguageModel):
    """A model read from an ARPA file, or made from a modified Kneser-Ney model.

    It answers what `gapgram.Model` answers; its distributions sum to one as exactly as the file's figures do.

    grams: with every end of a gram among them (`models.grams.closed`).
    path: of the file that `gapgram.load` opens as this model; by it the model is pickled, if it has one.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        grams: Grams,
        source: str,
        path: Path | None = None,
        *,
        tokeniser: Tokeniser | None = None,
    ) -> None:
        self._vocabulary, self.grams, self._source, self._path = vocabulary, grams, source, path
        self._tokeniser = tokeniser

    def __reduce__(self) -> tuple[Any, ...]:
        if self._path is not None:
            return import_module("gapgram.models.open").load, (str(self._path),)  # which knows this kind and others
        return type(self), (self._vocabulary, self.grams, self._source)

    @cached_property
    def _stepper(self) -> BackoffStepper:
        return BackoffStepper(self.grams)

    @property
    def order(self) -> int:
        return self.grams.order

    @property
    def signature(self) -> str:
        return self._source

    def score_checked_ids(self, ids: Ids, begins: Begins, out: Floats | None = None) -> Floats:
        return self.located(ids, begins, out)[0]

    def gram_lengths(self, ids: Ids) -> Integers:
        return self.located(ids, np.array([0, ids.size]))[1]

    def located(
        self,
        ids: npt.NDArray[np.integer[Any]],
        begins: npt.NDArray[np.integer[Any]],
        out: Floats | None = None,
    ) -> tuple[Floats, Integers]:
        """(log10 of the probability, length of the gram that it comes from) of each position.

        out: where the former is written; without it, a new array.
        """
        stream, bounds, g = np.asarray(ids, np.int32), np.asarray(begins, np.int64), self.grams
        out, lengths = np.empty(stream.size) if out is None else out, np.empty(stream.size, np.int64)
        score_positions(
            stream, bounds, self.order, g.words, g.children, g.log10_probs, g.log10_backoffs, out, lengths
        )
        return out, lengths

    @cached_property
    def _score_line(self) -> LineKernel:
        words, g = self._vocabulary, self.grams
        figures = g.words, g.children, g.log10_probs, g.log10_backoffs
        return bind(score_line, (g.order, *figures, words.slots, words.pool, words.offsets))

    def distribution(self, context: Sentence = ()) -> Floats:
        g = self.grams
        out: Floats = distribution(
            self._context_ids(context), self.order, g.base, g.words, g.children, g.log10_probs, g.log10_backoffs
        )
        return out


class BackoffStepper(Stepper):
    """Steps of one backoff model. A key holds the numbers of the grams that the words so far end in, shortest first."""

    def __init__(self, grams: Grams) -> None:
        none = np.empty(0, np.int32 if len(grams.words) < 1 << 31 else np.int64)
        figures = grams.log10_probs, grams.log10_backoffs
        self._grams, self._kind = (grams.order, grams.words, grams.children, *figures), none.dtype
        self.one, self.null = bind(kernels.extend_one, (*self._grams, none)), b""
        self.beginning = self.one(self.null, START_ID)[2]

    def many(self, keys: Sequence[bytes], words: Ids, threads: int) -> tuple[Floats, list[bytes]]:
        steps = [self.checked(key, word) for key, word in zip(keys, words.tolist(), strict=True)]
        return np.array([score for score, _, _ in steps]), [key for _, _, key in steps]

    def rows(self) -> StateRows:
        step = partial(kernels.extend_rows, *self._grams)
        return ArrayRows(step, self._grams[0], self._kind, of_any_length=True)


def write_backoff(model: BackoffModel, path: str | Path) -> None:
    """Write a backoff model to one file, aside and renamed; so no ARPA file is parsed again.

    words, word_offsets, word_slots    the vocabulary
    base, grams, children              the tree (`kernels.backoff.grams`), of children those of contexts
    log10_probs, log10_backoffs        the figures, as the model has them; backoffs are those of contexts
    """
    arrays, metadata = backoff_contents(model)
    array_file.write(path, array_file.BACKOFF, metadata, arrays)


def backoff_contents(model: BackoffModel) -> tuple[Arrays, dict[str, str]]:
    """(arrays, metadata) of its file."""
    grams, words = model.grams, model.vocabulary
    contexts = int(grams.base[-2])
    n = int(grams.base[-1])
    arrays: Arrays = {
        "words": words.pool,
        "word_offsets": words.offsets,
        "word_slots": words.slots,
        "base": grams.base,
        "grams": grams.words.astype(np.int32),
        "children": grams.children[: contexts + 1].astype(np.int32 if n < 1 << 31 else np.int64),
        "log10_probs": grams.log10_probs,
        "log10_backoffs": grams.log10_backoffs[:contexts],
    }
    return arrays, {"signature": str(model.signature)}


def read_backoff(path: str | Path | FilePart, *, verify: bool | None = None) -> BackoffModel:
    """Map the file of a backoff model; large ones are checked in full only if `verify`."""
    with reading(path, array_file.BACKOFF, sections.BACKOFF, verify=verify) as file:
        arrays = file.arrays
        vocabulary = Vocabulary.of_file(arrays, verify=verify)
        figures = arrays["log10_probs"], arrays["log10_backoffs"]
        grams = Grams(arrays["base"], arrays["grams"], arrays["children"], *figures)
        _check(grams, len(vocabulary))
        if verify or (verify is None and grams.words.size <= MAX_GRAMS_CHECKED_ON_OPENING):
            _check_tree(grams)
            warn_of_sums(grams, vocabulary, str(path))
        own = None if isinstance(path, FilePart) else Path(path).absolute()
        return BackoffModel(vocabulary, grams, plain(file.metadata["signature"], str), own)


def _check_tree(grams: Grams) -> None:
    """Whether the tree is one that can be searched: lists one after the other, of rising words, for every context."""
    base, words, children = grams.base, grams.words, grams.children
    if not np.array_equal(words[: base[1]], np.arange(base[1])):
        raise ValueError("words in another order than that of their ids")
    if (np.diff(children) < 0).any() or not np.array_equal(children[base[:-1]], base[1:]):
        raise ValueError("lists of grams that overlap, or are not there")
    rising = np.diff(words) >= 0  # a file may have had a gram twice
    starts: Integers = np.unique(children).astype(np.int64)
    rising[starts[(starts > 0) & (starts < words.size)] - 1] = True  # from the last of a list to the first of another
    if not rising.all():
        raise ValueError("grams in no order")


def _check(grams: Grams, n_words: int) -> None:
    """Whether the arrays fit each other; what is in the large ones kernels do not trust."""
    sizes = np.diff(grams.base)
    if len(sizes) < 1 or sizes.min() < 0 or sizes[0] != n_words or grams.base[0] != 0:
        raise ValueError("grams that do not fit the words")
    contexts, n = int(grams.base[-2]), int(grams.base[-1])
    if (len(grams.words), len(grams.log10_probs)) != (n, n):
        raise ValueError("grams without a figure")
    if grams.log10_probs.dtype != grams.log10_backoffs.dtype:
        raise ValueError("probabilities and backoffs of different types")
    if (len(grams.children), len(grams.log10_backoffs)) != (contexts + 1, contexts):
        raise ValueError("contexts without a figure")
