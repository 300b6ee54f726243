"""Word classes: one for every word of a vocabulary, and their file.

Classes 0, 1 and 2 hold `<unk>`, `<s>` and `</s>` alone, so that a stream of classes looks like a stream of words;
then comes the class whose words are met most often. Classes are found in text (`gapgram.classes.exchange`) or come
from a file of a user's own: parts of speech, stems, topics, anything that gives every word one class.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gapgram.arrays import Ids, Integers
from gapgram.errors import TextError
from gapgram.kernels.text.special_words import SPECIAL
from gapgram.system.atomic_file import written_aside
from gapgram.text.files import Block, display_name, read_blocks
from gapgram.text.vocabulary import Vocabulary

OTHER = "<other>"  # the class of words that a file does not mention


@dataclass(frozen=True)
class Classes:
    """The class of every word id, and the name of every class.

    >>> classes = Classes.numbered([7, 7, 5, 7], counts=[9, 1, 2, 1])
    >>> classes.of_word.tolist(), classes.names, classes.k
    ([0, 1, 2, 3, 3, 4, 3], ('<unk>', '<s>', '</s>', '1', '2'), 2)
    """

    of_word: Ids
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        self.of_word.flags.writeable = False

    @classmethod
    def numbered(cls, labels: npt.ArrayLike, counts: npt.ArrayLike) -> Classes:
        """Classes from any whole number a word, without the special words; named 1, 2, 3 … by falling count."""
        of_word, order = _by_count(np.asarray(labels, np.int64), np.asarray(counts, np.int64))
        return cls(of_word, (*SPECIAL, *(str(i + 1) for i in range(len(order)))))

    @classmethod
    def named(cls, labels: npt.ArrayLike, names: list[str], counts: npt.ArrayLike) -> Classes:
        """Classes from the place of each word's class among names; names that no word has are left out."""
        of_word, order = _by_count(np.asarray(labels, np.int64), np.asarray(counts, np.int64))
        return cls(of_word, (*SPECIAL, *(names[i] for i in order)))

    def named_by(self, vocabulary: Vocabulary) -> Classes:
        """The same classes, each named by its most frequent word."""
        _, first, _ = _distinct(self.of_word)
        return Classes(self.of_word, tuple(vocabulary[int(word)] for word in first))

    @property
    def k(self) -> int:
        """The number of classes, those of the special words not counted."""
        return len(self.names) - len(SPECIAL)

    @cached_property
    def sizes(self) -> Integers:
        """The number of words of each class."""
        return np.bincount(self.of_word, minlength=len(self.names))

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"<Classes: {self.k:,} of {len(self.of_word) - len(SPECIAL):,} words>"


def _by_count(labels: Integers, counts: Integers) -> tuple[Ids, list[int]]:
    """The class ids of all words, and the label of each class: by falling count, then by their first words."""
    used, first, inverse = _distinct(labels)
    totals = np.zeros(len(used), np.int64)
    np.add.at(totals, inverse, counts)
    order = np.lexsort((first, -totals))
    rank = np.empty(len(used), np.int32)
    rank[order] = np.arange(len(used), dtype=np.int32)
    special = np.arange(len(SPECIAL), dtype=np.int32)
    return np.concatenate([special, rank[inverse] + np.int32(len(SPECIAL))]), used[order].tolist()


def _distinct(labels: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], Integers, Integers]:
    """The different labels in order, where each is first, and the number of the label of each place.

    Small numbers, such as those of classes, are not sorted.

    >>> [each.tolist() for each in _distinct(np.array([7, 4, 7]))]
    [[4, 7], [1, 0], [1, 0, 1]]
    """
    if not labels.size or labels.min() < 0 or labels.max() > labels.size:
        used, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
        return used, first, inverse.reshape(-1)
    first_of = np.full(int(labels.max()) + 1, -1, np.int64)
    first_of[labels[::-1]] = np.arange(labels.size - 1, -1, -1)  # the last to be put there is the first of all
    used = np.flatnonzero(first_of >= 0)
    numbers = np.zeros(first_of.size, np.int64)
    numbers[used] = np.arange(used.size)
    return used, first_of[used], numbers[labels]


def write_classes(path: str | Path, classes: Classes, vocabulary: Vocabulary, counts: npt.ArrayLike) -> None:
    """Write `word TAB class TAB count` for every word but the special ones: class by class, frequent words first.

    counts: how often each word id is met.
    """
    times = np.asarray(counts, np.int64)
    words = list(vocabulary)
    order = np.lexsort((np.arange(len(words)), classes.of_word))
    with written_aside(Path(path)) as file:
        for i in order[len(SPECIAL) :].tolist():
            file.write(f"{words[i]}\t{classes.names[classes.of_word[i]]}\t{times[i]}\n".encode())


def read_classes(path: str | Path, vocabulary: Vocabulary, counts: npt.ArrayLike | None = None) -> Classes:
    """Read the classes of a vocabulary's words from lines of a word, a tab and the name of its class.

    Whatever follows a second tab is not looked at, nor are words that the vocabulary does not hold. All words that the
    file does not mention form one class, `<other>`; lines may put words into it, too. counts, how often each word id
    is met, put the classes in order; without them that is by the first word of each.
    """
    reader = _ClassFileReader(display_name(path), vocabulary)
    for block in read_blocks(path):
        reader.read(block)
    labels = reader.labels()
    times = np.zeros(len(labels), np.int64) if counts is None else np.asarray(counts, np.int64)[len(SPECIAL) :]
    return Classes.named(labels, list(reader.names), times)


class _ClassFileReader:
    """The classes met so far, and where each word was."""

    def __init__(self, name: str, vocabulary: Vocabulary) -> None:
        self.name, self.vocabulary = name, vocabulary
        self.names: dict[str, int] = {OTHER: 0}
        self.of_word: dict[int, tuple[int, int]] = {}  # word id: class, line
        self.unknown: dict[str, tuple[int, int]] = {}
        self.lines = 0

    def read(self, block: Block) -> None:
        for number, line in enumerate(block.data.split(b"\n")[:-1], block.first_line):
            if line.strip():
                self._read_line(number, line)

    def _read_line(self, number: int, line: bytes) -> None:
        where = f"{self.name}:{number}"
        try:
            fields = line.decode().rstrip("\r").split("\t")
        except UnicodeDecodeError as error:
            raise TextError(f"{where}: byte {error.start + 1} of the line is not valid UTF-8: fix the file") from None
        word = fields[0].strip(" ")
        name = fields[1].strip(" ") if len(fields) > 1 else ""
        if not word or not name:
            raise TextError(f"{where}: {_shortened(line)}: expected a word, a tab and the name of its class")
        if len(word.encode().split()) > 1:
            raise TextError(f"{where}: the word {word!r} holds white space, which no word of a text can: fix the line")
        for text in (word, name):
            if text in SPECIAL:
                raise TextError(f"{where}: {text} is the model's own and has a class of its own: leave the line out")
        self.lines += 1
        self._keep(where, number, word, name)

    def _keep(self, where: str, number: int, word: str, name: str) -> None:
        word_id = self.vocabulary.id(word)
        label = self.names.setdefault(name, len(self.names))
        if word_id:
            before = self.of_word.setdefault(word_id, (label, number))
        else:
            before = self.unknown.setdefault(word, (label, number))
        if before[0] != label:
            other = list(self.names)[before[0]]
            raise TextError(
                f"{where}: the word {word} is in class {name} here and in class {other} in line {before[1]}: "
                "a word has one class; keep one of the lines"
            )

    def labels(self) -> Integers:
        """The class of every word but the special ones."""
        if not self.lines:
            raise TextError(f"{self.name}: empty: expected lines of a word, a tab and the name of its class")
        if not self.of_word and len(self.vocabulary) > len(SPECIAL):
            raise TextError(
                f"{self.name}: none of its {self.lines:,} words is a word of the text: expected the word first, then a "
                "tab and the name of its class"
            )
        labels = np.zeros(len(self.vocabulary), np.int64)
        for word, (label, _) in self.of_word.items():
            labels[word] = label
        return labels[len(SPECIAL) :]


def _shortened(line: bytes) -> str:
    text = line.decode("utf-8", "replace").replace("\t", " ")
    return repr(text if len(text) <= 40 else text[:39] + "…")
