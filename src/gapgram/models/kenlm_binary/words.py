"""The words of a binary file of KenLM: looked up by their hashes, listed where the file has them."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import numpy as np

from gapgram.arrays import Bytes, Ids, Integers
from gapgram.errors import ModelFileError
from gapgram.kernels.kenlm import grams
from gapgram.kernels.kenlm import words as kernels
from gapgram.kernels.kenlm.arrays import KenlmFile, n_ids, word_id
from gapgram.kernels.text.special_words import SPECIAL
from gapgram.models.kenlm_binary.header import damaged
from gapgram.text.vocabulary import Vocabulary

_FIRST = b"<unk>\0"


class KenlmVocabulary(Vocabulary):
    """Words by id and ids by word. A file without words still has an id for each, by its hash."""

    def __init__(self, path: Path, file: KenlmFile, memory: Bytes, words_at: int | None) -> None:
        self._path, self._file, self._memory = path, file, memory  # kept: kernels know no more than its address
        self._words = words = None if words_at is None else memory[words_at:]
        self._asked, self._size = {}, int(n_ids(file))
        if words is not None and words[: len(_FIRST)].tobytes() != _FIRST:
            raise damaged(path, "its list of words does not begin with <unk>")

    def encode_lines(self, text: Bytes, special: int, keep_empty: bool, out: Ids) -> tuple[int, int, int, int, int]:
        """The ids of lines of text, by the hashes of their words."""
        done: tuple[int, int, int, int, int] = kernels.encode_lines(text, special, keep_empty, self._file, out)
        if done[0] == kernels.FILE_DAMAGED:
            raise self._bad_table()
        return done

    def _find(self, word: str) -> int:
        text = np.frombuffer(word.encode("utf-8", "surrogatepass"), np.uint8)
        number = int(kernels.find_word(text, 0, text.size, self._file))
        if number < -1:
            raise self._bad_table()
        return number

    def _bad_table(self) -> ModelFileError:
        return damaged(self._path, "its table of words has no end, or a word without a place")

    @property
    def has_words(self) -> bool:
        """Whether words can be listed."""
        return self._words is not None

    @cached_property
    def _listed(self) -> tuple[Bytes, Integers]:
        """The bytes of all words, by gapgram's ids, and where each begins."""
        if self._words is None:
            raise ModelFileError(
                f"{self._path}: it holds no words, only their hashes (it was built with -v): it scores text, "
                "but cannot list or predict words, nor be converted; build it again without -v"
            )
        begins = kernels.first_words(self._words, self._file.n_words)
        if begins[-1] != self._words.size or not kernels.all_found(self._words, begins, self._file):
            raise damaged(self._path, "its list of words does not fit its table of hashes")
        special = Vocabulary.of([])
        pool, offsets = kernels.listed(self._words, begins, special.pool, special.offsets, self._file)
        return pool, offsets

    def listed(self) -> Vocabulary:
        """The words in memory, under the same ids; none may be there twice."""
        pool, offsets = self._listed
        twice = int(grams.first_twice(self._words, kernels.first_words(self._words, self._file.n_words), self._file))
        if twice >= 0:
            word = self[int(word_id(twice, self._file))]
            raise ModelFileError(f"{self._path}: the word {word!r} is in it twice; fix the ARPA file, build it again")
        return Vocabulary(pool, offsets)

    def ids_of_file(self) -> Integers:
        """The id of each of the file's own ids."""
        out: Integers = kernels.ids_of_file(self._file)
        return out

    @cached_property
    def pool(self) -> Bytes:  # type: ignore[override]
        """The bytes of all words, one after the other."""
        return self._listed[0]

    @cached_property
    def offsets(self) -> Integers:  # type: ignore[override]
        """Where each word begins in them."""
        return self._listed[1]

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, word_id: int) -> str:
        return SPECIAL[word_id] if 0 <= word_id < len(SPECIAL) else super().__getitem__(word_id)
