"""Records as they are read, some at a time, and what becomes of them."""

from __future__ import annotations

import heapq
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gapgram.applications.filtering.choice import Choice, Columns, Judged
from gapgram.applications.filtering.documents import DocumentScorer, line_begins
from gapgram.applications.filtering.summary import FilterTally
from gapgram.arrays import Floats, Integers
from gapgram.errors import TextError
from gapgram.system.parallel import parallel_map

ERROR, SKIP = "error", "skip"
DOCUMENT, LINE = "document", "line"


class RecordPiece(NamedTuple):
    """Some records, and where the next ones begin, as plain values."""

    records: Any
    end: Any
    size_bytes: int


class Done(NamedTuple):
    """What became of a piece: what goes to each output, and what was counted."""

    payloads: list[Any]
    tally: FilterTally
    end: Any
    size_bytes: int


@dataclass(frozen=True)
class Work:
    """What is done to every record.

    percentiles: those that the choice asks for, by share. names: of figures, each after the prefix.
    field: of the record's text. by: whether whole documents or their lines are kept or dropped.
    figures: whether figures are written into records. broken: `error`, or `skip` records that cannot be read.
    """

    scorers: tuple[DocumentScorer, ...]
    against: DocumentScorer | None
    choice: Choice
    percentiles: dict[float, float]
    names: list[str]
    prefix: str = ""
    field: str = "text"
    by: str = DOCUMENT
    figures: bool = True
    broken: str = ERROR

    def judged(self, texts: Sequence[str]) -> Judged:
        """The scores of whole documents under all models."""
        own, *others = [scorer.arrays(texts) for scorer in self.scorers]
        return Judged(own, tuple(others), self.against.arrays(texts) if self.against else None)

    @property
    def cuts_lines(self) -> bool:
        """Whether lines of documents are left out."""
        return self.by == LINE and self.choice.chooses

    def line_scores(self, texts: Sequence[str]) -> Judged:
        """The scores of the lines of documents."""
        return self.judged([line for text in texts for line in text.split("\n")])

    def refuse(self, where: str, why: str, tally: FilterTally) -> None:
        """Count a record that cannot be read, or stop at it."""
        if self.broken == ERROR:
            raise TextError(f"{where}: {why}: fix it, or leave such records out (--broken skip)")
        tally.broken += 1

    def kept_lines(self, texts: Sequence[str]) -> list[str]:
        """Documents without the lines that are not kept; those that are left without any are empty."""
        scored = self.line_scores(texts)
        good = self.choice.kept(scored.scores, scored.measure, self.percentiles)
        bounds = [*line_begins(texts).tolist(), good.size]
        out = []
        for text, begin, end in zip(texts, bounds, bounds[1:], strict=False):
            lines = zip(text.split("\n"), good[begin:end].tolist(), strict=True)
            out.append("\n".join(line for line, stays in lines if stays))
        return out

    def choose(self, texts: Sequence[str], tally: FilterTally) -> tuple[Judged, Integers, list[int]]:
        """Score documents: (scores, the bucket of each, the number of its output, -1 where it is not kept)."""
        judged = self.judged(texts)
        kept = np.ones(len(texts), bool)
        if self.by == DOCUMENT:
            kept = self.choice.kept(judged.scores, judged.measure, self.percentiles)
        elif self.cuts_lines:
            kept = judged.scores.words > 0
        buckets = self.choice.bucket_of(judged.measure, self.percentiles)
        tally.records += len(texts)
        log10 = judged.scores.log10_perplexity if judged.difference is None else judged.difference
        tally.count(judged.scores.words, judged.scores.unknown, log10, kept)
        places = np.where(kept, buckets, -1)
        for number in range(len(tally.kept)):
            tally.kept[number] += int((places == number).sum())
        return judged, buckets, places.tolist()

    def measures(self, texts: Sequence[str]) -> Floats:
        """What percentiles are taken of: the measure of documents, or of lines, that have words."""
        if not texts:
            return np.empty(0)
        judged = self.judged(texts) if self.by == DOCUMENT else self.line_scores(texts)
        values = judged.measure
        return values[np.isfinite(values)]


class Records(ABC):
    """A kind of file of records."""

    path: str | Path
    name: str

    @abstractmethod
    def pieces(self, begin: Any, on_bytes: Callable[[int], None]) -> Iterator[RecordPiece]:
        """The records of the file, from its beginning (None) or from where a piece ended."""

    @abstractmethod
    def read(self, piece: RecordPiece, work: Work, tally: FilterTally) -> Iterator[tuple[Any, str]]:
        """(record, text) of each record of a piece that can be read."""

    @abstractmethod
    def payloads(
        self, piece: RecordPiece, records: list[Any], texts: Sequence[str], figures: Columns, places: list[int],
        work: Work,
    ) -> list[Any]:  # fmt: skip
        """What goes to each output: records with these texts and figures, none without; places: the number of each."""

    def process(self, piece: RecordPiece, work: Work) -> Done:
        """Score the records of a piece, and put those that are kept where they go."""
        names = work.choice.names
        tally = FilterTally([0] * len(names))
        read = list(self.read(piece, work, tally))
        if not read:
            return Done([None] * len(names), tally, piece.end, piece.size_bytes)
        records, texts = map(list, zip(*read, strict=True))
        texts = work.kept_lines(texts) if work.cuts_lines else texts
        judged, buckets, places = work.choose(texts, tally)
        named = [names[bucket] for bucket in buckets.tolist()] if len(names) > 1 else None
        figures = judged.columns(named) if work.figures else []
        payloads = self.payloads(piece, records, texts, figures, places, work)
        return Done(payloads, tally, piece.end, piece.size_bytes)


SAMPLE_PIECES = 96  # of some hundred kilobytes each
_SEED = 1


def sampled(records: Records, on_bytes: Callable[[int], None]) -> list[RecordPiece]:
    """Some pieces of a file, all equally likely, the same ones every time; the file is read once."""
    draw = random.Random(_SEED).random
    chosen: list[tuple[float, int, RecordPiece]] = []
    for number, piece in enumerate(records.pieces(None, on_bytes)):
        entry = (-draw(), number, piece)
        if len(chosen) < SAMPLE_PIECES:
            heapq.heappush(chosen, entry)
        else:
            heapq.heappushpop(chosen, entry)
    return [piece for _, _, piece in sorted(chosen, key=lambda entry: entry[1])]


def percentiles(
    records: Records,
    work: Work,
    shares: Sequence[float],
    *,
    threads: int | None,
    on_bytes: Callable[[int], None] = lambda n: None,
) -> dict[float, float]:
    """The percentiles of the measure, by share, in a sample of a file."""

    def measure(piece: RecordPiece) -> list[float]:
        texts = [text for _, text in records.read(piece, work, FilterTally([0]))]
        values: list[float] = work.measures(texts).tolist()
        return values

    pieces = sampled(records, on_bytes)
    values = [v for measures in parallel_map(measure, pieces, threads) for v in measures]
    if not values:
        raise TextError("percentiles: no record with words to find them on")
    return dict(zip(shares, np.quantile(values, list(shares)).tolist(), strict=True))
