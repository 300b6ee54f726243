"""Perplexity of a text: a figure that carries what it was computed from."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from gapgram.arrays import Begins, Bytes, Floats, Mask
from gapgram.kernels.text.figures import figures_of_lines, size_of_lines
from gapgram.queries.shown import html_facts


@dataclass(frozen=True, repr=False)
class Perplexity:
    """How surprised a model is by a text.

    `words` counts the words of the text, of a model with a tokeniser its tokens; every sentence is one prediction more,
    its `</s>`. So `perplexity` is 10 to the power of -log10_prob / (words + sentences). `perplexity_known` leaves out
    the predictions of words that the model does not know. `text_words` and `text_bytes` are those of the raw text, ends
    of lines among the bytes; None where a text came as tokens. What is measured by them can be compared between
    models that cut text in different ways. Of a model with an open vocabulary `log10_prob_open` has for each unknown
    word its own probability; what is measured by it can be compared between models that know different words.

    >>> Perplexity(words=3, unknown_words=0, sentences=1, log10_prob=-8.0, log10_prob_known=-8.0,
    ...            signature="").perplexity
    100.0
    """

    words: int
    unknown_words: int
    sentences: int
    log10_prob: float
    log10_prob_known: float
    signature: str
    empty_lines: int = 0
    text_words: int | None = None
    text_bytes: int | None = None
    log10_prob_open: float | None = None

    @property
    def predictions(self) -> int:
        """Words and ends of sentences."""
        return self.words + self.sentences

    @property
    def perplexity(self) -> float:
        """With unknown words."""
        return perplexity_of(self.log10_prob, self.predictions)

    @property
    def perplexity_known(self) -> float:
        """Without unknown words."""
        return perplexity_of(self.log10_prob_known, self.predictions - self.unknown_words)

    @property
    def perplexity_open(self) -> float:
        """With unknown words, each by its own spelling; not a number where the vocabulary is not open."""
        return math.nan if self.log10_prob_open is None else perplexity_of(self.log10_prob_open, self.predictions)

    @property
    def bits_per_byte_open(self) -> float:
        """Bits for each byte of the raw text, unknown words by their own spelling."""
        if self.log10_prob_open is None or not self.text_bytes:
            return math.nan
        return -self.log10_prob_open * math.log2(10) / self.text_bytes

    @property
    def unit(self) -> str:
        """What is predicted: `words`, or `tokens` where a model has a tokeniser."""
        return "tokens" if "|tokenizer:" in self.signature else "words"

    @property
    def perplexity_per_word(self) -> float:
        """Per word of the raw text, and end of a sentence."""
        return perplexity_of(self.log10_prob, 0 if self.text_words is None else self.text_words + self.sentences)

    @property
    def perplexity_per_byte(self) -> float:
        """Per byte of the raw text."""
        return perplexity_of(self.log10_prob, self.text_bytes or 0)

    @property
    def bits_per_byte(self) -> float:
        """The binary logarithm of the perplexity per byte."""
        return -self.log10_prob * math.log2(10) / self.text_bytes if self.text_bytes else math.nan

    def __repr__(self) -> str:
        unit = self.unit
        opened = "" if self.log10_prob_open is None else f"{self.perplexity_open:,.2f} with an open vocabulary; "
        return (
            f"<Perplexity {self.perplexity:,.2f}; {self.perplexity_known:,.2f} without unknown {unit}; {opened}"
            f"{self.words:,} {unit}, {self.unknown_words:,} unknown, in {self.sentences:,} sentences>"
        )

    def _repr_html_(self) -> str:
        facts = {
            "perplexity": f"{self.perplexity:,.2f}",
            f"without unknown {self.unit}": f"{self.perplexity_known:,.2f}",
            self.unit: f"{self.words:,}",
            f"unknown {self.unit}": f"{self.unknown_words:,}",
            "sentences": f"{self.sentences:,}",
            "signature": self.signature,
        }
        if self.unit == "tokens" and self.text_words is not None:
            facts["per word"], facts["bits per byte"] = f"{self.perplexity_per_word:,.2f}", f"{self.bits_per_byte:.4f}"
        if self.log10_prob_open is not None:
            facts["open vocabulary"] = f"{self.perplexity_open:,.2f}"
        return html_facts("Perplexity", facts)

    def as_dict(self) -> dict[str, Any]:
        """All figures by name, for JSON."""
        own = {"perplexity": self.perplexity, "perplexity_known": self.perplexity_known}
        by_text = {name: getattr(self, name) for name in _BY_TEXT}
        of_text = {name: None if math.isnan(figure) else figure for name, figure in by_text.items()}
        return {**own, **of_text, **asdict(self), "predictions": self.predictions}


_BY_TEXT = ("perplexity_open", "perplexity_per_word", "perplexity_per_byte", "bits_per_byte", "bits_per_byte_open")


class ScoredText(NamedTuple):
    """Lines that were scored: of each position the score and whether the word is unknown; where lines begin.

    raw: the lines as they were read; None where they were tokens already.
    open_scores: with unknown words by their own spelling, where a model has an open vocabulary.
    """

    scores: Floats
    begins: Begins
    unknown: Mask
    raw: Bytes | None
    open_scores: Floats | None = None


class PieceFigures(NamedTuple):
    """What lines that were scored add to the perplexity of a text: those with words, and their sums.

    A sum is a few numbers that have it exactly (`kernels.text.figures`); none where no line has words.
    """

    n_words: int
    n_unknown: int
    n_lines: int
    n_sentences: int
    sums: Floats
    known_sums: Floats
    open_sums: Floats
    text_words: int | None
    text_bytes: int | None


_NO_SUM: Floats = np.empty(0)


def figures_of(piece: ScoredText, *, is_tokenised: bool) -> PieceFigures:
    """The figures of lines; is_tokenised: whether words were cut further."""
    scores, begins, unknown, raw, open_scores = piece
    n_lines, text_words, text_bytes = begins.size - 1, None, None
    n_words = scores.size - 2 * n_lines
    n_unknown, n_sentences, sums, known_sums = figures_of_lines(scores, begins, unknown)
    open_sums = _NO_SUM if open_scores is None else figures_of_lines(open_scores, begins, unknown)[2]
    if raw is not None:
        text_bytes, text_words = raw.size, n_words
        if is_tokenised or n_sentences < n_lines:
            text_bytes, words = size_of_lines(raw, begins)
            text_words = words if is_tokenised else n_words
    return PieceFigures(
        n_words, n_unknown, n_lines, n_sentences, sums, known_sums, open_sums, text_words, text_bytes
    )


def perplexity_of_pieces(
    pieces: Iterable[ScoredText], signature: object, *, is_tokenised: bool = False
) -> Perplexity:
    """The perplexity of a text whose lines were scored in pieces; is_tokenised: whether its words were cut further."""
    return perplexity_of_figures((figures_of(piece, is_tokenised=is_tokenised) for piece in pieces), signature)


def perplexity_of_figures(figures: Iterable[PieceFigures], signature: object) -> Perplexity:
    """The perplexity of a text from what its pieces add to it."""
    n_words = n_unknown = n_lines = n_sentences = text_words = text_bytes = 0
    is_raw = True
    sums: list[float] = []
    known_sums: list[float] = []
    open_sums: list[float] = []
    for piece in figures:
        n_words += piece.n_words
        n_unknown += piece.n_unknown
        n_lines += piece.n_lines
        n_sentences += piece.n_sentences
        sums += piece.sums.tolist()
        known_sums += piece.known_sums.tolist()
        open_sums += piece.open_sums.tolist()
        is_raw &= piece.text_bytes is not None
        text_words += piece.text_words or 0
        text_bytes += piece.text_bytes or 0
    # Each sum is rounded once, so that it does not depend on how the text was cut into pieces.
    return Perplexity(
        n_words, n_unknown, n_sentences, math.fsum(sums), math.fsum(known_sums), str(signature), n_lines - n_sentences,
        text_words if is_raw else None, text_bytes if is_raw else None, math.fsum(open_sums) if open_sums else None,
    )  # fmt: skip


def perplexity_of(log10_prob: float, predictions: int) -> float:
    """10 to the power of -log10_prob / predictions; infinite where no float is as large, not a number for none.

    >>> perplexity_of(-8.0, 4), perplexity_of(-1000.0, 2), perplexity_of(0.0, 0)
    (100.0, inf, nan)
    """
    if not predictions:
        return math.nan
    try:
        return float(10.0 ** (-log10_prob / predictions))
    except OverflowError:
        return math.inf
