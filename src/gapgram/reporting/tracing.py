"""Where a text comes from: for each of its words the longest run of words from there on that a training text has.

Some runs are long by chance. In a text of N words, of which each tells H bits, runs of about log2(N) / H words of any
other text are found (Wyner and Ziv, 1989); H is what the model needed for words left out of its own text. A word is
*copied* where it lies in a run of at least twice as many words, and 8 at least; a document's score is the share of its
words that are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any

import numpy as np

from gapgram.arguments import checked_whole
from gapgram.arrays import Integers, Mask
from gapgram.errors import UsageError
from gapgram.kernels.unbounded.suffixes import longest_matches
from gapgram.models.model import Model
from gapgram.models.unbounded import UnboundedModel
from gapgram.queries.language_model import LanguageModel
from gapgram.queries.session import pieces_of_documents
from gapgram.system.parallel import parallel_map
from gapgram.text.corpus import QUERY_RULES, TextRules, encode_block, sentence_begins
from gapgram.text.files import Block

LEAST_COPIED, TIMES_CHANCE = 8, 2


@dataclass(frozen=True)
class TracedLine:
    """A line: its words, for each the length of the longest run from there on and how often the training text has it,
    whether it lies in a copied run, and the longest run: which words of the line, and a place in the training text."""

    file: str
    line: int
    words: tuple[str, ...]
    lengths: Integers
    counts: Integers
    copied: Mask
    longest: tuple[int, int]
    sentence: int
    source: str
    source_line: int | None

    def as_dict(self) -> dict[str, Any]:
        """All by name, for JSON."""
        begin, end = self.longest
        run = " ".join(self.words[begin:end])
        return {
            "file": self.file, "line": self.line, "words": list(self.words), "lengths": self.lengths.tolist(),
            "counts": self.counts.tolist(), "copied": int(self.copied.sum()), "longest": run,
            "sentence": self.sentence, "source": self.source, "source_line": self.source_line,
        }  # fmt: skip


@dataclass(frozen=True)
class TracedDocument:
    """A document: its lines, and its figures."""

    lines: tuple[TracedLine, ...]
    chance: float
    least: int

    @cached_property
    def words(self) -> int:
        """How many words it has."""
        return sum(len(line.words) for line in self.lines)

    @property
    def mean_length(self) -> float:
        """The mean length of the longest run from a word on."""
        return sum(int(line.lengths.sum()) for line in self.lines) / max(self.words, 1)

    @property
    def score(self) -> float:
        """The share of its words that lie in copied runs."""
        return sum(int(line.copied.sum()) for line in self.lines) / max(self.words, 1)

    @property
    def longest(self) -> TracedLine:
        """The line with the longest run."""
        return max(self.lines, key=lambda line: line.longest[1] - line.longest[0])

    def as_dict(self) -> dict[str, Any]:
        """The figures by name, and the lines."""
        return {
            "file": self.lines[0].file, "line": self.lines[0].line, "words": self.words, "score": self.score,
            "mean_length": self.mean_length, "chance": self.chance, "least": self.least,
            "lines": [line.as_dict() for line in self.lines],
        }  # fmt: skip

    def __str__(self) -> str:
        first, line = self.lines[0], self.longest
        begin, end = line.longest
        run = " ".join(line.words[begin:end])
        place = f"{line.source}:{line.source_line}" if line.source_line is not None else f"sentence {line.sentence:,}"
        found = f"\n  longest, {end - begin} words, {line.file}:{line.line} from {place}: {run}" if end > begin else ""
        return (
            f"{first.file}:{first.line}\t{self.words:,} words\t{self.score:.1%} copied\t"
            f"mean length {self.mean_length:.1f}, {self.chance:.1f} by chance{found}"
        )


class Tracer:
    """Traces texts in the training text of a model that keeps it."""

    def __init__(self, model: LanguageModel, *, least: int | None = None) -> None:
        if not isinstance(model, UnboundedModel):
            raise UsageError(f"{model.path or 'the model'} keeps no text to look in: train it with --unbounded")
        if least is not None and checked_whole("least", least) < 1:
            raise UsageError(f"least {least}: expected a number of words, 1 or more")
        self.model, text = model, model.text
        with text.believed(model.path):
            self._starts = text.first_suffixes(len(model.vocabulary))
        self.chance = chance_length(model)
        self.least = max(LEAST_COPIED, math.ceil(TIMES_CHANCE * self.chance)) if least is None else least

    def documents(
        self, blocks: Iterable[Block], rules: TextRules = QUERY_RULES, *, threads: int | None = None
    ) -> Iterator[TracedDocument]:
        """The documents of a text; an empty line, or a new file, begins one."""
        held: list[TracedLine] = []
        pieces = (item for block in blocks for item in pieces_of_documents(block, documents=True))

        def lines_of(item: tuple[bool, Block]) -> tuple[bool, list[TracedLine]]:
            return item[0], self.lines(item[1], rules)

        for is_new, lines in parallel_map(lines_of, pieces, threads, ahead=3):
            if is_new and held:
                yield TracedDocument(tuple(held), self.chance, self.least)
                held = []
            held += lines
        if held:
            yield TracedDocument(tuple(held), self.chance, self.least)

    def lines(self, block: Block, rules: TextRules = QUERY_RULES) -> list[TracedLine]:
        """The lines of a block that have words."""
        cut = self.model.tokenised(block, rules)
        ids = encode_block(cut, self.model.vocabulary, rules, keep_empty=True).ids
        begins = sentence_begins(ids)
        lengths, counts, lows = (np.empty(ids.size, np.int64) for _ in range(3))
        longest_matches(self.model.text.index, self._starts, ids, begins, lengths, counts, lows)
        # Runs end with the last word of their line; one that begins with `<s>` begins with the first word.
        sizes, places = np.diff(begins), np.arange(ids.size)
        first, last = np.repeat(begins[:-1] + 1, sizes), np.repeat(begins[1:] - 1, sizes)
        own, starts = np.minimum(lengths, last - places), np.flatnonzero((lengths >= self.least) & (places < last))
        marks = np.zeros(ids.size + 1, np.int64)
        np.add.at(marks, np.maximum(starts, first[starts]), 1)
        np.add.at(marks, np.minimum(starts + lengths[starts], last[starts]), -1)
        bounds = zip((begins[:-1] + 1).tolist(), (begins[1:] - 1).tolist(), strict=True)  # of words
        copied, shown = np.cumsum(marks) > 0, zip(bounds, cut.data.split(b"\n"), strict=False)
        with self.model.text.believed(self.model.path):
            return [
                self._line(cut.name, number, words, own[a:b], counts[a:b], lows[a:b], copied[a:b])
                for number, ((a, b), words) in enumerate(shown, cut.first_line) if b > a
            ]  # fmt: skip

    def _line(
        self, file: str, line: int, shown: bytes, lengths: Integers, counts: Integers, lows: Integers, copied: Mask
    ) -> TracedLine:
        at, text = int(lengths.argmax()), self.model.text
        end = at + int(lengths[at])
        place = text.place(int(text.index.suffixes[lows[at]])) if end > at else None
        return TracedLine(
            file, line, tuple(shown.decode("utf-8", "replace").split()), lengths, counts, copied, (at, end),
            place.sentence if place else 0, place.file if place else "", place.line if place else None,
        )  # fmt: skip


def chance_length(model: Model) -> float:
    """How long the longest run of a word of other text is by chance."""
    assert model.parts.unbounded is not None, "the model keeps its text"
    size = model.parts.unbounded.index.text.size
    perplexity = float(model.parts.weights.report.get("perplexity_after", len(model.vocabulary)))
    return math.log2(size) / max(math.log2(max(perplexity, 2.0)), 1.0)


_WIDTH, _HEIGHT, _COLUMNS = 7.2, 20, 110  # of a letter, of a line, in letters


def as_svg(documents: Iterable[TracedDocument]) -> str:
    """A picture of documents: the longer the run from a word on, the darker; copied words are underlined."""
    texts, y = [], _HEIGHT
    for document in documents:
        for line in document.lines:
            x = 0
            for word, length, copied in zip(line.words, line.lengths.tolist(), line.copied.tolist(), strict=False):
                if x and x + len(word) > _COLUMNS:
                    x, y = 0, y + _HEIGHT
                dark = min(max(length - document.chance, 0.0) / (2 * document.least), 1.0)
                box = f'<rect x="{x * _WIDTH:.1f}" y="{y - 14}" width="{len(word) * _WIDTH:.1f}" height="18"'
                texts.append(f'{box} fill="#d9480f" fill-opacity="{0.75 * dark:.2f}"/>')
                under = ' text-decoration="underline"' if copied else ""
                told = escape(f"{word}: {length} words")
                texts.append(
                    f'<text x="{x * _WIDTH:.1f}" y="{y}"{under}><title>{told}</title>{escape(word)}</text>'
                )
                x += len(word) + 1
            y += _HEIGHT
        y += _HEIGHT // 2
    size = f'width="{_COLUMNS * _WIDTH:.0f}" height="{y}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="monospace" font-size="12">'
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *texts, "</svg>", ""])

