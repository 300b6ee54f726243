"""Text in, ids out: one sentence a line, words by ASCII white space.

`read_corpus` learns a vocabulary from text and encodes it; `encode` encodes text with the vocabulary of a
model. What may be wrong with text, and the choices there are, is the same for both (`TextRules`).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gapgram.arrays import Bytes, Ids, Integers
from gapgram.errors import TextError, UsageError
from gapgram.kernels import words as kernels
from gapgram.kernels.special_words import SPECIAL, START_ID
from gapgram.system.parallel import read_ahead
from gapgram.system.progress import Progress
from gapgram.text.files import BLOCK_BYTES, Block, read_blocks
from gapgram.text.vocabulary import Vocabulary
from gapgram.text.word_table import WordTable

Paths = str | Path | Sequence[str | Path]

SPECIAL_RULES = {
    "error": kernels.REFUSE_SPECIAL,
    "skip": kernels.SKIP_SPECIAL,
    "unk": kernels.ALLOW_UNKNOWN,
}


@dataclass(frozen=True)
class TextRules:
    """What to do with text that holds special words or is not UTF-8.

    special: `error`, `skip` (leave such words out), or `unk` (`<unk>` in the text stands for unknown
        words; `<s>` and `</s>` are still errors).
    invalid: `error`, or `replace` (by U+FFFD).
    """

    special: str = "error"
    invalid: str = "error"

    def __post_init__(self) -> None:
        if self.special not in SPECIAL_RULES:
            raise UsageError(f"special words: {self.special!r}; expected error, skip or unk")
        if self.invalid not in ("error", "replace"):
            raise UsageError(f"invalid UTF-8: {self.invalid!r}; expected error or replace")


QUERY_RULES = TextRules(special="unk")  # of a text that a model is asked about


@dataclass(frozen=True)
class Corpus:
    """An encoded text: `ids` holds `<s> … </s>` for every sentence, one after the other."""

    ids: Ids
    vocabulary: Vocabulary
    sentences: int
    words: int
    empty_lines: int
    digest: str
    rule: str


@dataclass(frozen=True)
class Encoded:
    """Some lines of a text as ids, `<s> … </s>` for every line that has words."""

    ids: Ids
    sentences: int
    empty_lines: int


def as_paths(texts: Paths) -> list[str | Path]:
    """One path or several, as a list."""
    paths: list[str | Path] = [texts] if isinstance(texts, str | Path) else list(texts)
    if not paths:
        raise UsageError("no text: name at least one file, or - for standard input")
    return paths


def blocks_of_files(
    texts: Paths, *, title: str = "reading", progress: bool = False, block_bytes: int = BLOCK_BYTES
) -> Iterator[Block]:
    """The lines of all files, one after the other, with a progress bar by bytes on disk."""
    paths = as_paths(texts)
    sizes = [os.path.getsize(p) for p in paths if os.path.isfile(p)]
    with Progress(title, total=sum(sizes) or None, unit="B", progress=progress) as bar:
        for path in paths:
            blocks = read_blocks(path, bar.advance, block_bytes=block_bytes)
            yield from read_ahead(blocks) if os.path.isfile(path) else blocks


def blocks_of_sentences(
    sentences: Iterable[str | Sequence[str]], *, block_bytes: int = BLOCK_BYTES
) -> Iterator[Block]:
    """Sentences held in memory, as strings or as lists of words, as if they were lines of a file.

    block_bytes: from so many on, a block is full.
    """
    if isinstance(sentences, str):
        raise UsageError("sentences: expected a list of sentences, found one string; put it into a list")
    line, used = 1, 0
    lines: list[bytes] = []
    for sentence in sentences:
        lines.append(_line_of(sentence, line + len(lines)))
        used += len(lines[-1])
        if used > block_bytes:
            yield Block("sentences", line, b"\n".join([*lines, b""]))
            line, lines, used = line + len(lines), [], 0
    if lines:
        yield Block("sentences", line, b"\n".join([*lines, b""]))


def block_of_sentence(sentence: str | Sequence[str]) -> Block:
    """One sentence as `blocks_of_sentences` gives it."""
    return Block("sentences", 1, _line_of(sentence, 1) + b"\n")


def _line_of(sentence: str | Sequence[str], number: int) -> bytes:
    if isinstance(sentence, str):
        return sentence.replace("\n", " ").encode("utf-8", "surrogatepass")
    line = " ".join(sentence).encode("utf-8", "surrogatepass")
    if b"\n" in line or len(line.split()) != len(sentence):
        raise UsageError(f"sentence {number}: a word of a list may not be empty or hold white space")
    return line


def read_corpus(
    blocks: Iterable[Block],
    *,
    min_count: int = 1,
    vocab_limit: int | None = None,
    rules: TextRules = TextRules(),  # noqa: B008 - frozen
) -> Corpus:
    """Learn the vocabulary of a text and encode it.

    Words met fewer than `min_count` times, and all but the `vocab_limit` most frequent (ties by the order
    of their bytes), become `<unk>`. The digest does not depend on the order of the sentences.

    >>> corpus = read_corpus(blocks_of_sentences(["a b a", "", "c"]))
    >>> corpus.sentences, corpus.words, corpus.empty_lines, list(corpus.vocabulary)[3:]
    (2, 4, 1, ['a', 'b', 'c'])
    >>> corpus.ids.tolist()
    [1, 3, 4, 3, 2, 1, 5, 2]
    """
    reader = Reader(min_count=min_count, vocab_limit=vocab_limit, rules=rules)
    pieces = list(reader.read(blocks))
    ids = np.concatenate(pieces)
    pieces.clear()
    facts, vocabulary, new_ids = reader.finish()
    return Corpus(new_ids[ids], vocabulary, facts.sentences, facts.words, facts.empty_lines, facts.digest, facts.rule)


@dataclass(frozen=True)
class TextFacts:
    """What a text is, beside its words; `longest` is the number of words of its longest sentence."""

    sentences: int
    words: int
    longest: int
    empty_lines: int
    digest: str
    rule: str

    @property
    def positions(self) -> int:
        """How many ids the text has, `<s>` and `</s>` of every sentence included."""
        return self.words + 2 * self.sentences


class PartOfText(NamedTuple):
    """The words of a part of a text: their bytes, where each begins and ends, how often each was met; its facts."""

    pool: Bytes
    offsets: Integers
    counts: Integers
    lines: int
    sentences: int
    words: int
    longest: int
    digest: int


class Reader:
    """Learns the vocabulary of a text whose ids are kept elsewhere: piece by piece, under ids that are not final."""

    def __init__(
        self,
        *,
        min_count: int = 1,
        vocab_limit: int | None = None,
        rules: TextRules = TextRules(),  # noqa: B008 - frozen
    ) -> None:
        if min_count < 1:
            raise UsageError(f"minimum count {min_count}: expected 1 or more")
        if vocab_limit is not None and vocab_limit < 1:
            raise UsageError(f"vocabulary limit {vocab_limit}: expected 1 or more words")
        self._min_count, self._vocab_limit, self._rules = min_count, vocab_limit, rules
        self._table = WordTable()
        self._lines = self._empty = self._positions = self._longest = self._digest = 0

    def read(self, blocks: Iterable[Block]) -> Iterator[Ids]:
        """The ids of whole sentences, as the table of words numbers them so far."""
        with _closing(blocks):
            for block in blocks:
                yield from self.read_block(block)
        if not self._lines:
            raise TextError("the text is empty: expected one sentence a line")
        if self._lines == self._empty:
            raise TextError(f"the text has {self._lines:,} lines and all are empty: expected one sentence a line")
        if self._words == 1:
            raise TextError("the text is one word in all: a model needs more to count")

    def read_block(self, block: Block) -> Iterator[Ids]:
        """The ids of a block's sentences; for a text that others read parts of, which may be empty."""
        text, table, special = text_of(block, self._rules), self._table, SPECIAL_RULES[self._rules.special]
        begin = 0
        while begin < text.size:
            out = np.empty(2 * (text.size - begin) + 2, np.int32)
            status, stopped, table.n, used, lines, empty, digest = kernels.learn_lines(
                text, begin, special, table.slots, table.pool, table.offsets, table.counts, table.n, out
            )
            if status == kernels.SPECIAL_FOUND:
                raise special_word(block, text, stopped, self._rules)
            self._lines, self._empty = self._lines + lines, self._empty + empty
            self._digest = (self._digest + int(digest)) % (1 << 64)
            if used:
                ids = out[:used].copy()
                starts = np.flatnonzero(ids == START_ID)
                self._positions += used
                self._longest = max(self._longest, int(np.diff(starts, append=used).max()) - 2)
                yield ids
            if status == kernels.TABLE_FULL:
                table.grow(int(np.argmax(text[stopped:] == ord("\n"))) + 1)
            begin = stopped

    @property
    def _words(self) -> int:
        return self._positions - 2 * (self._lines - self._empty)

    def part(self) -> PartOfText:
        """What was read so far, for one who puts several parts together."""
        table, first = self._table, len(SPECIAL)
        words = table.pool, table.offsets[first : table.n + 1], table.counts[first : table.n]
        return PartOfText(*words, self._lines, self._lines - self._empty, self._words, self._longest, self._digest)

    def finish(self) -> tuple[TextFacts, Vocabulary, Ids]:
        """What was read, its vocabulary, and the final id of each id that was given out."""
        vocabulary, new_ids = self._table.vocabulary(self._min_count, self._vocab_limit)
        rule = f"min_count={self._min_count},limit={self._vocab_limit or 'none'},special={self._rules.special}"
        facts = TextFacts(
            self._lines - self._empty, self._words, self._longest, self._empty, f"{self._digest:016x}", rule
        )
        return facts, vocabulary, new_ids


def encode(
    blocks: Iterable[Block],
    vocabulary: Vocabulary,
    rules: TextRules = QUERY_RULES,
) -> Iterator[Encoded]:
    """Encode text with a vocabulary, a few megabytes at a time; other words become `<unk>`, empty lines nothing."""
    with _closing(blocks):
        for block in blocks:
            yield encode_block(block, vocabulary, rules)


def encode_block(
    block: Block, vocabulary: Vocabulary, rules: TextRules = QUERY_RULES, *, keep_empty: bool = False
) -> Encoded:
    """Encode lines with a vocabulary. Empty lines are left out, or, if `keep_empty`, become sentences of no words."""
    text = text_of(block, rules)
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
            valid = replace(block, data=text_of(block, rules).tobytes())
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


def text_of(block: Block, rules: TextRules) -> Bytes:
    """The bytes of a block, known to be UTF-8."""
    data = block.data
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        if rules.invalid == "error":
            raise _invalid_utf8(block, error.start) from None
        data = data.decode("utf-8", "replace").encode("utf-8")
    return np.frombuffer(data, np.uint8)


def _invalid_utf8(block: Block, at: int) -> TextError:
    line_begin = block.data.rfind(b"\n", 0, at) + 1
    line = block.first_line + block.data.count(b"\n", 0, at)
    if line == 1 and block.data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return TextError(f"{block.name}:1: starts with a UTF-16 byte-order mark: convert it to UTF-8 first")
    return TextError(
        f"{block.name}:{line}: byte {at - line_begin + 1} of the line (0x{block.data[at]:02x}) is not valid UTF-8: "
        "mend the file, or have such bytes replaced (--invalid replace)"
    )


def special_word(block: Block, text: Bytes, line_begin: int, rules: TextRules) -> TextError:
    """What to say of the line that a kernel stopped at, for a word that it may not hold."""
    data = text.tobytes()  # not block.data, whose places move where bytes were replaced
    line = block.first_line + data.count(b"\n", 0, line_begin)
    refused = SPECIAL if rules.special == "error" else SPECIAL[1:]
    words = data[line_begin : data.index(b"\n", line_begin)].split()
    word = next(w for w in refused if w.encode() in words)
    advice = "leave such words out (--special skip)"
    if word == SPECIAL[0]:
        advice += " or let it stand for unknown words (--special unk)"
    return TextError(f"{block.name}:{line}: the word {word} is the model's own: {advice}")
