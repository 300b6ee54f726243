"""Scores of the lines of a text, in order, a few megabytes at a time on all cores."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from gapgram.arrays import Begins, Floats, Ids
from gapgram.kernels.scoring import sum_sequences
from gapgram.queries.language_model import sentence_begins
from gapgram.text.corpus import TextRules, blocks_of_files, encode
from gapgram.text.vocabulary import Vocabulary


class Scoring(Protocol):
    """What is needed of a model."""

    @property
    def vocabulary(self) -> Vocabulary: ...
    def score_ids(self, ids: Ids, begins: Begins, *, threads: int | None = None) -> Floats: ...


class LineScore(NamedTuple):
    """log10 of the probability of a line and of its words; a line without words has no words."""

    log10_prob: float
    words: int
    unknown_words: int
    word_scores: tuple[tuple[str, float], ...]
    text: str = ""

    @property
    def perplexity(self) -> float:
        """Per word, the end of the line counted as one; so that long and short lines can be compared.

        >>> LineScore(-8.0, 3, 0, ()).perplexity
        100.0
        """
        return float(10.0 ** (-self.log10_prob / (self.words + 1)))

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


def score_lines(
    model: Scoring,
    text: str | Path,
    *,
    words: bool = False,
    rules: TextRules | None = None,
    threads: int | None = None,
) -> Iterator[LineScore]:
    """The score of every line of a text; empty lines have no words and the probability of nothing, 1.

    words: fill `word_scores` too. Its words are the model's: one that it does not know is `<unk>`.
    """
    return chain.from_iterable(score_blocks(model, text, words=words, rules=rules, threads=threads))


def score_blocks(
    model: Scoring,
    text: str | Path,
    *,
    words: bool = False,
    rules: TextRules | None = None,
    threads: int | None = None,
) -> Iterator[list[LineScore]]:
    """As `score_lines`, the lines that were read at once together: what a pipe had to give, or some megabytes."""
    rules = rules or TextRules(special="unk")
    for block in blocks_of_files(text):
        (part,) = encode([block], model.vocabulary, rules, keep_empty=True)
        lines = block.data.decode("utf-8", "replace").split("\n")
        begins = sentence_begins(part.ids)
        scores = model.score_ids(part.ids, begins, threads=threads)
        sums = sum_sequences(scores, begins)
        unknown = sum_sequences((part.ids == 0).astype(float), begins)
        out = []
        for a, b, score, n_unknown, line in zip(
            begins.tolist(), begins[1:].tolist(), sums.tolist(), unknown.tolist(), lines, strict=False
        ):
            if b - a == 2:
                out.append(LineScore(0.0, 0, 0, ()))
                continue
            pairs = _word_scores(model.vocabulary, part.ids[a + 1 : b], scores[a + 1 : b]) if words else ()
            out.append(LineScore(score, b - a - 2, int(n_unknown), pairs, line))
        yield out


def _word_scores(vocabulary: Vocabulary, ids: Ids, scores: Floats) -> tuple[tuple[str, float], ...]:
    return tuple((vocabulary[i], score) for i, score in zip(ids.tolist(), scores.tolist(), strict=True))
