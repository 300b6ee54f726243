"""Scores of the lines of a text, in order, a few megabytes at a time on all cores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from gapgram.arguments import wrong_type
from gapgram.arrays import Begins, Floats, Ids, Mask
from gapgram.kernels.compiled import KindError
from gapgram.kernels.probability.scores import sum_sequences
from gapgram.kernels.text.special_words import UNKNOWN_ID
from gapgram.queries.attached_marks import warn_of_attached_marks
from gapgram.queries.perplexity import perplexity_of
from gapgram.queries.predict import NamesWords
from gapgram.system.parallel import parallel_map
from gapgram.text.corpus import QUERY_RULES, TextRules
from gapgram.text.files import BLOCK_BYTES, Block, blocks_of_files, pieces_of

if TYPE_CHECKING:
    from gapgram.queries.language_model import LanguageModel
    from gapgram.queries.session import Session

Result = TypeVar("Result")
LineKernel = Callable[[bytes | str, bool, bool], float]  # the score of a line; no number where it was not scored

PIECE_BYTES = 1 << 18  # of text, for one thread at a time; encoding and scoring share a cache


class ScoredLines(NamedTuple):
    """Lines of text, scored; lines without words too.

    ids: of all positions, `<s>` first in every line and `</s>` last, unless they are left out.
    scores: log10 of the probability of each position; 0 for `<s>`.
    begins: where lines begin, and where the last one ends. sums: of the scores of each line.
    block: the lines, as words of the model.
    """

    ids: Ids
    scores: Floats
    begins: Begins
    sums: Floats
    block: Block


class LineScore(NamedTuple):
    """log10 of the probability of a line and of its words; a line without words has no words.

    line: as it was read, bytes of UTF-8.
    """

    log10_prob: float
    words: int
    unknown_words: int
    word_scores: tuple[tuple[str, float], ...]
    line: bytes = b""

    @property
    def text(self) -> str:
        """The line itself."""
        return self.line.decode("utf-8", "replace")

    @property
    def perplexity(self) -> float:
        """Per word, the end of the line counted as one; so that long and short lines can be compared.

        >>> LineScore(-8.0, 3, 0, ()).perplexity
        100.0
        """
        return perplexity_of(self.log10_prob, self.words + 1)

    def as_dict(self, *, words: bool) -> dict[str, Any]:
        """The figures by name, for JSON."""
        out: dict[str, Any] = {
            "log10_prob": self.log10_prob,
            "words": self.words,
            "unknown_words": self.unknown_words,
        }
        if words:
            out["scores"] = [{"word": word, "log10_prob": score} for word, score in self.word_scores]
        return out


def score_of_text(kernel: LineKernel, sentence: str, bos: bool, eos: bool) -> float | None:
    """What a kernel says of a sentence; None where it is to be looked at more closely."""
    try:
        if sentence.isascii():
            score = kernel(sentence, bos, eos)
        elif "\n" in sentence:
            return None
        else:  # a string would keep the bytes
            score = kernel(f"{sentence}\n".encode(), bos, eos)
    except (KindError, UnicodeEncodeError):  # newlines, other than true and false, halves of characters
        return None
    return score if score == score else None  # no number, such as for a line with `<s>` in it


def score_lines(
    model: LanguageModel,
    text: str | Path,
    *,
    words: bool = False,
    open_vocabulary: bool = False,
    rules: TextRules | None = None,
    threads: int | None = None,
) -> Iterator[LineScore]:
    """The score of every line of a text; empty lines have no words and the probability of nothing, 1.

    words: fill `word_scores` too, with the words as the line has them.
    open_vocabulary: words that the model does not know have probabilities of their own, not that of `<unk>`.
    """
    if not hasattr(model, "score_block"):
        raise wrong_type("score_lines", model, "a model first, then a text")
    blocks = score_line_blocks(
        model, text, words=words, open_vocabulary=open_vocabulary, rules=rules, threads=threads
    )
    return chain.from_iterable(blocks)


def score_line_blocks(
    model: LanguageModel,
    text: str | Path,
    *,
    words: bool = False,
    open_vocabulary: bool = False,
    rules: TextRules | None = None,
    threads: int | None = None,
) -> Iterator[list[LineScore]]:
    """As `score_lines`, the lines that were scored at once together: what a pipe had to give, or some kilobytes."""
    asked = rules or QUERY_RULES

    def score(piece: Block) -> tuple[Block, ScoredLines]:
        return piece, model.score_block(piece, asked)

    for raw, lines in map_pieces(score, model, blocks_of_files(text), threads):
        scored = model.opened(lines) if open_vocabulary else lines
        yield _line_scores(raw, scored, is_unknown(model, lines.ids), model.vocabulary if words else None)


def read_line_blocks(
    session: Session,
    text: str | Path,
    *,
    words: bool = False,
    learn: bool = True,
    documents: bool = False,
    rules: TextRules | None = None,
) -> Iterator[list[LineScore]]:
    """As `score_line_blocks`, by a session, which learns each word once it was predicted.

    A word that the model does not know counts as unknown also once it was read, but has its name then.
    documents: each is read by itself; an empty line begins one.
    """
    blocks = blocks_of_files(text)
    for raw, lines in session.score_blocks(blocks, rules or QUERY_RULES, learn=learn, documents=documents):
        ids, begins = lines.text
        scored = ScoredLines(ids, lines.scores, begins, sum_sequences(lines.scores, begins), lines.block)
        yield _line_scores(raw, scored, ~lines.known, session.vocabulary if words else None)


def map_pieces(
    work: Callable[[Block], Result], model: LanguageModel, blocks: Iterable[Block], threads: int | None
) -> Iterator[Result]:
    """What `work` makes of the pieces of a text, in their order, of as many bytes as suit the model.

    What a pipe had to give does not wait for more: who writes into it may wait for an answer. Blocks of a file do, so
    that threads go on with the next block where one ends.
    """
    source, threads = iter(blocks), threads if model.piece_bytes < BLOCK_BYTES else 1
    for number, block in enumerate(source):
        if number == 0:
            warn_of_attached_marks(model, block)
        yield from parallel_map(work, pieces_of(block, source, model.piece_bytes), threads, ahead=3)


def is_unknown(model: LanguageModel, ids: Ids) -> Mask:
    """Which words are unknown: to the model, or characters unknown to its tokeniser."""
    unknown: Mask = ids == UNKNOWN_ID
    if model.tokeniser is not None and model.tokeniser.unknown is not None:
        unknown |= ids == model.vocabulary.id(model.tokeniser.unknown)
    return unknown


def _line_scores(
    raw: Block, scored: ScoredLines, unknown_words: Mask, vocabulary: NamesWords | None
) -> list[LineScore]:
    """The scores of lines, and of words where there is a vocabulary to name them. raw: the lines as they were read."""
    n_unknown = sum_sequences(unknown_words.astype(float), scored.begins).tolist()
    bounds, sums = pairwise(scored.begins.tolist()), scored.sums.tolist()
    out = []
    lines = zip(raw.data.split(b"\n"), scored.block.data.split(b"\n"), strict=True)
    for (a, b), total, unknown, (line, as_words) in zip(bounds, sums, n_unknown, lines, strict=False):
        if b - a == 2:
            out.append(LineScore(0.0, 0, 0, ()))
            continue
        span = slice(a + 1, b)
        pairs = _word_scores(vocabulary, as_words, scored.ids[span], scored.scores[span]) if vocabulary else ()
        out.append(LineScore(total, b - a - 2, int(unknown), pairs, line))
    return out


def _word_scores(vocabulary: NamesWords, line: bytes, ids: Ids, scores: Floats) -> tuple[tuple[str, float], ...]:
    """The words and the end of a line, each with its score; unknown words as the line has them."""
    words, as_written = [vocabulary[i] for i in ids.tolist()], line.split()
    if len(as_written) == ids.size - 1:  # none was skipped
        for i in np.flatnonzero(ids[:-1] == UNKNOWN_ID).tolist():
            words[i] = as_written[i].decode("utf-8", "replace")
    return tuple(zip(words, scores.tolist(), strict=True))
