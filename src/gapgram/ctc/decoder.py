"""A decoder: from the logits of a recogniser trained with CTC to text, with a model of language."""

from __future__ import annotations

import os
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from gapgram.arguments import wrong_type
from gapgram.arrays import Ids
from gapgram.ctc.alphabet import Alphabet, Letters
from gapgram.ctc.hypotheses import Hypothesis, hypotheses_of
from gapgram.ctc.lexicon import NO_LEXICON, check_spelling, hot_words_of, lexicon_of, with_words_of_session
from gapgram.ctc.logits import as_array, frames_of, log_probs_of
from gapgram.ctc.options import DecoderOptions
from gapgram.ctc.search import Search, Tables, labels_of
from gapgram.ctc.stream import DecoderStream
from gapgram.errors import UsageError
from gapgram.kernels.ctc.beams import Frames
from gapgram.kernels.ctc.prefixes import HotWords, Lexicon, Rules
from gapgram.models.open import load
from gapgram.queries.language_model import LanguageModel, checked_model
from gapgram.queries.session import Session
from gapgram.queries.session_rows import SessionRows
from gapgram.queries.states import State
from gapgram.system.parallel import checked_threads, parallel_map

if TYPE_CHECKING:
    from gapgram.ctc.batched import BatchedDecoder

LN10 = float(np.log(10.0))
HotWordList = Iterable[str] | Mapping[str, float] | None
_DELIMITERS = ("|", "▁", "_", "<space>")  # by which models of characters may know the space


class Decoder:
    """Prefix beam search over the logits of a recogniser, with a model of words or of labels, or without one.

    labels: one for each column of the logits; the blank and what divides words are found, or named by `blank` (a label
        or its column) and `delimiter`.
    model: any model, or the path of one. words: those of it that count as known; all by default.
    session: one of the model, asked in its place: what it has read is known, new words too; decoding teaches nothing.
    unit: "word" or "label", of what the model predicts; found by default.
    Options are those of `DecoderOptions`; `decode` takes them too, for one text.

    >>> import gapgram, numpy as np
    >>> model = gapgram.train(sentences=["a bad cab", "a bad dad"] * 9, order=3, model="mkn")
    >>> decoder = Decoder(["_", " ", "a", "b", "c", "d"], model)
    >>> logits = np.log(np.full((9, 6), 0.02))
    >>> logits[np.arange(9), [2, 1, 3, 2, 5, 1, 4, 2, 3]] = 0.0
    >>> decoder.decode(logits)
    'a bad cab'
    """

    def __init__(
        self,
        labels: Sequence[str] | Alphabet,
        model: LanguageModel | str | os.PathLike[str] | None = None,
        *,
        words: Collection[str] | None = None,
        session: Session | None = None,
        unit: str | None = None,
        blank: str | int | None = None,
        delimiter: str | None = None,
        **options: Any,
    ) -> None:
        if not isinstance(labels, Alphabet):
            labels = Alphabet.of(labels, blank=blank, delimiter=delimiter)
        self.alphabet = labels
        self.model = load(model) if isinstance(model, str | os.PathLike) else model
        self.session = session
        if session is not None:
            self.model = _model_of(session, self.model)
        if self.model is not None:
            checked_model("model", self.model)
        self.options = DecoderOptions().changed(options)
        if unit not in (None, "word", "label"):
            raise UsageError(f"unit {unit!r}: expected word or label, whichever the model predicts")
        self._words, self.letters = words, Letters(self.alphabet)
        self.by_label = unit == "label" if unit else self._is_model_of_labels()
        if self.by_label and words is not None:
            raise UsageError("words: the model is one of labels, which needs no list of words; or give unit='word'")
        if self.by_label and session is not None:
            raise UsageError("session: the model is one of labels; a session reads words: give a model of words")
        self._own_words: list[str] = []  # of the session, that the lexicon has
        self._searches: list[Search] = []
        self._lock = threading.Lock()
        self._tables = self._of_model = self._made_tables()

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_lock": None, "_searches": []}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.Lock())

    def __repr__(self) -> str:
        return f"<Decoder of {len(self.alphabet.texts)} labels{f' with {self.model!r}' if self.model else ''}>"

    # What it decodes.

    def decode(
        self, logits: Any, hot_words: HotWordList | HotWords = None, *, state: State | None = None, **options: Any
    ) -> str:
        """The best text for the logits, or log probabilities, of one utterance: [frame, label].

        hot_words: words to listen for, or a weight for each. state: the model's, to go on from another text.
        """
        found = self._decoded(logits, hot_words, state, options, distinct=True)
        return found[0].text if found else ""

    def decode_beams(
        self,
        logits: Any,
        hot_words: HotWordList | HotWords = None,
        *,
        state: State | None = None,
        distinct: bool = False,
        **options: Any,
    ) -> list[Hypothesis]:
        """The hypotheses for one utterance, best first.

        distinct: of beams that differ only in words that the model no longer sees, keep the best, as `decode` does.
        """
        return self._decoded(logits, hot_words, state, options, distinct=distinct, all_of_them=True)

    def decode_many(
        self,
        logits: Any,
        hot_words: HotWordList | HotWords = None,
        *,
        lengths: Sequence[int] | None = None,
        threads: int | None = None,
        **options: Any,
    ) -> list[str]:
        """The best texts for many utterances, on all cores: a list, or a padded batch with its lengths."""
        return [found[0].text if found else "" for found in self._many(logits, hot_words, lengths, threads, options)]

    def decode_beams_many(
        self,
        logits: Any,
        hot_words: HotWordList | HotWords = None,
        *,
        lengths: Sequence[int] | None = None,
        threads: int | None = None,
        distinct: bool = False,
        **options: Any,
    ) -> list[list[Hypothesis]]:
        """The hypotheses for many utterances, as `decode_many` takes them."""
        return self._many(logits, hot_words, lengths, threads, options, distinct=distinct, all_of_them=True)

    def on(self, device: str) -> BatchedDecoder:
        """The same search for batches of tensors, where they lie: `cuda` or `cpu`; needs PyTorch."""
        from gapgram.ctc.batched import BatchedDecoder

        return BatchedDecoder(self, device)

    # How.

    @property
    def lexicon(self) -> Lexicon:
        """The words that are known."""
        return self._tables.lexicon

    def _many(
        self,
        logits: Any,
        hot_words: HotWordList | HotWords,
        lengths: Sequence[int] | None,
        threads: int | None,
        options: dict[str, Any],
        *,
        distinct: bool = True,
        all_of_them: bool = False,
    ) -> list[list[Hypothesis]]:
        hot = self.hot_words(hot_words, self.options.changed(options))
        utterances = _utterances(logits, lengths)

        def work(numbered: tuple[int, Any]) -> list[Hypothesis]:
            try:
                return self._decoded(numbered[1], hot, None, options, distinct=distinct, all_of_them=all_of_them)
            except UsageError as error:
                raise type(error)(f"utterance {numbered[0]}: {error}") from None

        return list(parallel_map(work, enumerate(utterances), checked_threads(threads), ahead=4))

    def _decoded(
        self,
        logits: Any,
        hot_words: HotWordList | HotWords,
        state: State | None,
        options: dict[str, Any],
        *,
        distinct: bool,
        all_of_them: bool = False,
    ) -> list[Hypothesis]:
        chosen = self.options.changed(options)
        frames = self.frames(logits, chosen)
        with self.searching(chosen, hot_words, state, distinct=distinct) as search:
            search.feed(frames)
            endings = search.endings()
            return hypotheses_of(search, endings if all_of_them else endings[:1], self.alphabet, by_label=self.by_label)

    def frames(self, logits: Any, options: DecoderOptions) -> Frames:
        """What may be there, frame by frame; where only known words are allowed, so that some text is always left."""
        blank = self.alphabet.blank if options.unknown is None else None
        return frames_of(log_probs_of(logits, len(self.alphabet.texts)), options.token_prune, blank)

    def stream(self, hot_words: HotWordList = None, *, state: State | None = None, **options: Any) -> DecoderStream:
        """Decode an utterance while it goes on: `push` the logits of some frames, then `finish`."""
        return DecoderStream(self, hot_words, state, self.options.changed(options))

    @contextmanager
    def searching(
        self, options: DecoderOptions, hot_words: HotWordList | HotWords, state: State | None, *, distinct: bool
    ) -> Iterator[Search]:
        """A search that has begun a text."""
        search = self.taken(options, hot_words, state, distinct=distinct)
        try:
            yield search
        finally:
            self.give_back(search)

    def give_back(self, search: Search) -> None:
        """Let a search be used again."""
        with self._lock:
            if search.tables is self._tables:
                self._searches.append(search)

    def taken(
        self, options: DecoderOptions, hot_words: HotWordList | HotWords, state: State | None, *, distinct: bool
    ) -> Search:
        """A search that nobody else uses, at the beginning of a text."""
        key, rules = self._key(state, options), self.rules(options, distinct=distinct)
        hot = self.hot_words(hot_words, options)
        with self._lock:
            self._learn_words()
            tables, search = self._tables, self._searches.pop() if self._searches else None
        if search is None and self.session is not None:
            search = Search(tables, SessionRows(self.session))
        elif search is None:
            search = Search(tables, None if self.model is None else self.model._stepper.rows())
        search.begin(rules, hot, key)
        return search

    def _learn_words(self) -> None:
        """Let the lexicon have the words that the session has by now."""
        if self.session is not None and self.session.vocabulary.own != self._own_words:
            with self.session._lock:
                self._own_words = list(self.session.vocabulary.own)
                lexicon = with_words_of_session(self.session, self._of_model.lexicon, self.letters)
            self._tables = self._of_model._replace(lexicon=lexicon)
            self._searches.clear()

    def rules(self, options: DecoderOptions, *, distinct: bool) -> Rules:
        """Options as kernels take them."""
        order = 1 if self.model is None else self.model.order
        return Rules(
            width=options.beam_width,
            prune=float(options.beam_prune),
            history=max(1, order - 1) if distinct else 0,
            alpha=options.alpha * LN10,
            beta=float(options.beta),
            unknown=0.0 if options.unknown is None else float(options.unknown),
            only_known=options.unknown is None and self.model is not None and not self.by_label,
            by_label=self.by_label,
            has_model=self.model is not None,
            scores_nothing=options.empty_word and self.model is not None,
            ends_count=options.boundary,
        )

    def hot_words(self, given: HotWordList | HotWords, options: DecoderOptions) -> HotWords:
        """Hot words in a trie."""
        if isinstance(given, HotWords):
            return given
        return hot_words_of(given, options.hot_weight, self.letters)

    def _key(self, state: State | None, options: DecoderOptions) -> bytes:
        if self.model is None:
            return b""
        if state is not None and not isinstance(state, State):
            raise wrong_type("state", state, "a state of the model, as a hypothesis has one")
        if state is not None:
            self.model.extend(state, 0)  # refuses a state of another model
            return state.key
        return self.model._stepper.beginning if options.boundary else self.model._stepper.null

    def _made_tables(self) -> Tables:
        lexicon, words = NO_LEXICON, np.full(len(self.alphabet.texts), -1, np.int32)
        if self.model is not None and self.by_label:
            words = self._words_of_labels()
        elif self.model is not None:
            chosen = self.options
            ahead = chosen.unknown is None if chosen.ahead is None else chosen.ahead
            lexicon = lexicon_of(self.model, self.letters, self._words, ahead=ahead)
            check_spelling(self.model, lexicon, self.alphabet.texts)
        return Tables(self.alphabet, self.letters, labels_of(self.alphabet, self.letters, words), lexicon)

    def _words_of_labels(self) -> Ids:
        """The model's word for each label, -1 where it has none."""
        assert self.model is not None
        vocabulary, out = self.model.vocabulary, []
        for text in self.alphabet.texts:
            known = [name for name in ((text,) if text != " " else _DELIMITERS) if text and name in vocabulary]
            out.append(vocabulary.id(known[0]) if known else -1)
        if max(out) < 0:
            raise UsageError("labels: the model knows none of them; give unit='word' if it is one of words")
        return np.array(out, np.int32)

    def _is_model_of_labels(self) -> bool:
        """Whether a model predicts labels: all words of it that are no special ones are labels, but for a few."""
        if self.model is None or not getattr(self.model.vocabulary, "has_words", True):
            return False
        n = len(self.model.vocabulary)
        if n > 3 + 2 * len(self.alphabet.texts):
            return False
        names = {*self.alphabet.texts, *_DELIMITERS}
        known = sum(self.model.vocabulary[i] in names for i in range(3, n))
        return 10 * known >= 9 * (n - 3) > 0


def _model_of(session: Session, model: LanguageModel | None) -> LanguageModel:
    """The model of a session, which is the one given, if one is."""
    if not isinstance(session, Session):
        raise wrong_type("session", session, "what model.session() gives")
    if model is not None and model is not session.model:
        raise UsageError("session: it is one of another model; give session=model.session() of this one, or it alone")
    return session.model


def _utterances(logits: Any, lengths: Sequence[int] | None) -> list[Any]:
    """The logits of each utterance."""
    if lengths is None:
        if isinstance(logits, str) or not hasattr(logits, "__iter__"):
            raise wrong_type("logits", logits, "a list of arrays [frame, label], or a batch of them")
        return list(logits)
    batch = [as_array(one) for one in logits] if isinstance(logits, list | tuple) else list(as_array(logits))
    known = [int(length) for length in lengths]
    if len(known) != len(batch):
        raise UsageError(f"{len(batch)} utterances and {len(known)} lengths: expected a length for each")
    for i, (one, length) in enumerate(zip(batch, known, strict=True)):
        if not 0 <= length <= len(one):
            raise UsageError(f"length {length} of utterance {i}: it has {len(one)} frames")
    return [one[:length] for one, length in zip(batch, known, strict=True)]
