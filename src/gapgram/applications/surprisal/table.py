"""One row for each word or region of a text: what it costs a reader who predicts as a model does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from gapgram.applications.surprisal.formats import Writer, write_about
from gapgram.applications.surprisal.measures import BITS, Measured, Measurer, Measures, word_frequencies
from gapgram.applications.surprisal.stimuli import (
    AS_IS,
    SPLIT,
    Region,
    Stimulus,
    StimulusColumns,
    StimulusReader,
    check_way,
)
from gapgram.errors import TextError, UsageError, to_install
from gapgram.kernels.text.special_words import END, START
from gapgram.models.model import Model
from gapgram.queries.attached_marks import words_with_marks
from gapgram.queries.language_model import LanguageModel, Sentence
from gapgram.queries.session import Session
from gapgram.queries.shown import html_table
from gapgram.system.atomic_file import written_aside
from gapgram.system.parallel import parallel_map
from gapgram.text.tokenisers.tokeniser import Tokeniser

COLUMNS = ("item", "sentence", "position", "word", "surprisal", "known", "frequency")
SCORE, EMPTY = "score", "empty"
_ROLES = ("item", "sentence")
_SHOWN_ROWS = 20  # in a notebook
_WORD, _KNOWN = COLUMNS.index("word"), COLUMNS.index("known")
_NAMED = 5  # unknown words
_BATCH = 64  # sentences that one thread measures at a time


@dataclass(frozen=True, repr=False)
class SurprisalTable:
    """Rows of named columns; `about` says what the figures mean, the signature of the model first."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    about: dict[str, str]

    def frame(self) -> Any:
        """The table as a frame of pandas, `about` among its attributes."""
        try:
            import pandas
        except ImportError:
            raise ImportError(f"a frame needs pandas: {to_install('pandas')}") from None
        frame = pandas.DataFrame(self.rows, columns=list(self.columns))
        frame.attrs.update(self.about)
        return frame

    def write(self, path: str | Path, *, format: str = "tsv") -> None:
        """Write the table to a file, aside and renamed, and `about` to another beside it, `PATH.about.txt`."""
        writer = Writer(format, self.columns)
        with written_aside(path) as file:
            file.write((writer.header() + writer.rows(self.rows)).encode("utf-8", "surrogatepass"))
        write_about(path, self.about)

    def __repr__(self) -> str:
        return f"<SurprisalTable of {len(self.rows):,} rows: {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        rows = [[_shown(cell) for cell in row] for row in self.rows[:_SHOWN_ROWS]]
        return html_table(self.columns, rows, title=repr(self))


class Surprisal:
    """Tables of one model: which columns they have, what these mean, and rows in pieces, for texts of any size.

    session: of the model, which says what words cost; where `learn`, it learns each once it was predicted, and where
    `documents`, forgets before each item what it learned of others. Other measures are those of the model.
    """

    def __init__(
        self,
        model: LanguageModel,
        measures: Measures = Measures(),  # noqa: B008 - frozen
        *,
        unknown: str = SCORE,
        session: Session | None = None,
        learn: bool = False,
        documents: bool = False,
    ) -> None:
        if unknown not in (SCORE, EMPTY):
            raise UsageError(f"unknown words {unknown!r}: expected {SCORE} or {EMPTY}")
        self._model, self._measures, self._unknown = model, measures, unknown
        self._reader, self._frequencies = Measurer(model, measures), word_frequencies(model)
        self._session, self._learn, self._documents = session, learn, documents

    def columns(self, carried: Sequence[str] = ()) -> tuple[str, ...]:
        """The names of all columns, those that are carried over last."""
        own = (*COLUMNS, *self._reader.columns)
        taken = [name for name in carried if name in own]
        if taken:
            role = f", or name it as what it is (--{taken[0]}-column {taken[0]})" if taken[0] in _ROLES else ""
            raise UsageError(
                f"the column {taken[0]!r} of the stimuli has the name of a column of the result: rename it{role}"
            )
        return (*own, *carried)

    @property
    def about(self) -> dict[str, str]:
        """What the figures mean, by name."""
        model, measures = self._model, self._measures
        trained = f" of {model.counts.text.words:,} words" if isinstance(model, Model) else ""
        said = {
            "model": str(model.signature),
            "surprisal": "-log2 P(word | words before it in the sentence), in bits; of a region the sum over its words",
            "first word": f"predicted after {START}" if measures.start else "predicted without context",
            "end": f"a row of its own, the word {END}" if measures.end else "not in the table",
            "unknown words": f"known is 0; surprisal is {'that of <unk>' if self._unknown == SCORE else 'left empty'}",
            "frequency": f"of the word in the training text{trained}, 0 if unknown; of a region that of its rarest word"
            if self._frequencies is not None
            else "empty: this model does not tell",
        }
        if model.tokeniser is not None:
            said["tokens"] = f"a word is the tokens that {model.tokeniser} cuts it into: surprisal is their sum"
        if self._session is not None:
            said["session"] = self._session.signature
            said["learning"] = "each word once it was predicted" if self._learn else "none but of the history"
        if measures.entropy:
            said["entropy"] = "of the distribution of the next word, in bits, before a region's first word"
        if measures.lengths:
            said["last_K"] = "surprisal if only the last K words were known"
        if measures.patterns:
            said["pattern_P"] = "surprisal if only the words were known that P keeps (1; class 2), as the model has it"
        return said

    def pieces(self, stimuli: Iterable[Stimulus], *, threads: int | None = None) -> Iterator[list[tuple[Any, ...]]]:
        """The rows of stimuli, some sentences at a time, in order."""
        if self._model.tokeniser is not None:
            stimuli = cut(stimuli, self._model.tokeniser)
        if self._session is not None:
            return self._read(self._session, stimuli)
        return parallel_map(self._rows_of, _batches(iter(stimuli)), threads)

    def _read(self, session: Session, stimuli: Iterable[Stimulus]) -> Iterator[list[tuple[Any, ...]]]:
        """The rows of stimuli as a session reads them, one sentence after the other."""
        reader, item = session.copy(), None
        for one in stimuli:
            if self._documents and one.item != item:
                reader, item = session.copy(), one.item
            words = [word for region in one.regions for word in region.words]
            (measured,) = self._reader.measure([words])
            scores = reader.scores(words, bos=self._measures.start, learn=self._learn) if words else np.empty(0)
            yield list(self._rows(one, measured._replace(surprisal=-BITS * scores)))

    def _rows_of(self, batch: list[Stimulus]) -> list[tuple[Any, ...]]:
        sentences = [[word for region in one.regions for word in region.words] for one in batch]
        all_measured = self._reader.measure(sentences)
        return [row for one, measured in zip(batch, all_measured, strict=True) for row in self._rows(one, measured)]

    def _rows(self, stimulus: Stimulus, measured: Measured) -> Iterator[tuple[Any, ...]]:
        regions, begin = stimulus.regions, 0
        if self._measures.end:
            regions = [*regions, Region(END, (END,), regions[-1].carried if regions else ())]
        known = measured.known
        for position, region in enumerate(regions, 1):
            end = begin + len(region.words)
            whole = all(known[begin:end])
            told = begin < end and (whole or self._unknown == SCORE)
            surprisal = float(measured.surprisal[begin:end].sum()) if told else None
            others = self._others(measured, begin, end) if told else [None] * measured.others.shape[0]
            names = (stimulus.item, stimulus.sentence, position, region.text)
            yield (*names, surprisal, whole, self._rarest(measured.ids[begin:end], whole), *others, *region.carried)
            begin = end

    def _others(self, measured: Measured, begin: int, end: int) -> list[float]:
        sums = measured.others[:, begin:end].sum(axis=1)
        if self._measures.entropy:
            sums[0] = measured.others[0, begin]
        values: list[float] = sums.tolist()
        return values

    def _rarest(self, ids: list[int], known: bool) -> int | None:
        if self._frequencies is None or not ids:
            return None
        return int(np.min(self._frequencies[ids])) if known else 0  # not that of <unk>


class UnknownWords:
    """Counts the words of tables that the model does not know, and names the most frequent of them."""

    def __init__(self, model: LanguageModel) -> None:
        self._model, self.words = model, 0
        self.seen: Counter[str] = Counter()

    def add(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Count the words of some rows."""
        self.words += len(rows)
        self.seen.update(row[_WORD] for row in rows if not row[_KNOWN])

    def __str__(self) -> str:
        n = self.seen.total()
        named = ", ".join(word for word, _ in self.seen.most_common(_NAMED))
        more = ", …" if len(self.seen) > _NAMED else ""
        said = f"{n:,} of {self.words:,} words are unknown ({n / self.words:.1%}): {named}{more}"
        attached = [] if self._model.cuts_text else words_with_marks(self._model, list(self.seen))
        if 2 * len(attached) > len(self.seen):
            said += "\nmost touch a punctuation mark that the model knows by itself: --punctuation join, or split"
        return said


def usual_punctuation(model: LanguageModel) -> str:
    """What is done with punctuation unless something is asked for: what the model does with all raw text."""
    return SPLIT if model.splitting else AS_IS


def _shown(cell: Any) -> str:
    if isinstance(cell, float):
        return f"{cell:.4f}"
    return "" if cell is None else str(cell)


def surprisal(
    model: LanguageModel,
    text: str | Path | None = None,
    *,
    sentences: Iterable[Sentence] | None = None,
    columns: StimulusColumns | None = None,
    measures: Measures | None = None,
    punctuation: str | None = None,
    unknown: str = SCORE,
    threads: int | None = None,
) -> SurprisalTable:
    """What each word of a text, a table of stimuli, or sentences in memory costs: a row each, in bits.

    columns: which columns of the file mean what, where it is a table of stimuli.
    measures: what is asked beside surprisal.
    punctuation: `as-is`; `split`, marks are words of their own; or `join`, and belong to the word that they touch. By
        default `split` where the model cuts raw text so itself, else `as-is`.
    unknown: `score` unknown words as `<unk>`, or leave their surprisal `empty`.

    >>> import gapgram
    >>> model = gapgram.train(sentences=["the cat sat", "the dog sat", "a cat ran"] * 9, order=3, model="mkn")
    >>> table = surprisal(model, sentences=["the cat ran"])
    >>> [(row[3], round(row[4], 2), row[6]) for row in table.rows]
    [('the', 0.68, 18), ('cat', 1.08, 18), ('ran', 4.29, 9)]
    """
    if (text is None) == (sentences is None):
        raise UsageError("surprisal: give a text file or sentences, one of the two")
    way = usual_punctuation(model) if punctuation is None else punctuation
    check_way(way)
    asked = Surprisal(model, measures or Measures(), unknown=unknown)
    reader = StimulusReader(columns, way, model.splitter.cut)
    stimuli = reader.of_sentences(sentences) if sentences is not None else reader.read(text or "")
    names = asked.columns(reader.carried)
    rows = [row for piece in asked.pieces(stimuli, threads=threads) for row in piece]
    return SurprisalTable(names, rows, asked.about)


def _batches(stimuli: Iterator[Stimulus]) -> Iterator[list[Stimulus]]:
    while batch := list(islice(stimuli, _BATCH)):
        yield batch


def cut(stimuli: Iterable[Stimulus], tokeniser: Tokeniser) -> Iterator[Stimulus]:
    """Stimuli whose regions are read as tokens.

    A sentence is cut as a whole. A region has the tokens that are more than those of the text before it.
    """
    for stimulus in stimuli:
        texts = [region.text for region in stimulus.regions]
        beginnings = [tokeniser.encode(" ".join(texts[:n])) for n in range(len(texts) + 1)]
        whole, regions = beginnings[-1], []
        for region, before, after in zip(stimulus.regions, beginnings, beginnings[1:], strict=False):
            if whole[: len(after)] != after or len(after) < len(before):
                raise TextError(
                    f"item {stimulus.item}, sentence {stimulus.sentence}: {tokeniser} joins {region.text!r} with what "
                    "comes after it, so that it has no tokens of its own: use a tokeniser that splits at blanks"
                )
            regions.append(region._replace(words=tuple(whole[len(before) : len(after)])))
        yield stimulus._replace(regions=regions)
