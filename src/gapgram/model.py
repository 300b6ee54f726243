"""A frozen model: probabilities, scores, distributions, perplexity; in memory or mapped from one file."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gapgram import corpus as text
from gapgram import model_file
from gapgram.counting import checked_threads
from gapgram.counts import Counts
from gapgram.errors import ModelFileError, UsageError
from gapgram.explain import Explanation, explain
from gapgram.kernels import lookup
from gapgram.model_file import ModelParts
from gapgram.predict import Prediction, Predictor
from gapgram.score import Perplexity
from gapgram.signature import Signature
from gapgram.vocabulary import END, SPECIAL, START, Vocabulary

Ids = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Sentence = str | Sequence[str]

_START, _END = SPECIAL.index(START), SPECIAL.index(END)
_CHUNK = 1 << 15  # words that one thread scores at a time


class Model:
    """An n-gram model that may skip words. Made by `gapgram.train` or `gapgram.load`; never changed.

    >>> import gapgram
    >>> model = gapgram.train(sentences=["the cat sat", "the dog sat", "a cat ran"] * 9, order=3, model="mkn")
    >>> model.order, "cat" in model.vocabulary
    (3, True)
    >>> float(model.distribution(["the"]).sum().round(9))
    1.0
    >>> model.score("the cat sat") > model.score("sat cat the")
    True
    """

    def __init__(self, parts: ModelParts, path: Path | None = None) -> None:
        self._parts, self._path = parts, path
        for array in parts.arrays().values():
            array.flags.writeable = False

    @classmethod
    def load(cls, path: str | Path, *, verify: bool | None = None) -> Model:
        """Map a model file. Large files are checked in full only if `verify`."""
        return cls(model_file.read(path, verify=verify), Path(path).resolve())

    def save(self, path: str | Path) -> None:
        """Write the model to one file, aside and renamed."""
        model_file.write(path, self._parts)
        self._path = Path(path).resolve()

    def __reduce__(self) -> tuple[Any, ...]:
        if self._path is None:
            raise ModelFileError("a model is pickled by the path of its file: save it first")
        return type(self).load, (str(self._path),)

    @property
    def path(self) -> Path | None:
        """The file of the model, once it has one."""
        return self._path

    @property
    def order(self) -> int:
        """A prediction sees at most order - 1 earlier words."""
        return self.counts.lattice.order

    @property
    def counts(self) -> Counts:
        """The counts the model was made from."""
        return self._parts.counts

    @property
    def parts(self) -> ModelParts:
        """Everything the model file holds."""
        return self._parts

    @property
    def vocabulary(self) -> Vocabulary:
        """The words the model knows, and their ids."""
        return self.counts.vocabulary

    @property
    def name(self) -> str:
        """The estimator: `mkn` or `glm`."""
        return self._parts.name

    @property
    def signature(self) -> Signature:
        """What every figure of this model depends on."""
        lattice, info = self.counts.lattice, self.counts.text
        return Signature(
            order=self.order,
            model=self.name,
            lattice=str(lattice).replace(" ", ",") if lattice.name == "custom" else lattice.name,
            weights=self._parts.weights.name,
            discounts=str(self._parts.discounts),
            vocabulary=info.rule,
            corpus=info.digest,
        )

    @cached_property
    def arrays(self) -> tuple[npt.NDArray[Any], ...]:
        """What the lookup kernels take; see `kernels.lookup.MODEL_ARRAYS`."""
        arrays = self._parts.arrays()
        return tuple(arrays[name] for name in lookup.MODEL_ARRAYS)

    @cached_property
    def uniform(self) -> float:
        """The probability of a word when nothing is known: `<s>` is never predicted."""
        return 1.0 / (len(self.vocabulary) - 1)

    def log10_prob(self, word: str, context: Sentence = ()) -> float:
        """log10 P(word | context); the context is a list of words, oldest first, `<s>` allowed as its first."""
        if word == START:
            raise UsageError(f"the word {START} starts a sentence and is never predicted")
        ids = np.append(self.context_ids(context), np.int32(self.vocabulary.id(word)))
        return float(self._positions(ids, np.array([0, ids.size]))[-1])

    def distribution(self, context: Sentence = ()) -> Floats:
        """P(· | context) as an array over the ids of the vocabulary; it sums to one."""
        ids = np.append(self.context_ids(context), np.int32(0))
        out: Floats = lookup.distribution(ids, self.order, self.uniform, self.arrays)
        return out

    @cached_property
    def _predictor(self) -> Predictor:
        return Predictor(self)

    def predict(
        self, context: Sentence = (), k: int = 10, *, prefix: str = "", special: bool = False
    ) -> list[Prediction]:
        """The k most probable next words, exactly; only those that start with `prefix`.

        special: `<unk>` and `</s>` may be among them.
        """
        return self._predictor.predict(context, k, prefix=prefix, special=special)

    def explain(self, context: Sentence, word: str) -> Explanation:
        """Where P(word | context) comes from: what each pattern of the lattice contributes."""
        return explain(self, word, context)

    def context_ids(self, context: Sentence) -> Ids:
        """The ids of the last words of a context, as many as the order lets a prediction see."""
        words = [w.decode() for w in context.encode().split()] if isinstance(context, str) else list(context)
        for i, word in enumerate(words):
            if word == END or (word == START and i > 0):
                raise UsageError(f"context {' '.join(words)!r}: {START} may stand first, {END} nowhere")
        return self.vocabulary.ids(words[max(0, len(words) - self.order + 1) :])

    def score(self, sentence: Sentence, bos: bool = True, eos: bool = True) -> float:
        """log10 of the probability of a sentence.

        bos: the sentence starts after `<s>`; otherwise nothing is known before its first word.
        eos: the end of the sentence, `</s>`, is predicted too.
        """
        return float(self.score_many([sentence], bos, eos, threads=1)[0])

    def scores(self, sentence: Sentence, bos: bool = True, eos: bool = True) -> Floats:
        """log10 of the probability of each word of a sentence, and of its end if `eos`."""
        ids, begins = self.sequences([sentence], bos, eos)
        return self._positions(ids, begins)[int(bos) :]

    def score_many(
        self, sentences: Iterable[Sentence], bos: bool = True, eos: bool = True, *, threads: int | None = None
    ) -> Floats:
        """The scores of many sentences, on all cores."""
        ids, begins = self.sequences(sentences, bos, eos)
        sums: Floats = lookup.sum_sequences(self._positions(ids, begins, threads), begins)
        return sums

    def score_ids(
        self, ids: npt.NDArray[np.integer[Any]], begins: npt.NDArray[np.integer[Any]], *, threads: int | None = None
    ) -> Floats:
        """log10 of the probability of each position of sequences of word ids.

        Sequence s is ids[begins[s]:begins[s+1]]; it may start with the id of `<s>`, whose own score is 0.
        """
        stream, bounds = np.asarray(ids), np.asarray(begins)
        _check_ids(stream, bounds, len(self.vocabulary))
        return self._positions(stream.astype(np.int32, copy=False), bounds.astype(np.int64, copy=False), threads)

    def perplexity(
        self,
        texts: text.Paths | None = None,
        *,
        sentences: Iterable[Sentence] | None = None,
        rules: text.TextRules | None = None,
        threads: int | None = None,
        shown: bool = False,
    ) -> Perplexity:
        """The perplexity of text files, or of sentences in memory."""
        if (texts is None) == (sentences is None):
            raise UsageError("perplexity: give text files or sentences, one of the two")
        if sentences is not None:
            blocks = text.blocks_of_sentences(sentences)
        else:
            blocks = text.blocks_of_files(texts or [], title="scoring", shown=shown)
        n_words = n_unknown = n_sentences = empty = 0
        total: list[Floats] = []
        known: list[Floats] = []
        for part in text.encode(blocks, self.vocabulary, rules or text.TextRules(special="unk")):
            begins = sentence_begins(part.ids)
            scores = self._positions(part.ids, begins, threads)
            unknown = part.ids == 0
            n_words += part.ids.size - 2 * part.sentences
            n_unknown += int(unknown.sum())
            n_sentences += part.sentences
            empty += part.empty_lines
            total.append(lookup.sum_sequences(scores, begins))
            known.append(lookup.sum_sequences(np.where(unknown, 0.0, scores), begins))
        # Rounded once, so that the sum does not depend on how the text was cut into parts.
        sums = math.fsum(chain.from_iterable(total)), math.fsum(chain.from_iterable(known))
        return Perplexity(n_words, n_unknown, n_sentences, *sums, str(self.signature), empty)

    def sequences(self, sentences: Iterable[Sentence], bos: bool, eos: bool) -> tuple[Ids, npt.NDArray[np.int64]]:
        """(ids, begins) of sentences, as `score_ids` takes them; a sentence may have no words."""
        blocks = text.blocks_of_sentences(sentences)
        parts = [part.ids for part in text.encode(blocks, self.vocabulary, keep_empty=True)]
        ids = np.concatenate([np.empty(0, np.int32), *parts])
        begins = sentence_begins(ids)
        n = np.arange(begins.size)
        if not bos:
            ids, begins = ids[ids != _START], begins - n
        if not eos:
            ids, begins = ids[ids != _END], begins - n
        return ids, begins

    def _positions(self, ids: Ids, begins: npt.NDArray[np.int64], threads: int | None = 1) -> Floats:
        """log10 of the probability of every position, in chunks of whole sequences, a chunk a thread."""
        threads = checked_threads(threads)
        out = np.empty(ids.size)
        available = lookup.availability(ids, begins, self.order)

        def work(bounds: tuple[int, int]) -> None:
            a, b = bounds
            lookup.score_positions(ids[a:b], available[a:b], self.uniform, self.arrays, out[a:b])

        chunks = _chunks(begins)
        if threads == 1 or len(chunks) == 1:
            for chunk in chunks:
                work(chunk)
        else:
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(work, chunks))
        return out

    def __repr__(self) -> str:
        return f"<Model {self.signature}>"


def sentence_begins(ids: Ids) -> npt.NDArray[np.int64]:
    """Where the sentences of an encoded text begin, and its end."""
    return np.append(np.flatnonzero(ids == _START), ids.size)


def _chunks(begins: npt.NDArray[np.int64]) -> list[tuple[int, int]]:
    """Bounds of runs of whole sequences, each of about as many words as a thread takes at a time."""
    goals = np.arange(0, int(begins[-1]), _CHUNK)
    cuts = np.unique(np.append(begins[np.searchsorted(begins, goals)], begins[-1])).tolist()
    return list(pairwise(cuts))


def _check_ids(ids: npt.NDArray[Any], begins: npt.NDArray[Any], n_words: int) -> None:
    if ids.size and not np.issubdtype(ids.dtype, np.integer):
        raise UsageError(f"word ids: expected whole numbers, found {ids.dtype}")
    if begins.size and not np.issubdtype(begins.dtype, np.integer):
        raise UsageError(f"begins: expected whole numbers, found {begins.dtype}")
    if begins.size == 0 or begins[0] != 0 or begins[-1] != ids.size or np.any(np.diff(begins) < 0):
        raise UsageError("begins: expected where each sequence begins, rising from 0, and last the number of ids")
    if ids.size and not (ids.min() >= 0 and ids.max() < n_words):
        raise UsageError(f"word ids: expected 0 to {n_words - 1}, found {ids.min()} to {ids.max()}")
    starts = np.flatnonzero(ids == _START)
    if not np.isin(starts, begins[:-1]).all():
        raise UsageError(f"word ids: {START} (id {_START}) may only begin a sequence")
