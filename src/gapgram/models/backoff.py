"""A backoff model: probabilities and backoffs of grams, what an ARPA file holds.

    P(w | context) = the probability of the gram, where it is there,
                     else the backoff of the context times P(w | context without its oldest word)

A context that is not there has the backoff 1. A word that is not there is `<unk>`.
"""

from __future__ import annotations

from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gapgram.arrays import Begins, Floats, Ids, Integers
from gapgram.kernels.backoff import distribution
from gapgram.kernels.backoff_text import score_line, score_positions
from gapgram.models.backoff_states import BackoffStepper
from gapgram.models.grams import Grams
from gapgram.queries.by_ids import ByIds
from gapgram.queries.language_model import Sentence
from gapgram.queries.line_scores import LineKernel
from gapgram.text.tokenisers.tokeniser import Tokeniser
from gapgram.text.vocabulary import Vocabulary


class BackoffModel(ByIds):
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
        """A prediction sees at most order - 1 earlier words."""
        return self.grams.order

    @property
    def tokeniser(self) -> Tokeniser | None:
        """That of the model that it was made from; files of backoff models have none."""
        return self._tokeniser

    @property
    def vocabulary(self) -> Vocabulary:
        """The words the model knows, and their ids."""
        return self._vocabulary

    @property
    def path(self) -> Path | None:
        """The file of the model, if it has one."""
        return self._path

    @property
    def signature(self) -> str:
        """What every figure of this model depends on."""
        return self._source

    def score_checked_ids(self, ids: Ids, begins: Begins, out: Floats | None = None) -> Floats:
        """log10 of the probability of each position of sequences of word ids; 0 for `<s>`."""
        return self.located(ids, begins, out)[0]

    def gram_lengths(self, ids: Ids) -> Integers:
        """For each word of one sequence the length of the longest gram that the model holds; 1 at least."""
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
        return score_line.bind((g.order, *figures, words.slots, words.pool, words.offsets), "", True, True)

    def distribution(self, context: Sentence = ()) -> Floats:
        """P(· | context) as an array over the ids of the vocabulary."""
        g = self.grams
        out: Floats = distribution(
            self._context_ids(context), self.order, g.base, g.words, g.children, g.log10_probs, g.log10_backoffs
        )
        return out
