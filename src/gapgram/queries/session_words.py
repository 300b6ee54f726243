"""The words of a session: those of its model, and those that it read first."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator

from gapgram.kernels.special_words import SPECIAL, UNKNOWN_ID
from gapgram.text.vocabulary import Vocabulary


class SessionVocabulary:
    """The words of a model and, after them, those that a session read first."""

    def __init__(self, known: Vocabulary, own: Iterable[str] = ()) -> None:
        self.known, self.own = known, list(own)
        self._ids = {word: len(known) + i for i, word in enumerate(self.own)}

    def id(self, word: str) -> int:
        """The id of a word; 0 where neither the model nor the session knows it."""
        return self.known.id(word) or self._ids.get(word, UNKNOWN_ID)

    def learned_id(self, word: str) -> int:
        """The id of a word that the model does not know; a new one where the session has not met it."""
        if word in SPECIAL:
            return UNKNOWN_ID
        if word not in self._ids:
            self._ids[word] = len(self)
            self.own.append(word)
        return self._ids[word]

    def copy(self) -> SessionVocabulary:
        """Another that can learn other words."""
        return SessionVocabulary(self.known, self.own)

    def __getitem__(self, word_id: int) -> str:
        return self.known[word_id] if word_id < len(self.known) else self.own[word_id - len(self.known)]

    def __contains__(self, word: object) -> bool:
        return word in self.known or word in self._ids

    def __iter__(self) -> Iterator[str]:
        yield from self.known
        yield from self.own

    def __len__(self) -> int:
        return len(self.known) + len(self.own)


class ReadWords:
    """The different words that were read, by their letters, for completing them."""

    def __init__(self) -> None:
        self._words: list[str] = []
        self._ids: dict[str, int] = {}

    def add(self, vocabulary: SessionVocabulary, ids: Iterable[int]) -> None:
        """Remember the words of some ids."""
        new = {vocabulary[i]: i for i in ids if vocabulary[i] not in self._ids}
        self._ids |= new
        if len(new) > len(self._words) // 8:
            self._words = sorted(self._ids)
            return
        for word in new:
            insort(self._words, word)

    def starting_with(self, prefix: str) -> list[int]:
        """The ids of the words that start so."""
        first = bisect_left(self._words, prefix)
        ids = []
        for word in self._words[first:]:
            if not word.startswith(prefix):
                break
            ids.append(self._ids[word])
        return ids
