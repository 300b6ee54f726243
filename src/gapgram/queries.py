"""What every model can be asked, once it can score sequences of word ids."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gapgram import corpus as text
from gapgram.errors import UsageError
from gapgram.kernels.lookup import sum_sequences
from gapgram.predict import Prediction, head_of_distribution
from gapgram.score import Perplexity
from gapgram.vocabulary import END, SPECIAL, START, Vocabulary

Ids = npt.NDArray[np.int32]
Begins = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Sentence = str | Sequence[str]

_START, _END = SPECIAL.index(START), SPECIAL.index(END)


class Queries(ABC):
    """Scores, probabilities and perplexity, with the meaning they have for `gapgram.Model`."""

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
    def score_ids(
        self, ids: npt.NDArray[np.integer[Any]], begins: npt.NDArray[np.integer[Any]], *, threads: int | None = None
    ) -> Floats:
        """log10 of the probability of each position of sequences of word ids; 0 for `<s>`."""

    @abstractmethod
    def distribution(self, context: Sentence = ()) -> Floats:
        """P(· | context) as an array over the ids of the vocabulary."""

    def predict(
        self, context: Sentence = (), k: int = 10, *, prefix: str = "", special: bool = False
    ) -> list[Prediction]:
        """The k most probable next words (`gapgram.predict`), found by looking at all words."""
        return head_of_distribution(self, context, k, prefix=prefix, special=special)

    def log10_prob(self, word: str, context: Sentence = ()) -> float:
        """log10 P(word | context); the context is a list of words, oldest first, `<s>` allowed as its first."""
        if word == START:
            raise UsageError(f"the word {START} starts a sentence and is never predicted")
        ids = np.append(self.context_ids(context), np.int32(self.vocabulary.id(word)))
        return float(self.score_ids(ids, np.array([0, ids.size]))[-1])

    def context_ids(self, context: Sentence) -> Ids:
        """The ids of the last words of a context, as many as the order lets a prediction see."""
        words = context.split() if isinstance(context, str) else list(context)
        for i, word in enumerate(words):
            if word == END or (word == START and i > 0):
                raise UsageError(f"context {' '.join(words)!r}: {START} may stand first, {END} nowhere")
        return self.vocabulary.ids(words[max(0, len(words) - self.order + 1) :])

    def score(self, sentence: Sentence, bos: bool = True, eos: bool = True) -> float:
        """log10 of the probability of a sentence, after `<s>` if `bos`, with its `</s>` if `eos`."""
        return float(self.scores(sentence, bos, eos).sum())

    def scores(self, sentence: Sentence, bos: bool = True, eos: bool = True) -> Floats:
        """log10 of the probability of each word of a sentence, and of its end if `eos`."""
        ids = self._ids(sentence, bos, eos)
        return self.score_ids(ids, np.array([0, ids.size]))[int(bos) :]

    def score_many(
        self, sentences: Iterable[Sentence], bos: bool = True, eos: bool = True, *, threads: int | None = None
    ) -> Floats:
        """The scores of many sentences."""
        parts = [self._ids(sentence, bos, eos) for sentence in sentences]
        begins = np.cumsum([0, *map(len, parts)])
        ids = np.concatenate([np.empty(0, np.int32), *parts])
        sums: Floats = sum_sequences(self.score_ids(ids, begins, threads=threads), begins)
        return sums

    def _ids(self, sentence: Sentence, bos: bool, eos: bool) -> Ids:
        blocks = text.blocks_of_sentences([sentence])
        (part,) = text.encode(blocks, self.vocabulary, keep_empty=True)
        return part.ids[0 if bos else 1 : None if eos else -1]

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
        total = known = 0.0
        for part in text.encode(blocks, self.vocabulary, rules or text.TextRules(special="unk")):
            begins = np.append(np.flatnonzero(part.ids == _START), part.ids.size)
            scores = self.score_ids(part.ids, begins, threads=threads)
            unknown = part.ids == 0
            n_words += part.ids.size - 2 * part.sentences
            n_unknown += int(unknown.sum())
            n_sentences += part.sentences
            empty += part.empty_lines
            total += float(scores.sum())
            known += float(scores[~unknown].sum())
        return Perplexity(n_words, n_unknown, n_sentences, total, known, str(self.signature), empty)
