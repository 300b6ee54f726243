"""A text whose ids are in a file, because they and what is counted from them do not fit into memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gapgram.arrays import Ids, Integers
from gapgram.classes.classes import Classes
from gapgram.kernels.special_words import END_ID
from gapgram.system.work_folder import WorkFolder
from gapgram.text.corpus import Corpus, Reader, TextFacts
from gapgram.text.files import Block
from gapgram.text.vocabulary import Vocabulary

_CHUNK = 1 << 20  # ids renumbered at a time
_STAGE = "text"


@dataclass(frozen=True)
class StoredText:
    """An encoded text: `<s> … </s>` for every sentence, one after the other, in a file of int32."""

    path: Path
    facts: TextFacts
    vocabulary: Vocabulary
    word_counts: Integers

    @classmethod
    def of_folder(cls, folder: WorkFolder) -> StoredText | None:
        """The text that an earlier run read; None where it did not finish."""
        facts = folder.done(_STAGE)
        if facts is None:
            return None
        pool, offsets, slots, counts = (np.load(folder.path / f"{name}.npy") for name in _ARRAYS)
        return cls(folder.path / "ids", TextFacts(**facts), Vocabulary(pool, offsets, slots), counts)

    def chunks(self, positions: int) -> Iterator[Ids]:
        """All sentences, in order, in arrays of about so many ids, each of whole sentences."""
        rest = np.empty(0, np.int32)
        with self.path.open("rb") as file:
            while (found := np.fromfile(file, np.int32, positions)).size:
                ids = np.concatenate([rest, found])
                ends = np.flatnonzero(found[::-1] == END_ID)
                cut = ids.size - int(ends[0]) if ends.size else 0
                if cut:
                    yield ids[:cut]
                rest = ids[cut:].copy()


@dataclass(frozen=True)
class StoredClasses:
    """The classes of the words of a stored text, as if they were words."""

    text: StoredText
    classes: Classes

    @property
    def facts(self) -> TextFacts:
        """What is known of the text."""
        return self.text.facts

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """The classes."""
        return self.classes.names

    @property
    def word_counts(self) -> Integers:
        """How often each class is met."""
        return np.bincount(self.classes.of_word, self.text.word_counts, len(self.classes)).astype(np.int64)

    def chunks(self, positions: int) -> Iterator[Ids]:
        """As those of the text."""
        return (self.classes.of_word[ids] for ids in self.text.chunks(positions))


_ARRAYS = ("word_pool", "word_offsets", "word_slots", "word_counts")


def read_text(
    blocks: Iterable[Block], reader: Reader, *, most: int, folder: Callable[[], WorkFolder]
) -> Corpus | StoredText:
    """Read a text into memory if it has at most so many ids, else into a folder."""
    held, n = [], 0
    pieces = reader.read(blocks)
    for piece in pieces:
        held.append(piece)
        n += piece.size
        if n > most:
            return _store(chain(_emptied(held), pieces), reader, folder())
    ids = np.concatenate(held)
    held.clear()
    facts, vocabulary, new_ids = reader.finish()
    return Corpus(new_ids[ids], vocabulary, facts.sentences, facts.words, facts.empty_lines, facts.digest, facts.rule)


def _emptied(pieces: list[Ids]) -> Iterator[Ids]:
    pieces.reverse()
    while pieces:
        yield pieces.pop()


def _store(pieces: Iterable[Ids], reader: Reader, folder: WorkFolder) -> StoredText:
    first = folder.path / "ids.as_read"
    with first.open("wb") as file:
        for piece in pieces:
            file.write(piece.data)
    facts, vocabulary, new_ids = reader.finish()
    counts = np.zeros(len(vocabulary), np.int64)
    with first.open("rb") as source, folder.written("ids") as target:
        while (ids := np.fromfile(source, np.int32, _CHUNK)).size:
            ids = new_ids[ids]
            counts += np.bincount(ids, minlength=counts.size)
            target.write(ids.data)
    first.unlink()
    arrays: list[npt.NDArray[Any]] = [vocabulary.pool, vocabulary.offsets, vocabulary.slots, counts]
    for name, array in zip(_ARRAYS, arrays, strict=True):
        with folder.written(f"{name}.npy") as file:
            np.save(file, array)
    folder.note(_STAGE, asdict(facts))
    return StoredText(folder.path / "ids", facts, vocabulary, counts)
