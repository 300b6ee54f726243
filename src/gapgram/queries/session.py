"""A model with a reader's memory: it learns the words it reads, and its predictions learn from them.

A session mixes the model with what was read so far (`gapgram.queries.history`). The model itself never changes. A word
that the model does not know becomes one of the session's own words once it was read: it can be predicted and completed.
Until then it has the probability of `<unk>`, of which it takes nothing afterwards; so every distribution sums to one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gapgram.arrays import Begins, Floats, Ids, Integers, Mask
from gapgram.errors import ModelFileError, UsageError
from gapgram.kernels.scoring import sum_sequences
from gapgram.kernels.special_words import END_ID, SPECIAL, START_ID, UNKNOWN_ID
from gapgram.queries.generate import generate
from gapgram.queries.history import MAX_WORDS, History, HistoryWeights, ReadSentences
from gapgram.queries.perplexity import Perplexity
from gapgram.queries.predict import Prediction, allowed, indices_of_top_k
from gapgram.system import array_file
from gapgram.text import corpus as text
from gapgram.text.files import Block, Paths, blocks_of_files
from gapgram.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from gapgram.queries.language_model import LanguageModel

Sentence = str | Sequence[str]

PIECE_BYTES = 1 << 17  # of text, scored at a time


class SessionVocabulary:
    """The words of a model and, after them, those that a session read first."""

    def __init__(self, known: Vocabulary, own: Iterable[str] = ()) -> None:
        self.known, self.own = known, list(own)
        self._ids = {word: len(known) + i for i, word in enumerate(self.own)}

    def id(self, word: str) -> int:
        """The id of a word; 0 where neither the model nor the session knows it."""
        return self.known.id(word) or self._ids.get(word, UNKNOWN_ID)

    def learned_id(self, word: str) -> int:
        """The id of a word that the model does not know; a new one where the session has not met it."""
        if word in SPECIAL:
            return UNKNOWN_ID
        if word not in self._ids:
            self._ids[word] = len(self)
            self.own.append(word)
        return self._ids[word]

    def copy(self) -> SessionVocabulary:
        """Another that can learn other words."""
        return SessionVocabulary(self.known, self.own)

    def __getitem__(self, word_id: int) -> str:
        return self.known[word_id] if word_id < len(self.known) else self.own[word_id - len(self.known)]

    def __contains__(self, word: object) -> bool:
        return word in self.known or word in self._ids

    def __iter__(self) -> Iterator[str]:
        yield from self.known
        yield from self.own

    def __len__(self) -> int:
        return len(self.known) + len(self.own)


class SourceShare(NamedTuple):
    """What the model or one view of the history says of a word.

    weight: of the source among all; probability: that it gives the word; contribution: the product.
    """

    source: str
    weight: float
    probability: float
    contribution: float


@dataclass(frozen=True)
class SessionExplanation:
    """The probability of a word after a context, by source: the model first, then the views of what was read."""

    word: str
    context: tuple[str, ...]
    probability: float
    sources: tuple[SourceShare, ...]
    words_read: int
    signature: str

    def as_dict(self) -> dict[str, Any]:
        """All figures by name, for JSON."""
        return {**asdict(self), "sources": [source._asdict() for source in self.sources]}


class _Scored(NamedTuple):
    """Lines: the session's ids, log10 of what the model gives each position, and which words the model knows."""

    text: ReadSentences
    log10_probs: Floats
    known: Mask


class Session:
    """A reader of a model. It answers what models answer, and learns.

    >>> import gapgram
    >>> model = gapgram.train(sentences=["the cat sat", "the dog sat", "a cat ran"] * 9, order=3, model="mkn")
    >>> session = model.session()
    >>> session.read(["the zebra sat", "a zebra ran"])
    >>> [p.word for p in session.predict("the", k=1, prefix="z")], model.predict("the", prefix="z")
    (['zebra'], [])
    >>> float(session.distribution("the").sum().round(9))
    1.0
    """

    def __init__(
        self, model: LanguageModel, weights: HistoryWeights, class_of: Ids, *, max_words: int = MAX_WORDS
    ) -> None:
        self.model = model
        self.vocabulary = SessionVocabulary(model.vocabulary)
        self._history = History(weights, class_of, max_words=max_words)

    # What it has read.

    def read(self, sentences: str | Iterable[Sentence]) -> None:
        """Learn a text, a line a sentence, or sentences."""
        for block in _blocks(sentences):
            encoded = text.encode_block(block, self.model.vocabulary, text.QUERY_RULES)
            begins = text.sentence_begins(encoded.ids)
            lines = [line for line in block.data.split(b"\n") if line.split()]
            self._history.read(ReadSentences(self._own_ids(encoded.ids, begins, lines, learn=True), begins))

    @property
    def words_read(self) -> int:
        """How many words, and ends of sentences, were learned so far."""
        return self._history.words_read

    def forget(self, share: float = 1.0) -> None:
        """Forget what was read: all of it, or a share of it, so that what is read next weighs more."""
        self._history.forget(share)
        if share == 1.0:
            self.vocabulary = SessionVocabulary(self.model.vocabulary)

    def copy(self) -> Session:
        """A session of its own that has read the same."""
        other = object.__new__(Session)
        other.model, other.vocabulary, other._history = self.model, self.vocabulary.copy(), self._history.copy()
        return other

    def save(self, path: str | Path) -> None:
        """Write what was read to a small file; `load` needs the same model."""
        log = self._history.log
        parts = [entry for entry in log if isinstance(entry, ReadSentences)]
        words = Vocabulary.of([word.encode("utf-8", "surrogatepass") for word in self.vocabulary.own])
        metadata = {
            "model": str(self.model.signature),
            "max_words": self._history.max_words,
            "words_read": self._history.words_read,
            "log": [[each.ids.size, each.begins.tolist()] if isinstance(each, ReadSentences) else each for each in log],
        }
        ids = np.concatenate([np.empty(0, np.int32), *(part.ids for part in parts)])
        array_file.write(path, array_file.SESSION, metadata, {"ids": ids, **words.packed()})

    def load(self, path: str | Path) -> None:
        """Go on where a saved session of the same model stopped."""
        with array_file.reading(path, array_file.SESSION, verify=True) as file:
            metadata, arrays = file.metadata, file.arrays
            if metadata["model"] != str(self.model.signature):
                raise ModelFileError(
                    f"{path}: a session of another model ({metadata['model']}); open it with the model it was made with"
                )
            own = Vocabulary.unpacked(np.array(arrays["words"]), np.array(arrays["word_lengths"]))
            vocabulary = SessionVocabulary(self.model.vocabulary, list(own)[len(SPECIAL) :])
            log = _checked_log(path, metadata["log"], np.array(arrays["ids"], np.int32), len(vocabulary))
            history = History(
                self._history.weights, self._history.views.class_of, max_words=int(metadata["max_words"])
            )
        history.replay(log, int(metadata["words_read"]))
        self._history, self.vocabulary = history, vocabulary

    # What it can be asked.

    @property
    def order(self) -> int:
        """That of the model."""
        return self.model.order

    @property
    def signature(self) -> str:
        """What every figure depends on: the model, how far views are trusted, and how much was read."""
        return f"{self.model.signature}|history:{self._history.weights.fitted_on}|read:{self.words_read}"

    def score(self, sentence: Sentence, bos: bool = True, eos: bool = True, *, learn: bool = False) -> float:
        """log10 of the probability of a sentence; where `learn`, each word is learned once it was predicted."""
        return float(self.score_many([sentence], bos, eos, learn=learn)[0])

    def scores(self, sentence: Sentence, bos: bool = True, eos: bool = True, *, learn: bool = False) -> Floats:
        """log10 of the probability of each word of a sentence, and of its end if `eos`."""
        scored = self._of_model(text.block_of_sentence(sentence), text.QUERY_RULES, bos, eos, learn)
        return self._history.score(scored.text, scored.log10_probs, learn=learn)[int(bos) :]

    def score_many(
        self, sentences: Iterable[Sentence], bos: bool = True, eos: bool = True, *, learn: bool = False
    ) -> Floats:
        """The scores of sentences, one after the other."""
        sums = [np.empty(0)]
        for block in text.blocks_of_sentences(sentences):
            scored = self._of_model(block, text.QUERY_RULES, bos, eos, learn)
            scores = self._history.score(scored.text, scored.log10_probs, learn=learn)
            sums.append(sum_sequences(scores, scored.text.begins))
        return np.concatenate(sums)

    def log10_prob(self, word: str, context: Sentence = ()) -> float:
        """log10 P(word | context)."""
        self.model._word_id(word)  # refuses what is no word
        one, log10_probs = self._one(word, context)
        return float(self._history.score(one, log10_probs, learn=False)[-1])

    def distribution(self, context: Sentence = ()) -> Floats:
        """P(· | context) over the ids of the session's vocabulary; it sums to one."""
        spread, weights = self._history.spread(self._context(context), len(self.vocabulary))
        spread[: len(self.model.vocabulary)] += weights[0] * self.model.distribution(context)
        return spread

    def predict(
        self, context: Sentence = (), k: int = 10, *, prefix: str = "", special: bool = False
    ) -> list[Prediction]:
        """The k most probable next words, exactly; only those that start with `prefix`.

        Whatever is neither among the model's nor among the history's first m words is less probable than the sum of
        what both have for their m-th; m grows until that is less than the k-th word found.
        """
        if k < 1:
            raise UsageError(f"k = {k}: expected how many words to predict, 1 or more")
        spread, weights = self._history.spread(self._context(context), len(self.vocabulary))
        words = allowed(np.flatnonzero(spread), special)
        if prefix:
            words = np.array([i for i in words.tolist() if self.vocabulary[i].startswith(prefix)], np.int64)
        m = max(4 * k, 32)
        while True:
            of_model = self.model.predict(context, m, prefix=prefix, special=special)
            by_history = words[indices_of_top_k(words, spread[words], m + 1)]
            candidates = np.union1d(by_history[:m], [self.vocabulary.id(p.word) for p in of_model]).astype(np.int64)
            found = spread[candidates] + weights[0] * self._model_probabilities(candidates, context)
            best = indices_of_top_k(candidates, found, k)
            least = (weights[0] * of_model[-1].probability if len(of_model) == m else 0.0) + (
                spread[by_history[m]] if by_history.size > m else 0.0
            )
            if least == 0.0 or (best.size == k and found[best[-1]] > least):
                break
            m *= 4
        return [Prediction(self.vocabulary[int(candidates[i])], float(found[i])) for i in best]

    def explain(self, word: str, context: Sentence = ()) -> SessionExplanation:
        """Where P(word | context) comes from: the model, and each view of what was read."""
        self.model._word_id(word)
        one, log10_probs = self._one(word, context)
        given = self._history.contributions(one, log10_probs)[-1]
        _, weights = self._history.spread(self._context(context), len(self.vocabulary))
        names = ("model", *map(str, self._history.weights.views))
        sources = tuple(
            SourceShare(name, float(w), max(float(p), 0.0), float(w) * max(float(p), 0.0))
            for name, w, p in zip(names, weights, given, strict=True)
        )
        return SessionExplanation(
            word, tuple(self.vocabulary[int(i)] for i in self._context(context)),
            float(10.0 ** self._history.score(one, log10_probs, learn=False)[-1]),
            sources, self.words_read, self.signature,
        )  # fmt: skip

    def generate(self, n: int = 1, **options: Any) -> Iterator[list[str]]:
        """Sentences drawn from what is predicted now (`gapgram.generate`); nothing is learned from them."""
        return generate(self, n, **options)  # type: ignore[arg-type]

    def perplexity(
        self,
        texts: Paths | None = None,
        *,
        sentences: Iterable[Sentence] | None = None,
        learn: bool = True,
        documents: bool = False,
        rules: text.TextRules | None = None,
        threads: int | None = None,
        progress: bool = False,
    ) -> Perplexity:
        """The perplexity of a text in its order, each word learned once it was predicted.

        documents: an empty line ends a document, after which everything is forgotten.
        """
        if (texts is None) == (sentences is None):
            raise UsageError("perplexity: give text files or sentences, one of the two")
        if sentences is not None:
            blocks = text.blocks_of_sentences(sentences)
        else:
            blocks = blocks_of_files(texts or [], title="scoring", progress=progress)
        n_words = n_unknown = n_lines = 0
        sums: list[float] = []
        known_sums: list[float] = []
        for block in blocks:
            for starts, piece in _pieces(block, documents=documents):
                if starts:
                    self.forget()
                scored = self._of_model(piece, rules or text.QUERY_RULES, True, True, learn)
                n_lines += scored.text.begins.size - 1
                lines = _with_words(scored)
                scores = self._history.score(lines.text, lines.log10_probs, learn=learn)
                n_words += lines.text.ids.size - 2 * (lines.text.begins.size - 1)
                n_unknown += int((~lines.known).sum())
                sums += sum_sequences(scores, lines.text.begins).tolist()
                known_sums += sum_sequences(np.where(lines.known, scores, 0.0), lines.text.begins).tolist()
        return Perplexity(
            n_words, n_unknown, len(sums), math.fsum(sums), math.fsum(known_sums), self.signature, n_lines - len(sums)
        )

    # How.

    def _of_model(self, block: Block, rules: text.TextRules, bos: bool, eos: bool, learn: bool) -> _Scored:
        """Lines as the model scores them, with ids for the session's own words; where they are learned, new ones."""
        lines = self.model.score_block(block, rules, bos=bos, eos=eos)
        ids = self._own_ids(lines.ids, lines.begins, block.data.split(b"\n"), learn=learn)
        return _Scored(ReadSentences(ids, lines.begins), lines.scores, lines.ids != UNKNOWN_ID)

    def _own_ids(self, ids: Ids, begins: Begins, lines: list[bytes], *, learn: bool) -> Ids:
        """The ids of the model with those of the session's own words in place of `<unk>`."""
        out = ids.astype(np.int32)
        unknown = np.flatnonzero(ids == UNKNOWN_ID)
        for line in np.unique(np.searchsorted(begins, unknown, side="right") - 1).tolist():
            places = [t for t in range(int(begins[line]), int(begins[line + 1])) if ids[t] not in (START_ID, END_ID)]
            words = lines[line].split()
            if len(words) != len(places):
                continue  # special words were left out
            for t, word in zip(places, words, strict=True):
                if ids[t] == UNKNOWN_ID:
                    shown = word.decode("utf-8", "replace")
                    out[t] = self.vocabulary.learned_id(shown) if learn else self.vocabulary.id(shown)
        return out

    def _context(self, context: Sentence) -> Ids:
        words = context.split() if isinstance(context, str) else list(context)
        known = self.model._context_ids(context)
        own = [self.vocabulary.id(word) for word in words[len(words) - known.size :]]
        return np.array(own, np.int32)

    def _one(self, word: str, context: Sentence) -> tuple[ReadSentences, Floats]:
        """A word after a context, and what the model gives the positions."""
        ids = np.append(self._context(context), np.int32(self.vocabulary.id(word)))
        in_model = np.where(ids < len(self.model.vocabulary), ids, UNKNOWN_ID).astype(np.int32)
        begins = np.array([0, ids.size])
        return ReadSentences(ids, begins), self.model.score_checked_ids(in_model, begins)

    def _model_probabilities(self, words: Integers, context: Sentence) -> Floats:
        """The model's probability of each word after a context; 0 for the session's own words."""
        before = self.model._context_ids(context)
        known = words < len(self.model.vocabulary)
        ids = np.column_stack([np.tile(before, (words.size, 1)), np.where(known, words, UNKNOWN_ID)]).astype(np.int32)
        begins = np.arange(words.size + 1) * ids.shape[1]
        log10_probs = self.model.score_checked_ids(ids.ravel(), begins)[begins[1:] - 1]
        return np.where(known, 10.0**log10_probs, 0.0)

    def __repr__(self) -> str:
        return f"<Session, {self.words_read:,} words read, of {self.model!r}>"


def _blocks(sentences: str | Iterable[Sentence]) -> Iterator[Block]:
    return text.blocks_of_sentences(sentences.split("\n") if isinstance(sentences, str) else sentences)


def _pieces(block: Block, *, documents: bool) -> Iterator[tuple[bool, Block]]:
    """(whether a document starts with it, a piece of a block); without `documents` none does."""
    if not documents:
        yield from ((False, piece) for piece in block.cut(PIECE_BYTES))
        return
    first, lines = block.first_line, block.data.split(b"\n")
    if lines[-1] == b"":
        lines.pop()  # after the last newline
    for is_empty, run in groupby(lines, key=lambda line: not line.split()):
        some = list(run)
        yield is_empty, Block(block.name, first, b"\n".join([*some, b""]))
        first += len(some)


def _with_words(scored: _Scored) -> _Scored:
    """The lines that have words."""
    lengths = np.diff(scored.text.begins)
    kept = np.repeat(lengths > 2, lengths)
    begins = np.concatenate([[0], np.cumsum(lengths[lengths > 2])])
    return _Scored(ReadSentences(scored.text.ids[kept], begins), scored.log10_probs[kept], scored.known[kept])


def _checked_log(path: str | Path, entries: Any, ids: Ids, n_words: int) -> list[ReadSentences | float]:
    """The log of a session file, if it makes sense."""
    log: list[ReadSentences | float] = []
    at = 0
    whole = bool(ids.size == 0 or (int(ids.min()) >= 0 and int(ids.max()) < n_words))
    for entry in entries:
        if isinstance(entry, list):
            size, begins = int(entry[0]), np.array(entry[1], np.int64)
            whole = whole and begins.ndim == 1 and begins.size > 0 and bool(begins[0] == 0 and begins[-1] == size)
            whole = whole and bool((np.diff(begins) >= 0).all()) and at + size <= ids.size
            log.append(ReadSentences(ids[at : at + size], begins))
            at += size
        else:
            whole = whole and 0.0 < float(entry) < 1.0
            log.append(float(entry))
    if not whole or at != ids.size:
        raise ModelFileError(f"{path}: not a session as gapgram writes it; begin a new one")
    return log
