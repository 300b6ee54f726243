"""What every model can be asked, once it can score sequences of word ids."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from gapgram.arrays import Begins, Floats, Ids
from gapgram.errors import UsageError
from gapgram.kernels.scoring import sum_sequences
from gapgram.kernels.special_words import END, END_ID, START, START_ID
from gapgram.queries.perplexity import Perplexity
from gapgram.queries.predict import Prediction, head_of_distribution
from gapgram.queries.states import State
from gapgram.text import corpus as text
from gapgram.text.vocabulary import Vocabulary

Sentence = str | Sequence[str]

_ONE_WORD = re.compile(r"[^ \t\n\v\f\r]+")  # as text is split: by the white space of ASCII



class Queries(ABC):
    """Scores, probabilities and perplexity of a model of any kind."""

    @property
    @abstractmethod
    def order(self) -> int:
        """A prediction sees at most order - 1 earlier words."""

    @property
    @abstractmethod
    def vocabulary(self) -> Vocabulary:
        """The words the model knows, and their ids."""

    @property
    @abstractmethod
    def signature(self) -> object:
        """What every figure of this model depends on; printed in one line."""

    @abstractmethod
    def score_checked_ids(self, ids: Ids, begins: Begins, threads: int | None = 1) -> Floats:
        """As `score_ids`, of ids and begins that are known to make sense."""

    @abstractmethod
    def distribution(self, context: Sentence = ()) -> Floats:
        """P(· | context) as an array over the ids of the vocabulary."""

    def predict(
        self, context: Sentence = (), k: int = 10, *, prefix: str = "", special: bool = False
    ) -> list[Prediction]:
        """The k most probable next words (`gapgram.queries.predict`), found by looking at all words."""
        return head_of_distribution(self, context, k, prefix=prefix, special=special)

    def log10_prob(self, word: str, context: Sentence = ()) -> float:
        """log10 P(word | context); the context is a list of words, oldest first, `<s>` allowed as its first."""
        ids = np.append(self.context_ids(context), np.int32(self.word_id(word)))
        return float(self.score_checked_ids(ids, np.array([0, ids.size]))[-1])

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

    def score_words(self, sentence: Sentence, bos: bool = True, eos: bool = True) -> Floats:
        """log10 of the probability of each word of a sentence, and of its end if `eos`."""
        ids, begins = self.sequences([sentence], bos, eos)
        return self.score_checked_ids(ids, begins)[int(bos) :]

    def score_many(
        self, sentences: Iterable[Sentence], bos: bool = True, eos: bool = True, *, threads: int | None = None
    ) -> Floats:
        """The scores of many sentences, on all cores."""
        ids, begins = self.sequences(sentences, bos, eos)
        sums: Floats = sum_sequences(self.score_checked_ids(ids, begins, threads), begins)
        return sums

    def score_ids(
        self, ids: npt.NDArray[np.integer[Any]], begins: npt.NDArray[np.integer[Any]], *, threads: int | None = None
    ) -> Floats:
        """log10 of the probability of each position of sequences of word ids.

        Sequence s is ids[begins[s]:begins[s+1]]; it may start with the id of `<s>`, whose own score is 0.
        """
        stream, bounds = np.asarray(ids), np.asarray(begins)
        _check_ids(stream, bounds, len(self.vocabulary))
        return self.score_checked_ids(stream.astype(np.int32, copy=False), bounds.astype(np.int64, copy=False), threads)

    def begin_sentence(self) -> State:
        """The state at the beginning of a sentence, after `<s>`."""
        return State(np.array([START_ID], np.int32).tobytes())

    def null_context(self) -> State:
        """The state in which nothing is known of what came before."""
        return State(b"")

    def extend(self, state: State, word: str | int) -> tuple[float, State]:
        """(log10 P(word | state), the state after the word); the word may be given by its id.

        The word `</s>` ends the sentence.
        """
        scores, (after,) = self.extend_many([state], [word], threads=1)
        return float(scores[0]), after

    def extend_many(
        self, states: Sequence[State], words: Sequence[str | int] | Ids, *, threads: int | None = None
    ) -> tuple[Floats, list[State]]:
        """`extend` for many states, a word for each: (scores, states after the words)."""
        added = self.step_ids(states, words)
        sequences = [np.append(np.frombuffer(s.key, np.int32), w) for s, w in zip(states, added, strict=True)]
        begins = np.cumsum([0, *(one.size for one in sequences)])
        scores = self.score_ids(np.concatenate([np.empty(0, np.int32), *sequences]), begins, threads=threads)
        after = [State(one[max(0, one.size - self.order + 1) :].tobytes()) for one in sequences]
        return scores[begins[1:] - 1], after

    def word_id(self, word: str) -> int:
        """The id of a word that may be predicted; a context in its place is refused."""
        if not isinstance(word, str) or not _ONE_WORD.fullmatch(word):
            raise UsageError(f"the word {word!r}: expected one word, without white space; its context comes after it")
        return self.step_id(word)

    def step_id(self, word: str | int) -> int:
        """The id of a word that may be predicted."""
        found = self.vocabulary.id(word) if isinstance(word, str) else int(word)
        if found == START_ID:
            raise UsageError(f"the word {START} starts a sentence and is never predicted")
        if not 0 <= found < len(self.vocabulary):
            raise UsageError(f"word id {found}: the vocabulary has ids 0 to {len(self.vocabulary) - 1}")
        return found

    def step_ids(self, states: Sequence[State], words: Sequence[str | int] | Ids) -> Ids:
        """The ids of words that may be predicted, one for each state."""
        if isinstance(words, str) or len(words) != len(states):
            raise UsageError(f"{len(states)} states and {len(words)} words: expected a word for each state")
        if isinstance(words, np.ndarray):
            _check_ids(words, np.arange(words.size + 1), len(self.vocabulary))
            found = words.astype(np.int32, copy=False)
        else:
            found = np.array([self.step_id(word) for word in words], np.int32)
        if (found == START_ID).any():
            raise UsageError(f"the word {START} starts a sentence and is never predicted")
        return found

    def perplexity(
        self,
        texts: text.Paths | None = None,
        *,
        sentences: Iterable[Sentence] | None = None,
        rules: text.TextRules | None = None,
        threads: int | None = None,
        progress: bool = False,
    ) -> Perplexity:
        """The perplexity of text files, or of sentences in memory."""
        if (texts is None) == (sentences is None):
            raise UsageError("perplexity: give text files or sentences, one of the two")
        if sentences is not None:
            blocks = text.blocks_of_sentences(sentences)
        else:
            blocks = text.blocks_of_files(texts or [], title="scoring", progress=progress)
        n_words = n_unknown = n_sentences = empty = 0
        total: list[list[float]] = []
        known: list[list[float]] = []
        for part in text.encode(blocks, self.vocabulary, rules or text.TextRules(special="unk")):
            begins = sentence_begins(part.ids)
            scores = self.score_checked_ids(part.ids, begins, threads)
            unknown = part.ids == 0
            n_words += part.ids.size - 2 * part.sentences
            n_unknown += int(unknown.sum())
            n_sentences += part.sentences
            empty += part.empty_lines
            total.append(sum_sequences(scores, begins).tolist())
            known.append(sum_sequences(np.where(unknown, 0.0, scores), begins).tolist())
        # Rounded once, so that the sum does not depend on how the text was cut into parts.
        sums = math.fsum(chain.from_iterable(total)), math.fsum(chain.from_iterable(known))
        return Perplexity(n_words, n_unknown, n_sentences, *sums, str(self.signature), empty)

    def sequences(self, sentences: Iterable[Sentence], bos: bool, eos: bool) -> tuple[Ids, Begins]:
        """(ids, begins) of sentences, as `score_ids` takes them; a sentence may have no words."""
        blocks = text.blocks_of_sentences(sentences)
        parts = [part.ids for part in text.encode(blocks, self.vocabulary, keep_empty=True)]
        ids = np.concatenate([np.empty(0, np.int32), *parts])
        begins = sentence_begins(ids)
        n = np.arange(begins.size)
        if not bos:
            ids, begins = ids[ids != START_ID], begins - n
        if not eos:
            ids, begins = ids[ids != END_ID], begins - n
        return ids, begins


def sentence_begins(ids: Ids) -> Begins:
    """Where the sentences of an encoded text begin, and its end."""
    return np.append(np.flatnonzero(ids == START_ID), ids.size)


def _check_ids(ids: npt.NDArray[Any], begins: npt.NDArray[Any], n_words: int) -> None:
    if ids.size and not np.issubdtype(ids.dtype, np.integer):
        raise UsageError(f"word ids: expected whole numbers, found {ids.dtype}")
    if begins.size and not np.issubdtype(begins.dtype, np.integer):
        raise UsageError(f"begins: expected whole numbers, found {begins.dtype}")
    if begins.size == 0 or begins[0] != 0 or begins[-1] != ids.size or np.any(np.diff(begins) < 0):
        raise UsageError("begins: expected where each sequence begins, rising from 0, and last the number of ids")
    if ids.size and not (ids.min() >= 0 and ids.max() < n_words):
        raise UsageError(f"word ids: expected 0 to {n_words - 1}, found {ids.min()} to {ids.max()}")
    starts = np.flatnonzero(ids == START_ID)
    if not np.isin(starts, begins[:-1]).all():
        raise UsageError(f"word ids: {START} (id {START_ID}) may only begin a sequence")
