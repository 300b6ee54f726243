"""What every kind of model can be asked.

A kind of model is a `LanguageModel`: it says what it is, and answers some questions in its own way; what is abstract
here. The others follow from those and are answered here for all kinds; a kind that has a faster way answers itself.
"""

from __future__ import annotations

import contextlib
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gapgram.arguments import checked_whole, wrong_type
from gapgram.arrays import Begins, Bytes, Floats, Ids, Integers
from gapgram.errors import GapgramError, UsageError
from gapgram.estimation.history_weights import HistoryWeights
from gapgram.estimation.spelling import Spelling
from gapgram.kernels.probability.scores import sum_sequences
from gapgram.kernels.text.special_words import END, END_ID, SPECIAL, START, START_ID, UNKNOWN_ID
from gapgram.queries.continuations import Continuation, beam_of, check_beam, ids_of
from gapgram.queries.history import MAX_WORDS
from gapgram.queries.id_runs import RUN_WORDS, check_bounds, check_ids, score_in_runs
from gapgram.queries.line_scores import PIECE_BYTES, LineKernel, ScoredLines, is_unknown, map_pieces, score_of_text
from gapgram.queries.perplexity import Perplexity, PieceFigures, ScoredText, figures_of, perplexity_of_figures
from gapgram.queries.predict import ByModel, Prediction, predict_by_sorting
from gapgram.queries.session import Session
from gapgram.queries.shown import html_facts
from gapgram.queries.states import State, Stepper
from gapgram.system.parallel import checked_threads, parallel_map
from gapgram.text import corpus as text
from gapgram.text.files import Block, Paths
from gapgram.text.splitting import Splitter
from gapgram.text.tokenisers.tokeniser import Tokeniser
from gapgram.text.vocabulary import REMEMBERED, REMEMBERED_CHARACTERS, Vocabulary

_new = tuple.__new__  # a third of the time that State(…) takes
Sentence = str | Sequence[str]
_WHITE_SPACE = re.compile(r"[ \t\n\v\f\r]")  # as text is split: that of ASCII
_ONE_WORD = re.compile(r"[^ \t\n\v\f\r]+")
_SPECIAL = tuple(word.encode() for word in SPECIAL)


class LanguageModel(ABC):
    """Scores, probabilities, predictions, states and perplexity of a model of any kind.

    A kind sets `_vocabulary`, and what else of these it has.
    """

    piece_bytes = PIECE_BYTES  # of text that is scored at a time
    run_words = RUN_WORDS  # of sequences of ids that are scored at a time, at most
    _vocabulary: Vocabulary
    _path: Path | None = None
    _tokeniser: Tokeniser | None = None
    _splitting: str = ""
    _spelling: Spelling | None = None

    @property
    @abstractmethod
    def order(self) -> int:
        """A prediction sees at most order - 1 earlier words."""

    @property
    @abstractmethod
    def signature(self) -> object:
        """What every figure of this model depends on; printed in one line."""

    @abstractmethod
    def distribution(self, context: Sentence = ()) -> Floats:
        """P(· | context) as an array over the ids of the vocabulary; it sums to one."""

    @property
    @abstractmethod
    def _stepper(self) -> Stepper:
        """What states are made of."""

    @abstractmethod
    def score_checked_ids(self, ids: Ids, begins: Begins, out: Floats | None = None) -> Floats:
        """As `score_ids`, of ids and begins that are known to make sense, by one thread.

        out: where the scores are written; without it, a new array.
        """

    @abstractmethod
    def gram_lengths(self, ids: Ids) -> Integers:
        """For each word of one sequence the length of the longest contiguous gram that the model holds; 1 at least."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The words the model knows, and their ids."""
        return self._vocabulary

    @property
    def path(self) -> Path | None:
        """The file of the model, once it has one."""
        return self._path

    @property
    def tokeniser(self) -> Tokeniser | None:
        """What cuts raw text into the model's words, its tokens; None where words are what white space separates."""
        return self._tokeniser

    @property
    def splitting(self) -> str:
        """`marks` where punctuation marks of raw text are cut off words, as the training text had them; or nothing."""
        return self._splitting

    @property
    def cuts_text(self) -> bool:
        """Whether raw text is cut further than by white space."""
        return self._tokeniser is not None or bool(self._splitting)

    @cached_property
    def splitter(self) -> Splitter:
        """What cuts marks off the words of raw text, by what the model knows."""
        return Splitter(self.vocabulary)

    @property
    def spelling(self) -> Spelling | None:
        """How words are spelled that the model does not know, where it was trained with an open vocabulary."""
        return self._spelling

    @property
    def open_vocabulary(self) -> bool:
        """Whether the model can give every word a probability of its own."""
        return self.spelling is not None

    def log10_prob(self, word: str, context: Sentence = (), *, open_vocabulary: bool = False) -> float:
        """log10 P(word | context); the context is a list of words, oldest first, `<s>` allowed as its first.

        open_vocabulary: a word that the model does not know has a probability of its own, not that of `<unk>`.
        """
        if open_vocabulary:
            return self._open_log10_prob(word, context)
        return float(self._score_after(np.append(self._context_ids(context), np.int32(self._word_id(word)))))

    def _score_after(self, ids: Ids) -> float:
        """log10 of the probability of the last of some words after the others."""
        return float(self.score_checked_ids(ids, np.array([0, ids.size]))[-1])

    def _by_model(self, ids: Ids) -> ByModel | None:
        """What the search for a session's most probable words needs after some ids; None where there is no such search.
        """
        return None

    def predict(
        self, context: Sentence = (), k: int = 10, *, prefix: str = "", special: bool = False
    ) -> list[Prediction]:
        """The k most probable next words, exactly; only those that start with `prefix`.

        special: `<unk>` and `</s>` may be among them.
        """
        return predict_by_sorting(self.distribution(context), self.vocabulary, k, prefix=prefix, special=special)

    def score_block(
        self, block: Block, rules: text.TextRules = text.QUERY_RULES, *, bos: bool = True, eos: bool = True
    ) -> ScoredLines:
        """Score lines as they are read from a text: what all scores of text are made of."""
        block = self.tokenised(block, rules)
        ids = text.encode_block(block, self.vocabulary, rules, keep_empty=True).ids
        begins = text.sentence_begins(ids)
        lines = np.arange(begins.size)
        if not bos:
            ids, begins = ids[ids != START_ID], begins - lines
        if not eos:
            ids, begins = ids[ids != END_ID], begins - lines
        scores = self.score_checked_ids(ids, begins)
        return ScoredLines(ids, scores, begins, sum_sequences(scores, begins), block)

    def tokens(self, line: str) -> list[str]:
        """The words of a text, one line, as the model has them: tokens, or what white space separates.

        >>> import gapgram
        >>> model = gapgram.train(sentences=["a cat", "a bat"] * 9, order=3, model="mkn", tokenizer="chars")
        >>> model.tokens("a cat"), model.text_of(["a", "▁", "b"])
        (['a', '▁', 'c', 'a', 't'], 'a b')
        """
        if self.tokeniser is not None:
            return self.tokeniser.encode(line)
        if self.splitting:
            return self.splitter.words(line)
        return [word.decode("utf-8", "surrogatepass") for word in line.encode("utf-8", "surrogatepass").split()]

    def text_of(self, tokens: Sequence[str]) -> str:
        """The text of words that the model has: what `tokens` has cut, put together again."""
        return " ".join(tokens) if self.tokeniser is None else self.tokeniser.decode(tokens)

    def tokenised(self, block: Block, rules: text.TextRules = text.QUERY_RULES) -> Block:
        """Lines of text as lines of the model's words: those of a model that cuts raw text are cut, once."""
        if not self.cuts_text or block.is_tokenised or rules.tokenised:
            return block
        return self.splitter.block(block, rules) if self.tokeniser is None else self.tokeniser.tokenised(block, rules)

    def raw_text(self, block: Block, rules: text.TextRules) -> Bytes | None:
        """The bytes of lines as they were written; None where they came as tokens."""
        is_tokens = self.cuts_text and (block.is_tokenised or rules.tokenised)
        return None if is_tokens else block.text

    def __contains__(self, word: object) -> bool:
        """Whether the model knows a word."""
        return word in self.vocabulary

    def facts(self) -> dict[str, object]:
        """What the model is, for people: by name, in the order in which it is told."""
        file = {"file": str(self.path)} if self.path is not None else {}
        return {"order": self.order, "vocabulary": f"{len(self.vocabulary):,} words", **file}

    def __repr__(self) -> str:
        left_out = {"file", *getattr(self, "about", ())}  # a line: what is said of a model is in the table
        told = ", ".join(f"{name} {value}" for name, value in self.facts().items() if name not in left_out)
        return f"<{type(self).__name__} {told}>"

    def _repr_html_(self) -> str:
        return html_facts(type(self).__name__, {**self.facts(), "signature": self.signature})

    def begin_sentence(self) -> State:
        """The state at the beginning of a sentence, after `<s>`."""
        return State(self._stepper.beginning)

    def null_context(self) -> State:
        """The state in which nothing is known of what came before."""
        return State(self._stepper.null)

    def extend(self, state: State, word: str | int) -> tuple[float, State]:
        """(log10 P(word | state), the state after the word); the word may be given by its id.

        The word `</s>` ends the sentence. Looks up what the new word alone adds; the score has the bits of `score_ids`.
        """
        try:
            word_id = self._asked_ids[word]
        except KeyError:
            word_id = self._asked_id(word)
        try:
            before = state.key
        except AttributeError:
            raise _no_state(state) from None
        score, length, key = self._stepper.one(before, word_id)
        if length < 1:
            raise self._stepper.fault(length)
        return score, _new(State, (key,))

    def extend_with_length(self, state: State, word: str | int) -> tuple[float, int, State]:
        """As `extend`, with the length of the longest contiguous gram that was found, second."""
        score, length, key = self._stepper.checked(state.key, self._asked_id(word))
        return score, length, State(key)

    def extend_many(
        self, states: Sequence[State], words: Sequence[str | int] | Ids, *, threads: int | None = None
    ) -> tuple[Floats, list[State]]:
        """`extend` for many states, a word for each: (scores, states after the words); large beams on all cores."""
        ids = self._step_ids(states, words)
        for state in states:
            if not isinstance(state, State):
                raise _no_state(state)
        scores, keys = self._stepper.many([state.key for state in states], ids, checked_threads(threads))
        return scores, [_new(State, (key,)) for key in keys]

    def next_scores(
        self, states: Sequence[State], *, words: Ids | None = None, out: Any = None,
        dtype: npt.DTypeLike = np.float64, base: float = 10.0,
    ) -> Any:  # fmt: skip
        """[state, word]: the logarithm of the probability of every next word; minus infinity where it cannot be.

        words: ids of the words that are asked for, such as `token_words`; all of the vocabulary by default.
        out: where to write; without it, a new array of this dtype. base: of the logarithms.
        """
        for state in states:
            if not isinstance(state, State):
                raise _no_state(state)
        keys = [state.key for state in states]
        scores = self._stepper.all_words(keys, len(self.vocabulary), checked_threads(None))
        scores = scores if words is None else scores[:, checked_columns(words, len(self.vocabulary))]
        out = np.empty(scores.shape, dtype) if out is None else out
        if out.shape != scores.shape:
            raise UsageError(f"out of shape {list(out.shape)}: expected {list(scores.shape)}")
        out[:] = scores if base == 10.0 else scores * unit_of(base)
        return out

    @cached_property
    def token_words(self) -> Ids:
        """The ids of words by the ids of the tokeniser: `token_words[ids]` are a text's words, and
        `next_scores(states, words=token_words)` has a column for each token."""
        ids = self.tokeniser.engine.ids if self.tokeniser is not None else {}
        if not ids:
            raise UsageError("the model has no tokeniser whose tokens have ids: train with --tokenizer")
        tokens = [""] * (max(ids.values()) + 1)
        for token, number in ids.items():
            tokens[number] = token
        return self.vocabulary.ids(tokens)

    @cached_property
    def _asked_ids(self) -> dict[str | int, int]:
        """The ids of words that steps were asked for: decoders ask for few words often."""
        return {}

    def _asked_id(self, word: str | int) -> int:
        """The id of a word that may be predicted, remembered."""
        word_id = self._asked_ids.get(word)
        if word_id is None:
            word_id = self._step_id(word)
            if isinstance(word, int) or len(word) <= REMEMBERED_CHARACTERS:
                if len(self._asked_ids) >= REMEMBERED:
                    self._asked_ids.clear()
                self._asked_ids[word] = word_id
        return word_id

    def on(self, device: str) -> LanguageModel:
        """The same model where texts are scored by a device: `cpu`, where it is, or `cuda`, a graphics card."""
        if device not in ("cpu", "cuda"):
            raise UsageError(f"device {device!r}: expected cpu or cuda")
        return self if device == "cpu" else self._on_card()

    def _on_card(self) -> LanguageModel:
        """The same model on a card, for kinds that can be there."""
        raise UsageError("device cuda: models of this kind are scored by the CPU; expected one of gapgram or a mixture")

    def score(
        self, sentence: Sentence, bos: bool = True, eos: bool = True, *, open_vocabulary: bool = False
    ) -> float:
        """log10 of the probability of a sentence: a text, or a list of the model's words.

        bos: the sentence starts after `<s>`; otherwise nothing is known before its first word.
        eos: the end of the sentence, `</s>`, is predicted too.
        open_vocabulary: words that the model does not know have probabilities of their own, not that of `<unk>`; for
            models that were trained so.
        """
        if open_vocabulary:
            return float(self.score_many([sentence], bos, eos, open_vocabulary=True, threads=1)[0])
        kernel = self._score_text
        if kernel is not None and isinstance(sentence, str) and " " in sentence:  # most are so
            score = score_of_text(kernel, sentence, bos, eos)
            if score is not None:
                return score
        line = text.line_of_sentence(sentence)
        if self.cuts_text:
            line = self.tokenised(text.block_of_line(line, is_tokenised=not isinstance(sentence, str))).data
        known = self.line_score(line, bos, eos)
        if known is not None:
            return known
        return float(self.score_block(text.block_of_line(line, is_tokenised=True), bos=bos, eos=eos).sums[0])

    def line_score(self, line: bytes, bos: bool = True, eos: bool = True) -> float | None:
        """log10 of the probability of one line, with its newline; None where `score_block` is to do it."""
        if self._score_line is None:
            return None
        score = self._score_line(line, bos is True or bool(bos), eos is True or bool(eos))
        return score if score == score else None  # no number, such as for a line with `<s>` in it

    @cached_property
    def _score_line(self) -> LineKernel | None:
        """What scores a line that ends in its only newline, from bytes to their sum, where a model has a kernel."""
        return None

    @cached_property
    def _score_text(self) -> LineKernel | None:
        """The same, where words are what white space separates."""
        return None if self.cuts_text else self._score_line

    def scores(
        self, sentence: Sentence, bos: bool = True, eos: bool = True, *, open_vocabulary: bool = False
    ) -> Floats:
        """log10 of the probability of each word of a sentence, and of its end if `eos`; options as those of `score`."""
        lines = self.score_block(text.block_of_sentence(sentence), bos=bos, eos=eos)
        return (self.opened(lines) if open_vocabulary else lines).scores[int(bos) :]

    def score_many(
        self,
        sentences: Iterable[Sentence],
        bos: bool = True,
        eos: bool = True,
        *,
        open_vocabulary: bool = False,
        threads: int | None = None,
        block_bytes: int | None = None,
    ) -> Floats:
        """The scores of many sentences, on all cores; a thread takes `block_bytes` of text at a time."""

        def sums_of(block: Block) -> Floats:
            lines = self.score_block(block, bos=bos, eos=eos)
            return (self.opened(lines) if open_vocabulary else lines).sums

        def sums_of_piece(piece: text.PieceOfSentences) -> Floats:
            with contextlib.suppress(GapgramError, TypeError):  # said of the sentence that it is about below
                sums = sums_of(piece.as_strings())
                if sums.size == len(piece.sentences):  # no newline inside any
                    return sums
            return np.concatenate([sums_of(block) for block in piece.blocks()])

        pieces = text.pieces_of_sentences(sentences, block_bytes or self.piece_bytes)
        return np.concatenate([np.empty(0), *parallel_map(sums_of_piece, pieces, threads, ahead=3)])

    def opened(self, lines: ScoredLines) -> ScoredLines:
        """Lines that were scored, with unknown words by their spelling."""
        if not self.open_vocabulary:
            raise UsageError("open vocabulary: the model has no spelling: train it with one (--open-vocabulary)")
        scores = self._open_scores(lines)
        return lines._replace(scores=scores, sums=sum_sequences(scores, lines.begins))

    def _open_scores(self, lines: ScoredLines) -> Floats:
        """The scores of lines, with unknown words by their spelling."""
        assert self.spelling is not None, "the vocabulary is open"
        return spelled_scores(self.spelling, lines)

    def _open_log10_prob(self, word: str, context: Sentence) -> float:
        """`log10_prob` with an open vocabulary."""
        ids, begins = np.append(self._context_ids(context), np.int32(self._word_id(word))), np.zeros(2, np.int64)
        begins[1] = ids.size
        words = [*self._context_words(context), word][-ids.size :]
        line = " ".join(word for word in words if word not in (START, END)).encode("utf-8", "surrogatepass")
        scores = self.score_checked_ids(ids, begins)
        lines = ScoredLines(ids, scores, begins, sum_sequences(scores, begins), text.block_of_line(line + b"\n"))
        return float(self.opened(lines).scores[-1])

    def score_ids(
        self, ids: npt.NDArray[np.integer[Any]], begins: npt.NDArray[np.integer[Any]], *, threads: int | None = None
    ) -> Floats:
        """log10 of the probability of each position of sequences of word ids.

        Sequence s is ids[begins[s]:begins[s+1]]; it may start with the id of `<s>`, whose own score is 0.
        """
        stream, bounds = np.asarray(ids), np.asarray(begins)
        check_bounds(stream, bounds)
        return score_in_runs(self, stream, bounds.astype(np.int64, copy=False), threads)

    def continue_ids(self, ids: Any, n: int = 8, k: int = 1, *, ends: bool = True) -> list[Continuation]:
        """The k most probable continuations of some ids by n words, in one call; k = 1 takes the most probable word
        each time.

        ids: a list, an array or a tensor of torch; `<s>` may be first. ends: a sentence may end, and then has ended.
        """
        before = ids_of(ids, len(self.vocabulary))
        check_beam(n, k)
        return self._continued(before, n, k, ends=bool(ends))

    def _continued(self, before: Ids, n: int, k: int, *, ends: bool) -> list[Continuation]:
        return beam_of(self.distribution_of, before, n, k, ends=ends)

    def distribution_of(self, ids: Ids) -> Floats:
        """The distribution after some ids."""
        return self.distribution([self.vocabulary[i] for i in ids.tolist()])

    def session(self, *, max_words: int = MAX_WORDS) -> Session:
        """A reader of this model, which learns what it reads; the model itself never changes.

        max_words: that it remembers at most; beyond that it keeps the latest third.
        """
        classes = self._classes_of_words()
        weights = self._history_weights() or HistoryWeights.shipped(classes=classes is not None)
        class_of = classes if classes is not None else np.zeros(len(self.vocabulary), np.int32)
        return Session(self, weights, class_of, max_words=max_words)

    def _history_weights(self) -> HistoryWeights | None:
        """How far a session trusts what it reads, where that was fitted on documents of the training text."""
        return None

    def _classes_of_words(self) -> Ids | None:
        """The class of each word, where the model has classes."""
        return None

    def perplexity(
        self,
        texts: Paths | None = None,
        *,
        sentences: Iterable[Sentence] | None = None,
        rules: text.TextRules | None = None,
        threads: int | None = None,
        progress: bool = False,
    ) -> Perplexity:
        """The perplexity of text files, or of sentences in memory."""
        blocks = text.blocks_to_score("perplexity", texts, sentences, progress=progress)
        asked = rules or text.QUERY_RULES

        def figures(piece: Block) -> PieceFigures:
            lines = self.score_block(piece, asked)
            opened = self._open_scores(lines) if self.open_vocabulary else None
            unknown, raw = is_unknown(self, lines.ids), self.raw_text(piece, asked)
            scored = ScoredText(lines.scores, lines.begins, unknown, raw, opened)
            return figures_of(scored, is_tokenised=self.cuts_text)

        return perplexity_of_figures(map_pieces(figures, self, blocks, threads), self.signature)

    def _context_words(self, context: Sentence) -> list[str]:
        """The words of a context: of a text, before which `<s>` may stand, or a list of words."""
        if not isinstance(context, str):
            return _listed(context)
        if not self.cuts_text or context.split(" ", 1)[0] != START:
            return self.tokens(context)
        return [START, *self.tokens(context.removeprefix(START))]

    def _context_ids(self, context: Sentence) -> Ids:
        """The ids of the last words of a context, as many as the order lets a prediction see."""
        return self._ids_of_last(context, self.order - 1)

    def _ids_of_last(self, context: Sentence, n: int) -> Ids:
        """The ids of the last n words of a context."""
        words = self._context_words(context)
        if END in words or START in words[1:]:
            raise UsageError(f"context {' '.join(words)!r}: {START} may stand first, {END} nowhere")
        return self.vocabulary.ids(words[max(0, len(words) - n) :])

    def _word_id(self, word: str) -> int:
        """The id of a word that may be predicted; a context in its place is refused."""
        if not isinstance(word, str) or not _ONE_WORD.fullmatch(word):
            raise UsageError(f"the word {word!r}: expected one word, without white space; its context comes after it")
        return self._step_id(word)

    def _step_id(self, word: str | int) -> int:
        """The id of a word, or an id, that may be predicted."""
        if not isinstance(word, str):
            word_id = checked_whole("word", word, "a string or the id of a word")
        else:
            word_id = self.vocabulary.id(word)
            if word_id == UNKNOWN_ID and _WHITE_SPACE.search(word):
                raise UsageError(f"the word {word!r}: expected one word, without white space")
        if word_id == START_ID:
            raise UsageError(f"the word {START} starts a sentence and is never predicted")
        if not 0 <= word_id < len(self.vocabulary):
            raise UsageError(f"word id {word_id}: the vocabulary has ids 0 to {len(self.vocabulary) - 1}")
        return word_id

    def _step_ids(self, states: Sequence[State], words: Sequence[str | int] | Ids) -> Ids:
        """The ids of words that may be predicted, one for each state."""
        if isinstance(states, State) or not isinstance(states, Sequence):
            raise wrong_type("states", states, "a list of states")
        if not isinstance(words, Sequence | np.ndarray):
            raise wrong_type("words", words, "a list of words or of their ids")
        if isinstance(words, str) or len(words) != len(states):
            raise UsageError(f"{len(states)} states and {len(words)} words: expected a word for each state")
        if not isinstance(words, np.ndarray):
            return np.array([self._step_id(word) for word in words], np.int32)
        check_ids(words, np.arange(words.size + 1), len(self.vocabulary))
        if (words == START_ID).any():
            raise UsageError(f"the word {START} starts a sentence and is never predicted")
        return words.astype(np.int32, copy=False)


def checked_columns(words: Ids, n_words: int) -> Integers:
    """Ids of words that are asked for; those that the vocabulary has not are refused."""
    words = np.asarray(words)
    if words.ndim != 1 or words.dtype.kind not in "iu":
        raise UsageError(f"words of shape {list(words.shape)} and type {words.dtype}: expected ids, [word]")
    if words.size and not 0 <= words.min() <= words.max() < n_words:
        raise UsageError(f"words from {words.min()} to {words.max()}: expected ids below {n_words}")
    return words.astype(np.int64)


def unit_of(base: float) -> float:
    """What a logarithm to base 10 is multiplied by for another base."""
    if not base > 1.0:
        raise UsageError(f"base {base}: expected a number above 1, such as 10 or math.e")
    return float(1.0 / np.log10(base))


def _no_state(given: object) -> UsageError:
    return wrong_type("state", given, "a state of this model, as begin_sentence, null_context and extend give")


def checked_model(name: str, given: LanguageModel) -> LanguageModel:
    """A model; its path, or an argument that belongs elsewhere, is refused."""
    if not isinstance(given, LanguageModel):
        raise wrong_type(name, given, "a model, as gapgram.train and gapgram.load(path) give")
    return given


def check_counts_words(model: LanguageModel, work: str) -> None:
    """Refuse a model of tokens for work that is done word by word."""
    if model.tokeniser is not None:
        raise UsageError(f"{work} goes word by word, and the model counts tokens ({model.tokeniser}): use one of words")


def _listed(context: Sequence[str]) -> list[str]:
    """The words of a context that was given as a list."""
    if isinstance(context, bytes) or not isinstance(context, Iterable):
        raise wrong_type("context", context, "a string or a list of words")
    words = list(context)
    for word in words:
        if not isinstance(word, str):
            raise wrong_type("context", word, "words that are strings")
        if _WHITE_SPACE.search(word):
            raise UsageError(f"context: {word!r}: a word of a list may not hold white space; give a string or words")
    return words


def spelled_scores(spelling: Spelling, lines: ScoredLines) -> Floats:
    """The scores of lines in which an unknown word has a probability of its own: equation (46).

    `<unk>` in a text, which stands for any unknown word, keeps that of all.
    """
    places = np.flatnonzero((lines.ids != START_ID) & (lines.ids != END_ID))
    words = lines.block.data.split()
    if len(words) != places.size:  # special words were skipped
        words = [word for word in words if word not in _SPECIAL]
    unknown = [i for i in np.flatnonzero(lines.ids[places] == UNKNOWN_ID).tolist() if words[i] not in _SPECIAL]
    scores = lines.scores.copy()
    scores[places[unknown]] += spelling.log10_probs([words[i].decode("utf-8", "replace") for i in unknown])
    return scores
