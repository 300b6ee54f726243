"""A model on a card: `Model.on("cuda")`."""

from __future__ import annotations

import sys
from functools import cached_property
from typing import Any

import numpy as np

from gapgram.arrays import Begins, Floats, Ids, Integers
from gapgram.cuda.card import THREADS, find_card, held_on_card
from gapgram.errors import UsageError
from gapgram.kernels.probability.chains import only_chains
from gapgram.kernels.tables.model_arrays import ModelArrays
from gapgram.kernels.text.special_words import START_ID
from gapgram.kernels.text.words import SKIP_SPECIAL
from gapgram.queries.language_model import LanguageModel, Sentence
from gapgram.queries.line_scores import ScoredLines
from gapgram.queries.predict import Prediction
from gapgram.queries.states import Stepper
from gapgram.text.corpus import QUERY_RULES, SPECIAL_RULES, TextRules, checked_text
from gapgram.text.files import Block
from gapgram.text.refused import special_word

_PIECE_BYTES = 1 << 25  # of text that the card takes at a time


class CardModel(LanguageModel):
    """A model whose arrays lie in the memory of a card, which scores texts and batches of states.

    Scores equal those of the model itself to about 1e-15: exponentials and logarithms are rounded otherwise. What is
    asked of one word or one context is answered by the model itself, on the CPU.
    """

    piece_bytes = _PIECE_BYTES
    run_words = sys.maxsize  # all that there are: the card works on many side by side

    def __init__(self, model: LanguageModel, arrays: ModelArrays) -> None:
        """arrays: of the model, in the fast layout."""
        self._cuda = find_card()
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
        self._n_classes = max(arrays.member_base.size - 1, 0)
        self._buffer = self._cuda.to_device(packed(arrays))
        self._scorer = CardScorer(self._buffer, self._shape)

    @property
    def order(self) -> int:
        """A prediction sees at most order - 1 earlier words."""
        return self._model.order

    @property
    def signature(self) -> object:
        """What every figure of this model depends on."""
        return self._model.signature

    def log10_prob(self, word: str, context: Sentence = (), *, open_vocabulary: bool = False) -> float:
        """log10 P(word | context)."""
        return self._model.log10_prob(word, context, open_vocabulary=open_vocabulary)

    def distribution(self, context: Sentence = ()) -> Floats:
        """P(· | context) as an array over the ids of the vocabulary."""
        return self._model.distribution(context)

    def predict(
        self, context: Sentence = (), k: int = 10, *, prefix: str = "", special: bool = False
    ) -> list[Prediction]:
        """The k most probable next words."""
        return self._model.predict(context, k, prefix=prefix, special=special)

    @property
    def _stepper(self) -> Stepper:
        """Steps of states that the CPU holds; `step` is for those on the card."""
        return self._model._stepper

    def gram_lengths(self, ids: Ids) -> Integers:
        """For each word of one sequence the length of the longest contiguous gram that the model holds."""
        return self._model.gram_lengths(ids)

    def line_score(self, line: bytes, bos: bool = True, eos: bool = True) -> float | None:
        """One line is scored by the CPU: the way to the card takes longer."""
        return self._model.line_score(line, bos, eos)

    def score_checked_ids(self, ids: Ids, begins: Begins, out: Floats | None = None) -> Floats:
        """log10 of the probability of every position."""
        starts_here = np.zeros(ids.size, np.uint8)
        starts_here[begins[:-1][begins[:-1] < ids.size]] = 1
        scores: Floats = self.score_on_card(np.ascontiguousarray(ids, np.int32), starts_here).copy_to_host(out)
        return scores

    def score_on_card(self, ids: Any, starts_here: Any) -> Any:
        """log10 of the probability of every position, left on the card.

        ids: int32, starts_here: uint8, 1 where a sequence begins: arrays of the card (`held_on_card` says which) or of
        the CPU. Nothing is checked.
        """
        out = self._cuda.device_array(len(ids), np.float64)
        self._scorer.score(self._held(ids), self._held(starts_here), out)
        return out

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
        sum_lines[-(-n_lines // THREADS), THREADS](scores, encoded.begins, sums)
        ids, on_host, begins, of_lines = (a.copy_to_host() for a in (encoded.ids, scores, encoded.begins, sums))
        return ScoredLines(ids, on_host, begins, of_lines, block)

    @cached_property
    def _words(self) -> Any:
        from gapgram.cuda.encoding import WordsOnCard

        words = self.vocabulary
        arrays = words.slots, words.pool, words.offsets
        return WordsOnCard(*(self._cuda.to_device(np.ascontiguousarray(array)) for array in arrays))

    def new_states(self, n: int, *, bos: bool = True) -> Any:
        """n states on the card for `step`: at the beginning of a sentence, or, without `bos`, where nothing is known.

        int32 [state, order]: how many words are known, and these, the nearest first.
        """
        states = np.full((n, self.order), -1, np.int32)
        states[:, 0] = int(bos and self.order > 1)
        if bos and self.order > 1:
            states[:, 1] = START_ID
        return self._cuda.to_device(states)

    def step(self, states: Any, words: Any, *, out: tuple[Any, Any] | None = None) -> tuple[Any, Any]:
        """(log10 of the probability of words[s] after states[s], the states after the words), all on the card.

        states: int32 [state, order] as `new_states` gives them. words: int32 [state]. Both may be any array of a card
        (`held_on_card` says which).
        out: where to write the two answers, float64 [state] and int32 [state, order], which spares making new arrays.
        """
        states, words = self._held(states), self._held(words)
        if states.ndim != 2 or states.shape != (words.size, self.order):
            raise UsageError(
                f"states of shape {states.shape} and {words.size} words: expected [{words.size}, {self.order}]"
            )
        n, new = words.size, self._cuda.device_array
        scores, after = out if out is not None else (new(n, np.float64), new((n, self.order), np.int32))
        if n:
            kernel, each = self._stepping
            kernel[-(-n // each), self._shape.threads](
                self._buffer, states, words, self._held(scores), self._held(after)
            )
        return scores, after

    @cached_property
    def _stepping(self) -> tuple[Any, int]:
        """The kernel of `step`, and how many states a block of it takes."""
        from gapgram.cuda.stepping import states_a_block, step_kernel

        return step_kernel(self._shape), states_a_block(self._shape)

    def _held(self, array: Any) -> Any:
        """An array of the card as kernels take it, without a copy; one of the CPU is copied."""
        return held_on_card(self._cuda, array)

    def next_scores(self, states: Any) -> Any:
        """float64 [state, word]: log10 of the probability of every next word after each state, on the card."""
        from gapgram.cuda.stepping import lists_kernel, spread_kernel, states_a_block

        states, shape = self._held(states), self._shape
        if states.ndim != 2 or states.shape[1] != self.order:
            raise UsageError(f"states of shape {states.shape}: expected [state, {self.order}]")
        n, new = states.shape[0], self._cuda.device_array
        begins, sizes = new((n, shape.n_patterns), np.int64), new((n, shape.n_patterns), np.int64)
        scales, floors = new((n, shape.n_patterns), np.float64), new(n, np.float64)
        masses, out = new((n, self._n_classes), np.float64), new((n, len(self.vocabulary)), np.float64)
        if n:
            blocks = -(-n // states_a_block(shape))
            lists_kernel(shape)[blocks, shape.threads](self._buffer, states, begins, sizes, scales, floors)
            spread_kernel(shape)[n, THREADS](self._buffer, begins, sizes, scales, floors, masses, out)
        return out

    def __repr__(self) -> str:
        return f"<CardModel {self.signature}>"
