"""A text whose ids are in a file, because they and what is counted from them do not fit into memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gapgram.arrays import Ids, Integers
from gapgram.classes.classes import Classes
from gapgram.kernels.text.special_words import END_ID
from gapgram.system.work_folder import WorkFolder
from gapgram.text.corpus import Reader, TextFacts
from gapgram.text.vocabulary import Vocabulary
from gapgram.text.word_table import WordSample

_CHUNK_POSITIONS = 1 << 20  # renumbered at a time
_STAGE = "text"


@dataclass(frozen=True)
class StoredText:
    """An encoded text: `<s> … </s>` for every sentence, one after the other, in a file of int32."""

    path: Path
    facts: TextFacts
    longest_sentence: int
    vocabulary: Vocabulary
    word_counts: Integers
    word_sample: WordSample | None = None

    @classmethod
    def of_folder(cls, folder: WorkFolder) -> StoredText | None:
        """The text that an earlier run read; None where it did not finish, or is not as it was left."""
        noted = folder.done(_STAGE)
        if noted is None or noted["checksums"] != folder.checksums(_FILES):
            return None
        pool, offsets, slots, counts = (np.load(folder.path / f"{name}.npy") for name in _ARRAYS)
        words = Vocabulary(pool, offsets, slots)
        sample = None
        if (folder.path / f"{_SAMPLE[0]}.npy").is_file():
            sample = WordSample(*(np.load(folder.path / f"{name}.npy") for name in _SAMPLE))
        return cls(folder.path / "ids", TextFacts(**noted["facts"]), noted["longest_sentence"], words, counts, sample)

    def chunks(self, positions: int) -> Iterator[Ids]:
        """All sentences, in order, in arrays of about so many ids, each of whole sentences."""
        rest = np.empty(0, np.int32)
        with self.path.open("rb") as file:
            while (some := np.fromfile(file, np.int32, positions)).size:
                ids = np.concatenate([rest, some])
                ends = np.flatnonzero(some[::-1] == END_ID)
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
_SAMPLE = ("sample_pool", "sample_offsets", "sample_times")  # where words are sampled
_FILES = ("ids", *(f"{name}.npy" for name in (*_ARRAYS, *_SAMPLE)))


def store_text(held: list[Ids], rest: Iterable[Ids], reader: Reader, folder: WorkFolder) -> StoredText:
    """Write a text into a folder: the pieces that are held, whose list is emptied, and the rest as the reader reads."""
    as_read = folder.path / "ids.as_read"
    held.reverse()
    with as_read.open("wb") as file:
        while held:
            file.write(held.pop().data)
        for piece in rest:
            file.write(piece.data)
    facts, vocabulary, word_counts, new_ids, sample = reader.finish()
    with as_read.open("rb") as source, folder.written("ids") as target:
        while (ids := np.fromfile(source, np.int32, _CHUNK_POSITIONS)).size:
            target.write(new_ids[ids].data)
    as_read.unlink()
    arrays: list[npt.NDArray[Any]] = [vocabulary.pool, vocabulary.offsets, vocabulary.slots, word_counts]
    if sample is not None:
        arrays += [sample.pool, sample.offsets, sample.times]
    for name, array in zip((*_ARRAYS, *_SAMPLE), arrays, strict=False):
        with folder.written(f"{name}.npy") as file:
            np.save(file, array)
    longest = reader.tally.longest_sentence
    checksums = folder.checksums(_FILES)
    folder.note(_STAGE, {"facts": asdict(facts), "longest_sentence": longest, "checksums": checksums})
    return StoredText(folder.path / "ids", facts, longest, vocabulary, word_counts, sample)
