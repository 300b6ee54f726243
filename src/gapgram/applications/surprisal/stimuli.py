"""Texts and tables of stimuli, read as sentences of regions.

A text has one sentence a line; an empty line begins a new item. A table has a line of column names; its rows are
sentences, or regions in their order. Columns that nothing is said of are carried over.
"""

from __future__ import annotations

import csv
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, groupby
from pathlib import Path
from typing import NamedTuple

from gapgram.errors import TextError, UsageError
from gapgram.kernels.text.special_words import SPECIAL, UNKNOWN
from gapgram.text.corpus import numbered_lines
from gapgram.text.files import display_name
from gapgram.text.splitting import is_mark, split_marks

_SEPARATORS = "\t;,"
_NAME = re.compile(r"[^\W\d][\w.]*")  # of a column; words of a sentence have blanks beside their commas
_REFUSED = tuple(word for word in SPECIAL if word != UNKNOWN)
_WHITE_SPACE = " \t\n\v\f\r"
AS_IS, SPLIT, JOIN = "as-is", "split", "join"
WAYS = (AS_IS, SPLIT, JOIN)
_BEFORE_A_WORD = {"Ps", "Pi"}  # brackets and quotation marks that open


class Region(NamedTuple):
    """What one row of the table is about: as it is shown, as the model reads it, and what is carried over with it."""

    text: str
    words: tuple[str, ...]
    carried: tuple[str, ...] = ()


class Stimulus(NamedTuple):
    """A sentence and what it is called."""

    item: str
    sentence: str
    regions: list[Region]


@dataclass(frozen=True)
class StimulusColumns:
    """Which columns of a table mean what.

    text: whole sentences, a sentence a row; or region: words or regions, one a row, in order.
    item, sentence: what tells items apart, and sentences of an item. By default they are the columns of these names,
        where there are such; of rows of `region` with an item and no sentence, `condition` tells sentences apart. Rows
        of `text` without an item are an item each, those of one item are numbered.
    separator: what stands between the regions of a `text`; without it, every word is a region.
    """

    text: str | None = None
    region: str | None = None
    item: str | None = None
    sentence: str | None = None
    separator: str | None = None

    def __post_init__(self) -> None:
        if (self.text is None) == (self.region is None):
            raise UsageError("stimuli: name the column of sentences or the column of regions, one of the two")
        if self.separator is not None and (self.region is not None or not self.separator.strip(_WHITE_SPACE)):
            raise UsageError(f"stimuli: separator {self.separator!r}: expected a mark between the regions of sentences")

    @property
    def named(self) -> dict[str, str]:
        """The columns that must be there, by what they are."""
        names = {"text": self.text, "region": self.region, "item": self.item, "sentence": self.sentence}
        return {role: name for role, name in names.items() if name is not None}

    def of(self, header: Sequence[str]) -> StimulusColumns:
        """With the columns of a table that are called as what they are."""
        taken = {*self.named.values()}
        free = {name.lower(): name for name in reversed(header) if name not in taken}
        item = self.item or free.get("item")
        sentence = self.sentence or free.get("sentence")
        if self.region is not None and sentence is None:
            sentence = free.get("condition")
        return replace(self, item=item, sentence=sentence)


@dataclass
class StimulusReader:
    """Reads stimuli; `carried` are the names of the columns that are carried over, known once reading has begun.

    cut: what takes the marks off a word, where they are split or joined.
    """

    columns: StimulusColumns | None = None
    punctuation: str = AS_IS
    cut: Callable[[str], Sequence[str]] = split_marks
    carried: tuple[str, ...] = field(default=(), init=False)

    def read(self, path: str | Path, *, progress: bool = False) -> Iterator[Stimulus]:
        """The stimuli of a file."""
        lines = (line for _, line in numbered_lines(path, progress=progress))
        if self.columns is None:
            first = [line for line in (next(lines, None), next(lines, None)) if line is not None]
            _refuse_table(first, display_name(path))
            return self._from_lines(chain(first, lines), display_name(path))
        return self._from_table(self.columns, lines, display_name(path))

    def of_sentences(self, sentences: Iterable[str | Sequence[str]]) -> Iterator[Stimulus]:
        """Sentences in memory, an item each."""
        for number, sentence in enumerate(sentences, 1):
            words = _words(sentence) if isinstance(sentence, str) else list(sentence)
            if any(_words(word) != [word] for word in words):
                raise UsageError(f"sentence {number}: a word of a list may not be empty or hold white space")
            if words:
                yield Stimulus(str(number), "1", self._regions(words, f"sentence {number}"))

    def _from_lines(self, lines: Iterator[str], name: str) -> Iterator[Stimulus]:
        item, sentence, after_gap = 0, 0, True
        for number, line in enumerate(lines, 1):
            words = _words(line)
            if not words:
                after_gap = True
                continue
            item, sentence = (item + 1, 1) if after_gap else (item, sentence + 1)
            after_gap = False
            yield Stimulus(str(item), str(sentence), self._regions(words, f"{name}:{number}"))

    def _regions(self, words: Sequence[str], where: str) -> list[Region]:
        return [_checked(Region(*one), where) for one in regions_of(words, self.punctuation, self.cut)]

    def _from_table(self, columns: StimulusColumns, lines: Iterator[str], name: str) -> Iterator[Stimulus]:
        rows = _table(lines, name)
        header = next(rows, (0, []))[1]
        columns = columns.of(header)
        column_of = _column_of(columns, header, name)
        if columns.region is not None and columns.item is None and columns.sentence is None:
            raise TextError(
                f"{name}:1: regions need the column of items or of sentences, which tells where one ends "
                f"(--item-column, --sentence-column): there are {', '.join(header)}"
            )
        others = [i for i in range(len(header)) if i not in column_of.values()]
        self.carried = tuple(header[i] for i in others)
        return self._of_rows(columns, rows, column_of, others, name)

    def _of_rows(
        self, columns: StimulusColumns, rows: Iterator[tuple[int, list[str]]], column_of: dict[str, int],
        others: list[int], name: str,
    ) -> Iterator[Stimulus]:  # fmt: skip
        seen: dict[str, int] = {}

        def key(row: tuple[int, list[str]]) -> tuple[str, str]:
            item = row[1][column_of["item"]] if "item" in column_of else ""
            return item, row[1][column_of["sentence"]] if "sentence" in column_of else ""

        if columns.text is not None:
            for number, (line, cells) in enumerate(rows, 1):
                item, sentence = key((line, cells))
                text, where = cells[column_of["text"]], f"{name}:{line}"
                if columns.separator is None:
                    regions = self._regions(_words(text), where)
                else:
                    parts = map(_words, text.split(columns.separator))
                    regions = [self._whole(part, where) for part in parts if part]
                carried = tuple(cells[i] for i in others)
                item = item or str(number)
                seen[item] = seen.get(item, 0) + 1
                yield Stimulus(item, sentence or str(seen[item]), [r._replace(carried=carried) for r in regions])
            return
        for (item, sentence), group in groupby(rows, key):
            regions = []
            for line, cells in group:
                text, carried = cells[column_of["region"]], tuple(cells[i] for i in others)
                regions.append(self._whole(_words(text), f"{name}:{line}")._replace(carried=carried))
            yield Stimulus(item, sentence or "1", regions)

    def _whole(self, words: list[str], where: str) -> Region:
        """One region of all the words; with their marks apart or not, as punctuation is to be read."""
        read = [word for region in regions_of(words, self.punctuation, self.cut) for word in region[1]]
        return _checked(Region(" ".join(words), tuple(read)), where)


def _checked(region: Region, where: str) -> Region:
    for word in region.words:
        if word in _REFUSED:
            raise TextError(f"{where}: the word {word} is the model's own: leave it out")
    return region


def _words(text: str) -> list[str]:
    """As all text is split: by the white space of ASCII."""
    return [word.decode("utf-8", "surrogatepass") for word in text.encode("utf-8", "surrogatepass").split()]


def _table(lines: Iterator[str], name: str) -> Iterator[tuple[int, list[str]]]:
    """The rows of a table and their lines, the names of its columns first; all have as many cells."""
    first = next(lines, "")
    separator = max(_SEPARATORS, key=first.count)
    reader = csv.reader((f"{line}\n" for line in chain([first], lines)), delimiter=separator, strict=True)
    n_columns = 0
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise TextError(f"{name}:{reader.line_num}: not a row of a table: {error}") from None
        if cells is None:
            return
        n_columns = n_columns or len(cells)
        if cells and len(cells) != n_columns:
            raise TextError(f"{name}:{reader.line_num}: {len(cells)} cells, the first line names {n_columns} columns")
        if cells:
            yield reader.line_num, cells


def _refuse_table(lines: Sequence[str], name: str) -> None:
    """Refuse to read a table as prose: a named one, or what begins with names between separators."""
    if not lines or not lines[0].strip():
        return
    separator = max(_SEPARATORS, key=lines[0].count)
    cells = next(csv.reader(lines[:1], delimiter=separator), [])
    names = [cell.strip() for cell in cells]
    by_name = Path(name).suffix.lower() in (".csv", ".tsv", ".tab")
    alike = len(names) > 1 and all(_NAME.fullmatch(cell) for cell in names)
    by_look = alike and len(lines) > 1 and lines[1].count(separator) >= lines[0].count(separator)
    if len(names) > 1 and (by_name or by_look):
        raise TextError(
            f"{name}: looks like a table, whose first line names the columns {', '.join(names)}:\n"
            "name the one of the sentences (--text-column), or of the words or regions (--region-column)"
        )


def _column_of(columns: StimulusColumns, header: list[str], name: str) -> dict[str, int]:
    """Where the columns are that mean something."""
    for column in columns.named.values():
        if header.count(column) != 1:
            problem = "is there more than once" if column in header else "is not there"
            raise TextError(f"{name}:1: the column {column!r} {problem}: there are {', '.join(header) or 'none'}")
    return {role: header.index(column) for role, column in columns.named.items()}


def check_way(way: str) -> None:
    """Refuse a way of treating punctuation that there is not."""
    if way not in WAYS:
        raise UsageError(f"punctuation {way!r}: expected {', '.join(WAYS)}")


def joined(words: Sequence[str]) -> list[list[str]]:
    """Words in groups: a word with the marks that belong to it, closing ones to the word before.

    >>> joined(["(", "it", ")", ",", "too", "."])
    [['(', 'it', ')', ','], ['too', '.']]
    """
    groups: list[list[str]] = []
    opening: list[str] = []
    for word in words:
        marks = all(map(is_mark, word))
        if marks and (unicodedata.category(word[0]) in _BEFORE_A_WORD or not groups):
            opening.append(word)
        elif marks and not opening:
            groups[-1].append(word)
        else:
            groups.append([*opening, word])
            opening = []
    return [*groups, opening] if opening else groups


def regions_of(
    words: Sequence[str], way: str, cut: Callable[[str], Sequence[str]] = split_marks
) -> list[tuple[str, tuple[str, ...]]]:
    """The regions of a sentence, as they are shown and as the model reads them.

    cut: what takes the marks off a word.

    >>> regions_of(["Stop", ",", "'thief'", "!"], JOIN)
    [('Stop,', ('Stop', ',')), ("'thief'!", ("'", 'thief', "'", '!'))]
    """
    if way == AS_IS:
        return [(word, (word,)) for word in words]
    if way == SPLIT:
        return [(piece, (piece,)) for word in words for piece in cut(word)]
    return [("".join(group), tuple(chain.from_iterable(map(cut, group)))) for group in joined(words)]
