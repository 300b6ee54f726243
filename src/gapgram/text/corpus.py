"""Text in, ids out: one sentence a line, words by ASCII white space.

`read_corpus` learns a vocabulary from text and encodes it; `encode` encodes text with the vocabulary of a
model. What may be wrong with text, and the choices there are, is the same for both (`TextRules`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gapgram.arguments import wrong_type
from gapgram.arrays import Begins, Bytes, Ids, Integers
from gapgram.errors import TextError, UsageError
from gapgram.kernels.text import words as kernels
from gapgram.kernels.text.special_words import END_ID, START_ID
from gapgram.kernels.text.utf8 import is_utf8
from gapgram.kernels.text.word_order import renumber
from gapgram.system.parallel import parallel_map
from gapgram.text.files import Block, Paths, blocks_of_files
from gapgram.text.held_sentences import FILES_ARE_FOR as FILES_ARE_FOR
from gapgram.text.held_sentences import PieceOfSentences as PieceOfSentences
from gapgram.text.held_sentences import block_of_line as block_of_line
from gapgram.text.held_sentences import block_of_sentence as block_of_sentence
from gapgram.text.held_sentences import blocks_of_sentences as blocks_of_sentences
from gapgram.text.held_sentences import line_of_sentence as line_of_sentence
from gapgram.text.held_sentences import pieces_of_sentences as pieces_of_sentences
from gapgram.text.rules import QUERY_RULES as QUERY_RULES
from gapgram.text.rules import SPECIAL_RULES as SPECIAL_RULES
from gapgram.text.rules import TextRules as TextRules
from gapgram.text.rules import invalid_utf8, special_word
from gapgram.text.vocabulary import Vocabulary
from gapgram.text.word_table import WordSample, WordTable


@dataclass(frozen=True)
class TextFacts:
    """What a model says of the text it was trained on; the digest does not depend on the order of the sentences."""

    sentences: int
    words: int
    digest: str
    rule: str

    @property
    def positions(self) -> int:
        """How many ids the text has, `<s>` and `</s>` of every sentence included."""
        return self.words + 2 * self.sentences


@dataclass
class TextTally:
    """What was counted of a text, or of a part of it, so far; digest: the sum of the hashes of its sentences."""

    lines: int = 0
    sentences: int = 0
    words: int = 0
    longest_sentence: int = 0
    digest: int = 0

    def add(self, ids: Ids, *, lines: int, empty_lines: int, digest: int) -> None:
        """Count lines, whose sentences have these ids."""
        sentences = lines - empty_lines
        longest = int(np.diff(sentence_begins(ids)).max()) - 2 if ids.size else 0
        self.add_tally(TextTally(lines, sentences, ids.size - 2 * sentences, longest, digest))

    def add_tally(self, other: TextTally) -> None:
        """Count what was counted of another part."""
        self.lines += other.lines
        self.sentences += other.sentences
        self.words += other.words
        self.digest = (self.digest + other.digest) % (1 << 64)
        self.longest_sentence = max(self.longest_sentence, other.longest_sentence)

    def facts(self, rules: TextRules) -> TextFacts:
        """What the whole text is, read by some rules; refuses one that has too little to count."""
        if not self.lines:
            raise TextError("the text is empty: expected one sentence a line")
        if not self.sentences:
            raise TextError(f"the text has {self.lines:,} lines and all are empty: expected one sentence a line")
        if self.words == 1:
            raise TextError("the text is one word in all: a model needs more to count")
        rule = f"min_count={rules.min_count},limit={rules.vocab_limit or 'none'},special={rules.special}"
        if rules.empty_lines == "count":
            rule += ",empty_lines=count"
        return TextFacts(self.sentences, self.words, f"{self.digest:016x}", rule)


@dataclass(frozen=True)
class Corpus:
    """An encoded text: `ids` holds `<s> … </s>` for every sentence, one after the other.

    word_counts: how often each id is met. longest_sentence: its words.
    word_sample: the words that a model of spelling is trained on, where one is asked for.
    """

    ids: Ids
    vocabulary: Vocabulary
    word_counts: Integers
    facts: TextFacts
    longest_sentence: int
    empty_lines: int
    word_sample: WordSample | None = None


@dataclass(frozen=True)
class Encoded:
    """Some lines of a text as ids, `<s> … </s>` for every line that has words."""

    ids: Ids
    sentences: int
    empty_lines: int


def sentence_begins(ids: Ids) -> Begins:
    """Where each sentence of an encoded text begins, and last where the text ends.

    >>> sentence_begins(np.array([1, 7, 2, 1, 8, 9, 2])).tolist()
    [0, 3, 7]
    """
    return np.append(np.flatnonzero(ids == START_ID), ids.size)


def blocks_to_score(
    name: str, texts: Paths | None, sentences: Iterable[str | Sequence[str]] | None, *, progress: bool
) -> Iterator[Block]:
    """The lines of text files, or sentences in memory: what a function of this name is given, one of the two."""
    if (texts is None) == (sentences is None):
        raise UsageError(f"{name}: give text files or sentences, one of the two")
    if sentences is not None:
        return blocks_of_sentences(sentences)
    return blocks_of_files(texts or [], title="scoring", progress=progress)


def numbered_lines(path: str | Path, *, progress: bool = False) -> Iterator[tuple[int, str]]:
    """The lines of a text that a model is asked about, empty ones too, by their numbers."""
    for block in blocks_of_files(path, title="reading", progress=progress):
        text = checked_text(block, QUERY_RULES).tobytes().decode()
        yield from enumerate(text[:-1].split("\n"), block.first_line)


def read_corpus(
    blocks: Iterable[Block],
    rules: TextRules = TextRules(),  # noqa: B008 - frozen
    *,
    threads: int = 1,
) -> Corpus:
    """Learn the vocabulary of a text and encode it; nothing depends on the number of threads.

    >>> corpus = read_corpus(blocks_of_sentences(["a b a", "", "c"]))
    >>> corpus.facts.sentences, corpus.facts.words, corpus.empty_lines, list(corpus.vocabulary)[3:]
    (2, 4, 1, ['a', 'b', 'c'])
    >>> corpus.ids.tolist(), corpus.word_counts.tolist()
    ([1, 3, 4, 3, 2, 1, 5, 2], [0, 2, 2, 2, 1, 1])
    """
    reader = Reader(rules, threads=threads)
    return reader.corpus(list(reader.read(blocks)))


class LearnedText(NamedTuple):
    """A text that was read: what it is, its words, how often each is met, and the final id of each id given out."""

    facts: TextFacts
    vocabulary: Vocabulary
    word_counts: Integers
    new_ids: Ids
    word_sample: WordSample | None


class Reader:
    """Learns the vocabulary of a text whose ids are kept elsewhere: piece by piece, under ids that are not final.

    threads: that read blocks, each with a table of words of its own, which is then taken over.
    """

    def __init__(self, rules: TextRules = TextRules(), *, threads: int = 1) -> None:  # noqa: B008 - frozen
        self.rules, self.tally, self._threads = rules, TextTally(), threads
        self._keep_empty = rules.empty_lines == "count"

    @cached_property
    def table(self) -> WordTable:
        """The words that were read so far."""
        return WordTable()

    def read(self, blocks: Iterable[Block]) -> Iterator[Ids]:
        """The ids of whole sentences, as the table of words numbers them so far."""
        if isinstance(blocks, str):
            raise wrong_type("a text to read", blocks, "blocks of lines, as text.files.blocks_of_files gives them")
        with _closing(blocks):
            if self._threads == 1:
                for block in blocks:
                    yield from self.read_block(block)
            else:
                for pieces in parallel_map(_renumbered, self._taken_over(blocks), self._threads):
                    yield from pieces

    def _taken_over(self, blocks: Iterable[Block]) -> Iterator[tuple[list[Ids], Ids | None]]:
        """The ids of each block, and the number here of each number that they are; None where it is the same."""
        for reader, pieces in parallel_map(self._read_apart, blocks, self._threads):
            numbers = self.table.take_over(reader.table) if self.tally.lines else None
            if numbers is None:  # the first
                self.table = reader.table
            self.tally.add_tally(reader.tally)
            yield pieces, numbers

    def _read_apart(self, block: Block) -> tuple[Reader, list[Ids]]:
        """A reader that has read one block, and the ids that it gave out."""
        reader = Reader(self.rules)
        return reader, list(reader.read_block(block))

    def take(self, pieces: Iterator[Ids], positions: float) -> list[Ids]:
        """The first pieces of what `read` gives, until there are more than so many positions, or all."""
        taken, n = [], 0
        for piece in pieces:
            taken.append(piece)
            n += piece.size
            if n > positions:
                break
        return taken

    def read_block(self, block: Block) -> Iterator[Ids]:
        """The ids of a block's sentences."""
        text, special = checked_text(block, self.rules), SPECIAL_RULES[self.rules.special]
        table, begin = self.table, 0
        while begin < text.size:
            out = np.empty(2 * (text.size - begin) + 2, np.int32)
            status, stopped, table.n, used, lines, empty, digest = kernels.learn_lines(
                text, begin, special, self._keep_empty,
                table.slots, table.pool, table.offsets, table.counts, table.n, table.key, out,
            )  # fmt: skip
            if status == kernels.SPECIAL_FOUND:
                raise special_word(block, text, stopped, self.rules)
            ids = out[:used].copy()
            self.tally.add(ids, lines=lines, empty_lines=empty, digest=int(digest))
            if used:
                yield ids
            if status == kernels.TABLE_FULL:
                table.grow(int(np.argmax(text[stopped:] == ord("\n"))) + 1)
            begin = stopped

    def finish(self) -> LearnedText:
        """What was read in all; the table of words ends with this."""
        facts = self.tally.facts(self.rules)
        vocabulary, counts, new_ids, order = self.table.vocabulary(self.rules.min_count, self.rules.vocab_limit)
        counts[[START_ID, END_ID]] = facts.sentences
        sample = self.table.sample(order, len(vocabulary)) if self.rules.open_vocabulary else None
        return LearnedText(facts, vocabulary, counts, new_ids, sample)

    def corpus(self, pieces: list[Ids]) -> Corpus:
        """The text whose ids these are, as `read` gave them out; empties the list."""
        facts, vocabulary, word_counts, new_ids, sample = self.finish()
        ends = np.cumsum([piece.size for piece in pieces]).tolist()
        ids, empty_lines = np.empty(ends[-1], np.int32), self.tally.lines - facts.sentences

        def number(i: int) -> None:
            renumber(pieces[i], new_ids, ids[ends[i] - pieces[i].size : ends[i]])

        list(parallel_map(number, range(len(pieces)), self._threads))
        pieces.clear()
        return Corpus(ids, vocabulary, word_counts, facts, self.tally.longest_sentence, empty_lines, sample)


def _renumbered(block: tuple[list[Ids], Ids | None]) -> list[Ids]:
    """Ids under other numbers."""
    pieces, numbers = block
    if numbers is not None:
        for piece in pieces:
            renumber(piece, numbers, piece)
    return pieces


def encode(blocks: Iterable[Block], vocabulary: Vocabulary, rules: TextRules = QUERY_RULES) -> Iterator[Encoded]:
    """Encode text with a vocabulary, a few megabytes at a time; other words become `<unk>`.

    Empty lines become nothing, unless the rules count them.
    """
    with _closing(blocks):
        for block in blocks:
            yield encode_block(block, vocabulary, rules, keep_empty=rules.empty_lines == "count")


def encode_block(
    block: Block, vocabulary: Vocabulary, rules: TextRules = QUERY_RULES, *, keep_empty: bool = False
) -> Encoded:
    """Encode lines with a vocabulary. Empty lines are left out, or, if `keep_empty`, become sentences of no words."""
    text = checked_text(block, rules)
    out = np.empty(2 * text.size + 2, np.int32)
    rule = SPECIAL_RULES[rules.special]
    status, stopped, used, lines, empty = vocabulary.encode_lines(text, rule, keep_empty, out)
    if status == kernels.SPECIAL_FOUND:
        raise special_word(block, text, stopped, rules)
    return Encoded(out[:used].copy(), lines if keep_empty else lines - empty, empty)


def checked(blocks: Iterable[Block], rules: TextRules) -> Iterator[Block]:
    """The blocks of a text that the rules allow, bytes that are not UTF-8 replaced where they may be."""
    nothing = Vocabulary.of([])
    with _closing(blocks):
        for block in blocks:
            valid = replace(block, held=checked_text(block, rules))
            encode_block(valid, nothing, rules)
            yield valid


@contextlib.contextmanager
def _closing(blocks: Iterable[Block]) -> Iterator[None]:
    """Close the file that blocks come from, also where reading it stops early."""
    try:
        yield
    finally:
        if isinstance(blocks, Generator):
            blocks.close()


def checked_text(block: Block, rules: TextRules) -> Bytes:
    """The bytes of a block, known to be UTF-8."""
    text = block.text
    if is_utf8(text):
        return text
    try:
        str(text.data, "utf-8")  # which says where it is not
    except UnicodeDecodeError as error:
        if rules.invalid == "error":
            raise invalid_utf8(block, error.start) from None
        text = np.frombuffer(block.data.decode("utf-8", "replace").encode("utf-8"), np.uint8)
    return text
