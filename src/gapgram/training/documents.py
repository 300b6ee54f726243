"""Documents of a training text: where they begin, and some of them held out of the counts.

A session's weights are fitted on documents that the counts have not seen. Some are drawn, the rest is counted again
with the classes, discounts and weights of the whole text, and that model predicts those that were drawn
(`training.fit_history`).
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from gapgram.arrays import Begins, Floats, Ids, Integers
from gapgram.classes.classes import Classes
from gapgram.counting.in_memory import TextInMemory
from gapgram.counting.on_disk.count import TextInFiles
from gapgram.counting.on_disk.stored_text import StoredText
from gapgram.counts.counts import Counts
from gapgram.errors import DocumentWarning
from gapgram.estimation.discounts import Discounts
from gapgram.estimation.history_weights import HistoryWeights
from gapgram.estimation.parts import ModelParts
from gapgram.estimation.weights.estimators import with_rows_of
from gapgram.estimation.weights.fallback_graph import Weights
from gapgram.kernels.text.special_words import SPECIAL
from gapgram.models.model import Model
from gapgram.queries.history import ReadSentences
from gapgram.queries.id_runs import score_in_runs
from gapgram.system.work_folder import WorkFolder
from gapgram.text.corpus import Corpus, TextRules, sentence_begins
from gapgram.text.files import Block
from gapgram.text.vocabulary import Vocabulary
from gapgram.training.fit_history import fit_with_decays
from gapgram.training.limits import IN_MEMORY, Workspace

HELD_OUT_SHARE = 0.1  # of the text, at most
MOST_HELD_OUT = 400_000  # positions
LEAST_HELD_OUT = 500  # positions; a text that has not so many to spare keeps the shipped weights
PIECE_POSITIONS = 25_000  # a longer document is cut
_WORDLESS = re.compile(rb"(?:^|\n)[ \t\v\f\r]*(?=\n)")

LocalText = TextInMemory | TextInFiles


class LineMarks:
    """Notes while a text is read where a file begins, and what comes after lines without words, which end documents."""

    def __init__(self, rules: TextRules) -> None:
        self._skipped = {word.encode() for word in SPECIAL} if rules.special == "skip" else set()
        self._counts_empty = rules.empty_lines == "count"
        self.files: list[str] = []
        self._marks: list[tuple[int, int, int]] = []
        self._n = 0

    def watch(self, blocks: Iterable[Block]) -> Iterator[Block]:
        """The blocks as they are."""
        for block in blocks:
            data, is_new = block.data, not self.files or block.first_line == 1
            if is_new:
                self.files.append(str(block.name))
            if self._counts_empty or not (self._skipped or data[:1] == b"\n" or _WORDLESS.search(data)):
                self._mark(block.first_line) if is_new else None
                self._n += data.count(b"\n") + (not data.endswith(b"\n"))
            else:
                after_gap = is_new
                for line, words in enumerate(data.removesuffix(b"\n").split(b"\n"), block.first_line):
                    if all(word in self._skipped for word in words.split()):
                        after_gap = True
                        continue
                    if after_gap:
                        self._mark(line)
                    self._n, after_gap = self._n + 1, False
                if after_gap:
                    self._mark(line + 1)
            yield block

    def _mark(self, line: int) -> None:
        mark = self._n, len(self.files) - 1, line
        if self._marks and self._marks[-1][0] == self._n:
            self._marks[-1] = mark
        else:
            self._marks.append(mark)

    @property
    def begins(self) -> Begins:
        """The number of the first sentence of each document, and of all sentences."""
        return np.append(self.lines[:, 0], self._n)

    @property
    def lines(self) -> Integers:
        """Where lines are counted anew: [sentence, its file, its line]."""
        return np.array([mark for mark in self._marks if mark[0] < self._n], np.int64).reshape(-1, 3)


class DrawnDocuments(NamedTuple):
    """Documents that were held out, as ids of the model of the rest, and the rest of the text, with its classes."""

    documents: list[ReadSentences]
    rest: LocalText
    classes: tuple[Classes, ...]


def fit_documents(
    text: LocalText,
    parts: tuple[str, Counts, Discounts, Weights],
    classes: tuple[Classes, ...],
    *,
    seed: int,
    threads: int,
    workspace: Workspace = IN_MEMORY,
) -> HistoryWeights | None:
    """How far sessions may trust what they read, by documents of the text; None where it has too little of them.

    parts: name, counts, discounts and weights of the model of the whole text.
    """
    if text.documents is not None and len(text.documents) == 2:
        warnings.warn(
            "documents: no empty line in the text, so that all of it is one document; put one between documents",
            DocumentWarning,
            stacklevel=2,
        )
    name, counts, discounts, weights = parts
    work = workspace.inside("documents")
    drawn = draw_documents(text, classes, seed=seed, threads=threads, folder=work.folder)
    if drawn is None:
        return None
    rest = work.count(drawn.rest, counts.lattice, drawn.classes, threads)
    model = Model(ModelParts.of(name, rest, discounts, with_rows_of(rest, discounts, weights)))
    class_of = drawn.classes[0].of_word if drawn.classes else np.zeros(len(model.vocabulary), np.int32)
    shipped = HistoryWeights.shipped(classes=bool(drawn.classes))
    return fit_with_decays([(one, _scores(model, one, threads)) for one in drawn.documents], shipped, class_of)


def _scores(model: Model, document: ReadSentences, threads: int) -> Floats:
    """log10 of what the model gives each position; words that it does not know are `<unk>`."""
    known = np.where(document.ids < len(model.vocabulary), document.ids, 0).astype(np.int32)
    return score_in_runs(model, known, document.begins, threads, checked=True)


def draw_documents(
    text: LocalText, classes: tuple[Classes, ...], *, seed: int, threads: int, folder: WorkFolder | None
) -> DrawnDocuments | None:
    """Hold some documents of a text out; None where it is too small."""
    limit = min(MOST_HELD_OUT, int(HELD_OUT_SHARE * text.positions))
    if text.documents is None or limit < LEAST_HELD_OUT:
        return None
    lengths = np.concatenate([np.diff(sentence_begins(ids)) for ids in text.chunks()])
    ranges = drawn_ranges(lengths, text.documents, limit, seed)
    occurrences = np.zeros(text.word_counts.size, np.int64)
    for rest, _ in _split(text.chunks(), ranges):
        occurrences += np.bincount(rest, minlength=occurrences.size)
    new_ids, known = _renumbered(occurrences)
    documents = [new_ids[held] for _, held in _split(text.chunks(), ranges)]
    pieces = (new_ids[rest] for rest, _ in _split(text.chunks(), ranges))
    rest_text = _without(text, pieces, known, occurrences[known], lengths, ranges, threads=threads, folder=folder)
    kept = tuple(_kept_classes(own, known) for own in classes)
    begins = np.concatenate([[0], np.cumsum([lengths[a:b].sum() for a, b in ranges])])
    ids = np.concatenate(documents)
    held = [ids[a:b] for a, b in pairwise(begins.tolist())]
    return DrawnDocuments([ReadSentences(own, sentence_begins(own)) for own in held], rest_text, kept)


def drawn_ranges(lengths: Integers, documents: Begins, limit: int, seed: int) -> list[tuple[int, int]]:
    """Ranges of sentences of so many positions together, or one more: documents, or pieces of long ones, in order.

    >>> drawn_ranges(np.full(20, 10), np.array([0, 10, 12, 20]), 40, seed=1)
    [(12, 16)]
    """
    ends = np.concatenate([[0], np.cumsum(lengths)])
    most = min(PIECE_POSITIONS, limit)
    pieces = []
    for first, last in pairwise(documents.tolist()):
        while first < last:
            end = max(min(int(np.searchsorted(ends, ends[first] + most, side="right")) - 1, last), first + 1)
            pieces.append((first, end))
            first = end
    chosen: list[tuple[int, int]] = []
    n = 0
    for i in np.random.default_rng(seed).permutation(len(pieces)).tolist():
        if n >= limit or len(chosen) == len(pieces) - 1:
            break
        chosen.append(pieces[i])
        n += int(ends[pieces[i][1]] - ends[pieces[i][0]])
    return sorted(chosen)


def _split(chunks: Iterable[Ids], ranges: list[tuple[int, int]]) -> Iterator[tuple[Ids, Ids]]:
    """Each chunk of a text without the sentences of some ranges, and with them alone."""
    bounds, n = np.array(ranges).ravel(), 0
    for ids in chunks:
        begins = sentence_begins(ids)
        numbers = np.arange(n, n + begins.size - 1)
        held = np.repeat(np.searchsorted(bounds, numbers, side="right") % 2 == 1, np.diff(begins))
        yield ids[~held], ids[held]
        n += begins.size - 1


def _renumbered(occurrences: Integers) -> tuple[Ids, Integers]:
    """(the new id of each word, the words that occur): those that do not come after all that do."""
    occurs = occurrences > 0
    occurs[: len(SPECIAL)] = True
    known = np.flatnonzero(occurs)
    new_ids = np.empty(occurrences.size, np.int32)
    new_ids[known] = np.arange(known.size)
    new_ids[~occurs] = np.arange(known.size, occurrences.size)
    return new_ids, known


def _kept_classes(classes: Classes, known: Integers) -> Classes:
    """The classes of the words that are left, without those that are empty now."""
    used, of_word = np.unique(classes.of_word[known], return_inverse=True)
    return Classes(of_word.astype(np.int32), tuple(classes.names[i] for i in used.tolist()))


def _some_words(vocabulary: Vocabulary, known: Integers) -> Vocabulary:
    """A vocabulary of some words of another, in their order."""
    lengths = np.diff(vocabulary.offsets)
    kept = np.zeros(lengths.size, bool)
    kept[known] = True
    return Vocabulary.unpacked(vocabulary.pool[np.repeat(kept, lengths)], lengths[known])


def _without(
    text: LocalText, pieces: Iterator[Ids], known: Integers, occurrences: Integers, lengths: Integers,
    ranges: list[tuple[int, int]], *, threads: int, folder: WorkFolder | None,
) -> LocalText:  # fmt: skip
    """The text of some pieces, as the text that they are of is kept; `known` are its words."""
    words = _some_words(text.vocabulary, known)
    held = sum(last - first for first, last in ranges)
    n_sentences = text.facts.sentences - held
    n_words = int(occurrences.sum()) - 2 * n_sentences
    facts = replace(text.facts, sentences=n_sentences, words=n_words)
    kept = np.delete(lengths, np.concatenate([np.arange(first, last) for first, last in ranges]))
    longest = int(kept.max()) - 2
    if isinstance(text, TextInMemory) or folder is None:
        corpus = Corpus(np.concatenate(list(pieces)), words, occurrences, facts, longest, 0)
        return TextInMemory(corpus, threads=threads)
    with folder.written("ids") as file:
        for ids in pieces:
            file.write(ids.data)
    stored = StoredText(folder.path / "ids", facts, longest, words, occurrences)
    return text.another(stored, folder)
