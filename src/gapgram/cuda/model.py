"""A model on a card: `Model.on("cuda")`."""

from __future__ import annotations

import math
import sys
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from gapgram.arrays import Begins, Floats, Ids, Integers
from gapgram.cuda.card import THREADS, find_card, find_cupy, held_on_card, on_cpu, stream_of
from gapgram.errors import DeviceError, UsageError
from gapgram.kernels.probability.query import only_chains
from gapgram.kernels.tables.model_arrays import ModelArrays
from gapgram.kernels.text.special_words import START_ID
from gapgram.kernels.text.words import SKIP_SPECIAL
from gapgram.queries.language_model import LanguageModel, Sentence, checked_columns, unit_of
from gapgram.queries.line_scores import ScoredLines
from gapgram.queries.predict import Prediction
from gapgram.queries.states import Stepper
from gapgram.text.corpus import QUERY_RULES, SPECIAL_RULES, TextRules, checked_text
from gapgram.text.files import Block
from gapgram.text.rules import special_word

_PIECE_BYTES = 1 << 25  # of text that the card takes at a time
_SMALL_BYTES, _MOST_SMALL = 1 << 24, 16  # of arrays that numba-cuda is shown once


class CardModel(LanguageModel):
    """A model whose arrays lie in the memory of a card, which scores texts and batches of states.

    Scores equal those of the model itself to about 1e-15: exponentials and logarithms are rounded otherwise. What is
    asked of one word or one context is answered by the model itself, on the CPU.
    """

    piece_bytes = _PIECE_BYTES
    run_words = sys.maxsize  # all that there are: the card works on many side by side

    def __init__(self, model: LanguageModel, arrays: ModelArrays) -> None:
        """arrays: of the model, in the fast layout."""
        self._cuda, (self._xp, free) = find_card(), find_cupy()
        from gapgram.cuda.buffer import packed
        from gapgram.cuda.lookup import Shape
        from gapgram.cuda.scoring import CardScorer

        self._model, self._vocabulary, self._path = model, model.vocabulary, model.path
        self._tokeniser, self._splitting, self._spelling = model.tokeniser, model.splitting, model.spelling
        self._shape = Shape(
            arrays.discounts.shape[0], arrays.order, bool(only_chains(arrays.edge_base)),
            arrays.starts.size == arrays.start_base.size - 1, arrays.gate_table.size > 0,
            arrays.given_class.size // max(arrays.tables.word_counts.size, 1),
        )  # fmt: skip
        self._fast, self._small = arrays, dict[tuple[int, tuple[int, ...]], Any]()
        held = packed(arrays)
        if held.nbytes > free:
            raise DeviceError(f"device cuda: the model has {held.nbytes:,} bytes, and {free:,} are free there")
        self._buffer = self._cuda.to_device(held)
        self._scorer = CardScorer(self._buffer, self._shape)

    @property
    def order(self) -> int:
        return self._model.order

    @property
    def signature(self) -> object:
        return self._model.signature

    def log10_prob(self, word: str, context: Sentence = (), *, open_vocabulary: bool = False) -> float:
        return self._model.log10_prob(word, context, open_vocabulary=open_vocabulary)

    def distribution(self, context: Sentence = ()) -> Floats:
        return self._model.distribution(context)

    def predict(
        self, context: Sentence = (), k: int = 10, *, prefix: str = "", special: bool = False
    ) -> list[Prediction]:
        return self._model.predict(context, k, prefix=prefix, special=special)

    @property
    def _stepper(self) -> Stepper:
        """Steps of states that the CPU holds; `step` is for those on the card."""
        return self._model._stepper

    def gram_lengths(self, ids: Ids) -> Integers:
        return self._model.gram_lengths(ids)

    def line_score(self, line: bytes, bos: bool = True, eos: bool = True) -> float | None:
        """One line is scored by the CPU: the way to the card takes longer."""
        return self._model.line_score(line, bos, eos)

    def score_checked_ids(self, ids: Ids, begins: Begins, out: Floats | None = None) -> Floats:
        starts_here = np.zeros(ids.size, np.uint8)
        starts_here[begins[:-1][begins[:-1] < ids.size]] = 1
        scores: Floats = on_cpu(self.score_on_card(np.ascontiguousarray(ids, np.int32), starts_here))
        if out is None:
            return scores
        out[:] = scores
        return out

    def score_on_card(self, ids: Any, starts_here: Any) -> Any:
        """log10 of the probability of every position, left on the card.

        ids: int32, starts_here: uint8, 1 where a sequence begins: arrays of the card (`held_on_card` says which) or of
        the CPU. Nothing is checked.
        """
        with stream_of(self._xp, ids, starts_here) as stream:
            out = self._xp.empty(len(ids), np.float64)
            self._scorer.score(self._seen(ids), self._seen(starts_here), self._seen(out), self._on(stream))
        return out

    def _seen(self, array: Any) -> Any:
        """An array of the card as numba-cuda has it, without a copy; one of the CPU is copied."""
        held = held_on_card(self._xp, array)
        if isinstance(held, np.ndarray):
            return held
        key = held.data.ptr, held.shape
        seen = self._small.get(key)  # to make one takes longer than a step
        if seen is None or seen.dtype != held.dtype:
            seen = self._cuda.as_cuda_array(held, sync=False)
            if held.nbytes < _SMALL_BYTES:
                if len(self._small) >= _MOST_SMALL:
                    self._small.clear()
                self._small[key] = seen  # holds the array: its place is not given to another
        return seen

    def score_block(
        self, block: Block, rules: TextRules = QUERY_RULES, *, bos: bool = True, eos: bool = True
    ) -> ScoredLines:
        """Score lines as they are read from a text: bytes to the card, scores back."""
        from gapgram.cuda.encoding import encode_on_card, sum_lines

        block = self.tokenised(block, rules)
        special, data = SPECIAL_RULES[rules.special], checked_text(block, rules)
        if special == SKIP_SPECIAL or not data.size:
            return self._model.score_block(block, rules, bos=bos, eos=eos)
        encoded = encode_on_card(self._cuda.to_device(data), self._words, special, bos=bos, eos=eos)
        if isinstance(encoded, int):
            line_begin = int(np.flatnonzero(np.append(10, data[:encoded]) == 10)[-1])
            raise special_word(block, data, line_begin, rules)
        scores = self.score_on_card(encoded.ids, encoded.starts_here)
        n_lines = encoded.begins.size - 1
        sums = self._cuda.device_array(n_lines, np.float64)
        sum_lines[-(-n_lines // THREADS), THREADS](self._seen(scores), encoded.begins, sums)
        ids, begins, of_lines = (a.copy_to_host() for a in (encoded.ids, encoded.begins, sums))
        return ScoredLines(ids, on_cpu(scores), begins, of_lines, block)

    @cached_property
    def _words(self) -> Any:
        from gapgram.cuda.encoding import WordsOnCard

        words = self.vocabulary
        arrays = words.slots, words.pool, words.offsets
        return WordsOnCard(*(self._cuda.to_device(np.ascontiguousarray(array)) for array in arrays))

    def new_states(self, n: int, *, bos: bool = True) -> Any:
        """n states on the card for `step`: at the beginning of a sentence, or, without `bos`, where nothing is known.

        int32 [state, order]: how many words are known, and these, the nearest first. An array of CuPy, as all that is
        given back; PyTorch and JAX take it by DLPack.
        """
        states = np.full((n, self.order), -1, np.int32)
        states[:, 0] = int(bos and self.order > 1)
        if bos and self.order > 1:
            states[:, 1] = START_ID
        return self._xp.asarray(states)

    def step(self, states: Any, words: Any, *, out: tuple[Any, Any] | None = None) -> tuple[Any, Any]:
        """(log10 of the probability of words[s] after states[s], the states after the words), all on the card.

        states: int32 [state, order] as `new_states` gives them. words: int32 [state]. Both may be any array of a card
        (`held_on_card` says which); the work is done on the caller's stream.
        out: where to write the two answers, float64 [state] and int32 [state, order].
        """
        stream = stream_of(self._xp, states, words)
        with stream:
            held, words = self._held(states, np.int32, "states"), self._held(words, np.int32, "words")
            if held.ndim != 2 or held.shape != (words.size, self.order):
                raise UsageError(
                    f"states of shape {list(held.shape)} and {words.size} words: expected [{words.size}, {self.order}]"
                )
            n, new = words.size, self._xp.empty
            scores, after = out if out is not None else (new(n, np.float64), new((n, self.order), np.int32))
            results = self._written(scores, np.float64, (n,)), self._written(after, np.int32, (n, self.order))
            if n:
                kernel, each = self._stepping
                arguments = map(self._seen, (held, words, *results))
                kernel[-(-n // each), self._shape.threads, self._on(stream)](self._buffer, *arguments)
        return scores, after

    def _on(self, stream: Any) -> Any:
        """A stream of CuPy's as numba-cuda has it."""
        return self._cuda.external_stream(stream.ptr) if stream.ptr else 0

    @cached_property
    def _stepping(self) -> tuple[Any, int]:
        """The kernel of `step`, and how many states a block of it takes."""
        from gapgram.cuda.scoring import states_a_block, step_kernel

        return step_kernel(self._shape), states_a_block(self._shape)

    def _held(self, array: Any, dtype: Any, name: str) -> Any:
        """An array of the card, without a copy; one of the CPU is copied."""
        held = held_on_card(self._xp, array)
        if held.dtype != dtype:
            raise UsageError(f"{name} of type {held.dtype}: expected {np.dtype(dtype)}")
        return self._xp.ascontiguousarray(held)

    def _written(self, out: Any, dtype: Any, shape: tuple[int, ...]) -> Any:
        """An array of the card that answers are written to."""
        held = held_on_card(self._xp, out)
        is_copy = isinstance(out, np.ndarray) and held is not out
        if held.dtype != dtype or held.shape != shape or not held.flags.c_contiguous or is_copy:
            raise UsageError(
                f"out of shape {list(held.shape)} and type {held.dtype}: expected {list(shape)}, {np.dtype(dtype)}, "
                "without gaps, on the card"
            )
        return held

    def next_scores(
        self, states: Any, *, words: Ids | None = None, out: Any = None, dtype: npt.DTypeLike = np.float64,
        base: float = 10.0,
    ) -> Any:  # fmt: skip
        """[state, word] on the card: the logarithm of the probability of every next word; minus infinity for `<s>`.

        states: as for `step`. words: ids of the words that are asked for, such as `token_words`; all of the vocabulary
        by default. out: where to write; without it, a new array of this dtype, float64 (to 1e-8) or float32 (to 1e-5).
        base: of the logarithms.
        """
        unit = unit_of(base) / unit_of(math.e)
        with stream_of(self._xp, states) as stream:
            held = self._held(states, np.int32, "states")
            if held.ndim != 2 or held.shape[1] != self.order:
                raise UsageError(f"states of shape {list(held.shape)}: expected [state, {self.order}]")
            kind = held_on_card(self._xp, out).dtype if out is not None else np.dtype(dtype)
            if kind not in (np.float32, np.float64):
                raise UsageError(f"probabilities of type {kind}: expected float32 or float64")
            asked = self._asked(kind.name, None if words is None else words.tobytes())
            shape = len(held), asked.n_columns
            scores = self._xp.empty(shape, kind) if out is None else out
            written = self._written(scores, kind, shape)
            asked(len(held), 0, written, 0, rows=held, unit=unit, stream=stream)
        return scores

    @lru_cache(maxsize=8)  # noqa: B019 - as long as the model
    def _asked(self, kind: str, words: bytes | None) -> Any:
        """What finds all next words, or some, in float32 or float64."""
        from gapgram.cuda.next_words import NextWords

        n = len(self.vocabulary)
        ids = np.arange(n) if words is None else checked_columns(np.frombuffer(words, np.int32), n)
        return NextWords(self._arrays, np.where(ids == START_ID, -1, ids), None, kind)

    @cached_property
    def _arrays(self) -> Any:
        """The arrays of the model as `NextWords` reads them."""
        from gapgram.cuda.next_words import HeldArrays

        return HeldArrays(self._xp, self._fast)

    def likely_words(self, states: Any, k: int = 10) -> tuple[Any, Any]:
        """(log10 of the probabilities, float64 [state, k], words, int64 [state, k]): the most probable next words.

        Words as probable as each other come by their ids; k is at most the size of the vocabulary.
        """
        if not 1 <= k <= len(self.vocabulary):
            raise UsageError(f"k {k}: expected 1 to {len(self.vocabulary)} words")
        with stream_of(self._xp, states):
            scores = self.next_scores(states)
            words = self._xp.argsort(-scores, axis=1, kind="stable")[:, :k]
            return self._xp.take_along_axis(scores, words, axis=1), words

    def __repr__(self) -> str:
        return f"<CardModel {self.signature}>"
