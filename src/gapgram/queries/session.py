"""A model with a reader's memory: it learns the words it reads, and its predictions learn from them.

A session mixes the model with what was read so far (`gapgram.queries.history`). The model itself never changes. A word
that the model does not know becomes one of the session's own words once it was read: it can be predicted and completed.
Until then it has the probability of `<unk>`, of which it takes nothing afterwards; so every distribution sums to one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gapgram.arrays import Begins, Floats, Ids, Integers, Mask
from gapgram.estimation.history_weights import HistoryWeights
from gapgram.kernels.probability.scores import sum_sequences
from gapgram.kernels.text.special_words import END_ID, START_ID, UNKNOWN_ID
from gapgram.queries.attached_marks import warn_of_attached_marks
from gapgram.queries.generate import generate
from gapgram.queries.history import (
    MAX_WORDS,
    History,
    ReadSentences,
    ReadWords,
    SessionVocabulary,
    empty_heads,
)
from gapgram.queries.line_scores import PIECE_BYTES, is_unknown
from gapgram.queries.perplexity import Perplexity, ScoredText, perplexity_of_pieces
from gapgram.queries.predict import ByModel, Prediction, check_k, indices_of_top_k, predict_by_sorting
from gapgram.queries.sequences import MOST_SEEN, ReadsIds
from gapgram.queries.session_file import read_session, write_session
from gapgram.system.one_at_a_time import OneAtATime, one_at_a_time
from gapgram.text import corpus as text
from gapgram.text.files import Block, Paths, blocks_of_files

if TYPE_CHECKING:
    from gapgram.queries.language_model import LanguageModel

Sentence = str | Sequence[str]


class Session(ReadsIds):
    """A reader of a model. It answers what models answer, and learns. Threads may share it: they wait for each other.

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
        super().__init__()
        self.model = model
        self._begin(SessionVocabulary(model.vocabulary), History(weights, class_of, max_words=max_words))

    def _begin(self, vocabulary: SessionVocabulary, history: History) -> None:
        self.vocabulary, self._history = vocabulary, history
        self._heads, self._read_words, self._listed = empty_heads(), ReadWords(), 0
        self._begin_sequence()

    # What it has read.

    def read(self, sentences: str | Iterable[Sentence]) -> None:
        """Learn a text, a line a sentence, or sentences: as if they were scored and learned."""
        lines = sentences.split("\n") if isinstance(sentences, str) else sentences
        self.read_blocks(text.blocks_of_sentences(lines))

    def read_files(self, texts: Paths, *, rules: text.TextRules | None = None) -> None:
        """Learn text files."""
        self.read_blocks(blocks_of_files(texts), rules)

    def read_blocks(self, blocks: Iterable[Block], rules: text.TextRules | None = None) -> None:
        """Learn lines of text."""
        for _ in self.score_blocks(blocks, rules or text.QUERY_RULES, learn=True):
            pass

    @property
    def history(self) -> History:
        """What it has read, as counts."""
        return self._history

    @property
    def words_read(self) -> int:
        """How many words, and ends of sentences, were learned so far."""
        return self._history.words_read

    @one_at_a_time
    def forget(self, share: float = 1.0) -> None:
        """Forget what was read: all of it, or a share of it, so that what is read next weighs more."""
        self._history.forget(share)
        if share == 1.0:
            self._begin(SessionVocabulary(self.model.vocabulary), self._history)

    @one_at_a_time
    def copy(self) -> Session:
        """A session of its own that has read the same."""
        other = object.__new__(Session)
        OneAtATime.__init__(other)
        other.model = self.model
        other._begin(self.vocabulary.copy(), self._history.copy())
        return other

    @one_at_a_time
    def save(self, path: str | Path) -> None:
        """Write what was read to a small file; `load` needs the same model."""
        write_session(path, str(self.model.signature), self.vocabulary, self._history)

    @one_at_a_time
    def load(self, path: str | Path) -> None:
        """Go on where a saved session of the same model stopped."""
        self._begin(*read_session(path, str(self.model.signature), self.vocabulary, self._history))

    # What it can be asked.

    @property
    def order(self) -> int:
        """That of the model."""
        return self.model.order

    def tokens(self, text: str) -> list[str]:
        """The words of a text, as the model cuts it."""
        return self.model.tokens(text)

    @property
    def signature(self) -> str:
        """What every figure depends on: the model, how far views are trusted, and how much was read."""
        return f"{self.model.signature}|history:{self._history.weights.fitted_on}|read:{self.words_read}"

    def score(self, sentence: Sentence, bos: bool = True, eos: bool = True, *, learn: bool = False) -> float:
        """log10 of the probability of a sentence; where `learn`, each word is learned once it was predicted."""
        return float(self.score_many([sentence], bos, eos, learn=learn)[0])

    @one_at_a_time
    def scores(self, sentence: Sentence, bos: bool = True, eos: bool = True, *, learn: bool = False) -> Floats:
        """log10 of the probability of each word of a sentence, and of its end if `eos`."""
        lines = self._of_model(text.block_of_sentence(sentence), text.QUERY_RULES, bos, eos, learn)
        return self._history.score(lines.text, lines.scores, learn=learn)[int(bos) :]

    def score_many(
        self, sentences: Iterable[Sentence], bos: bool = True, eos: bool = True, *, learn: bool = False
    ) -> Floats:
        """The scores of sentences, one after the other."""
        sums = [np.empty(0)]
        for block in text.blocks_of_sentences(sentences):
            with self._lock:
                lines = self._of_model(block, text.QUERY_RULES, bos, eos, learn)
                scores = self._history.score(lines.text, lines.scores, learn=learn)
            sums.append(sum_sequences(scores, lines.text.begins))
        return np.concatenate(sums)

    @one_at_a_time
    def log10_prob(self, word: str, context: Sentence = ()) -> float:
        """log10 P(word | context)."""
        self.model._word_id(word)  # refuses what is no word
        one, log10_probs = self._one(word, context)
        return float(self._history.score(one, log10_probs, learn=False)[-1])

    @one_at_a_time
    def distribution(self, context: Sentence = ()) -> Floats:
        """P(· | context) over the ids of the session's vocabulary; it sums to one."""
        return self._mixed(self._context(context))

    @one_at_a_time
    def predict(
        self, context: Sentence = (), k: int = 10, *, prefix: str = "", special: bool = False
    ) -> list[Prediction]:
        """The k most probable next words, exactly; only those that start with `prefix`."""
        check_k(k, prefix)
        ids = self._context(context)
        by_model = self.model._by_model(self._of_model_alone(ids))
        whole = False
        if by_model is not None and prefix:
            words, probabilities, whole = *self._completions(ids, by_model, prefix, special), True
        elif by_model is not None:
            words, probabilities, whole = self._history.likely(ids, by_model, self._heads, k, special=special)
        if not whole:
            return predict_by_sorting(self._mixed(ids), self.vocabulary, k, prefix=prefix, special=special)
        best = indices_of_top_k(words, probabilities, k)
        return [Prediction(self.vocabulary[int(words[i])], float(probabilities[i])) for i in best]

    def _completions(self, ids: Ids, by_model: ByModel, prefix: str, special: bool) -> tuple[Integers, Floats]:
        """All words that start so, and their probabilities."""
        words, probabilities = by_model.predictor.completions(by_model.seen, prefix, special)
        starting, before = np.array(self._starting_with(prefix), np.int64), self._history.after(ids)
        mixed = np.zeros(len(self.vocabulary))
        mixed[words] = before.weights[0] * by_model.share * probabilities
        mixed[by_model.words] += before.weights[0] * by_model.shares
        mixed[starting] += self._history.given(before, starting) @ before.weights[1:]
        words = np.concatenate([words, starting[starting >= len(self.model.vocabulary)]])
        return words, mixed[words]

    @one_at_a_time
    def explain(self, word: str, context: Sentence = ()) -> SessionExplanation:
        """Where P(word | context) comes from: the model, and each view of what was read."""
        self.model._word_id(word)
        one, log10_probs = self._one(word, context)
        given = np.maximum(self._history.sources(one, log10_probs, learn=False)[0][-1], 0.0).tolist()
        weights = self._history.after(self._context(context)).weights.tolist()
        names = ("model", *map(str, self._history.weights.views))
        return SessionExplanation(
            word, tuple(self.vocabulary[int(i)] for i in self._context(context)),
            float(10.0 ** self._history.score(one, log10_probs, learn=False)[-1]),
            tuple(SourceShare(name, w, p, w * p) for name, w, p in zip(names, weights, given, strict=True)),
            self.words_read, self.signature,
        )  # fmt: skip

    def generate(self, n: int = 1, **options: Any) -> Iterator[list[str]]:
        """Sentences drawn from what is predicted now (`gapgram.generate`); nothing is learned from them."""
        return generate(self.copy(), n, **options)

    def perplexity(
        self,
        texts: Paths | None = None,
        *,
        sentences: Iterable[Sentence] | None = None,
        learn: bool = True,
        documents: bool = False,
        rules: text.TextRules | None = None,
        progress: bool = False,
    ) -> Perplexity:
        """The perplexity of a text in its order, each word learned once it was predicted.

        documents: an empty line, or a new file, begins a document; what was read of others is forgotten before it.
        """
        blocks = text.blocks_to_score("perplexity", texts, sentences, progress=progress)
        asked, model = rules or text.QUERY_RULES, self.model
        pieces = self.score_blocks(blocks, asked, learn=learn, documents=documents)
        figure = perplexity_of_pieces(
            (ScoredText(p.scores, p.text.begins, ~p.known, model.raw_text(raw, asked)) for raw, p in pieces), "",
            is_tokenised=model.cuts_text,
        )  # fmt: skip
        return replace(figure, signature=self.signature)

    def score_blocks(
        self, blocks: Iterable[Block], rules: text.TextRules, *, learn: bool, documents: bool = False
    ) -> Iterator[tuple[Block, SessionLines]]:
        """The lines of a text in its order, in pieces, scored; lines without words teach nothing."""
        start = self.copy() if documents else self
        for number, block in enumerate(blocks):
            if number == 0:
                warn_of_attached_marks(self.model, block)
            for begins, piece in pieces_of_documents(block, documents=documents):
                with self._lock:  # not while the text is read: whoever asks waits for a piece, not for all
                    if begins:
                        self._begin(start.vocabulary.copy(), start._history.copy())
                    lines = self._of_model(piece, rules, True, True, learn)
                    some, kept = with_words(lines)
                    scores = np.zeros(lines.scores.size)
                    scores[kept] = self._history.score(some.text, some.scores, learn=learn)
                yield piece, lines._replace(scores=scores)

    # How.

    def _of_model(self, block: Block, rules: text.TextRules, bos: bool, eos: bool, learn: bool) -> SessionLines:
        """Lines as the model scores them, with ids for the session's own words; where they are learned, new ones."""
        cut = self.model.tokenised(block, rules)
        lines = self.model.score_block(cut, rules, bos=bos, eos=eos)
        ids = self._own_ids(lines.ids, lines.begins, cut.data.split(b"\n"), learn=learn)
        return SessionLines(ReadSentences(ids, lines.begins), lines.scores, ~is_unknown(self.model, lines.ids), cut)

    def _own_ids(self, ids: Ids, begins: Begins, lines: list[bytes], *, learn: bool) -> Ids:
        """The ids of the model with those of the session's own words in place of `<unk>`."""
        out = ids.astype(np.int32)
        unknown = np.flatnonzero(ids == UNKNOWN_ID)
        for line in np.unique(np.searchsorted(begins, unknown, side="right") - 1).tolist():
            positions = [t for t in range(int(begins[line]), int(begins[line + 1])) if ids[t] not in (START_ID, END_ID)]
            words = lines[line].split()
            if len(words) != len(positions):
                continue  # special words were left out
            for t, word in zip(positions, words, strict=True):
                if ids[t] == UNKNOWN_ID:
                    shown = word.decode("utf-8", "replace")
                    out[t] = self.vocabulary.learned_id(shown) if learn else self.vocabulary.id(shown)
        return out

    def _starting_with(self, prefix: str) -> list[int]:
        """The ids of the words that were read and start so."""
        self._read_words.add(self.vocabulary, self._history.read_since(self._listed).tolist())
        self._listed = self.words_read
        return self._read_words.starting_with(prefix)

    def _context(self, context: Sentence) -> Ids:
        """The session's ids of the last words of a context."""
        ids = self.model._ids_of_last(context, MOST_SEEN)
        if self.vocabulary.own and not ids.all():
            words = self.model._context_words(context)[-ids.size :]
            ids = np.array([self.vocabulary.id(word) for word in words], np.int32)
        return ids

    def _one(self, word: str, context: Sentence) -> tuple[ReadSentences, Floats]:
        """A word after a context, and what the model gives the positions."""
        ids = np.append(self._context(context), np.int32(self.vocabulary.id(word)))
        begins = np.array([0, ids.size])
        return ReadSentences(ids, begins), self.model.score_checked_ids(self._of_model_alone(ids), begins)

    def __repr__(self) -> str:
        return f"<Session, {self.words_read:,} words read, of {self.model!r}>"


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


class SessionLines(NamedTuple):
    """Lines: the session's ids, log10 of the probability of each position, and which words the model knows.

    block: the lines as words of the model.
    """

    text: ReadSentences
    scores: Floats
    known: Mask
    block: Block


def pieces_of_documents(block: Block, *, documents: bool) -> Iterator[tuple[bool, Block]]:
    """(whether a document begins with it, a piece of a block); without `documents` none does.

    >>> [(new, piece.data) for new, piece in pieces_of_documents(Block("text", 1, b"a\\nb\\n\\nc\\n"), documents=True)]
    [(True, b'a\\nb\\n'), (True, b'\\n'), (False, b'c\\n')]
    """
    if not documents:
        yield from ((False, piece) for piece in block.cut(PIECE_BYTES))
        return
    first, lines = block.first_line, block.data.split(b"\n")
    if lines[-1] == b"":
        lines.pop()  # after the last newline
    for is_empty, run in groupby(lines, key=lambda line: not line.split()):
        some = list(run)
        yield is_empty or first == 1, replace(block, first_line=first, held=b"\n".join([*some, b""]))
        first += len(some)


def with_words(lines: SessionLines) -> tuple[SessionLines, Mask]:
    """The lines that have words, and which positions are theirs."""
    lengths = np.diff(lines.text.begins)
    kept = np.repeat(lengths > 2, lengths)
    begins = np.concatenate([[0], np.cumsum(lengths[lengths > 2])])
    text = ReadSentences(lines.text.ids[kept], begins)
    return SessionLines(text, lines.scores[kept], lines.known[kept], lines.block), kept
