"""Words outside of a vocabulary, by their spelling: docs/ideas/mathematics.md, equations (44) to (46).

    >>> spelling = ReferenceSpelling(["ab", "aa", "b"], ["aa", "b"], order=3, most_characters=2)
    >>> strings = ["a", "b", "aa", "ab", "ba", "bb"]  # of two characters of many; all others are like one that is new
    >>> new = [x + y for x in "abz" for y in "abz" if "z" in x + y] + ["z"]
    >>> every = sum(map(spelling.spelled, strings)) + sum(spelling.spelled(w) * OTHERS ** w.count("z") for w in new)
    >>> round(every, 9)
    1.0
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gapgram.lattice import Lattice
from reference.counts import END, START, UNKNOWN, ReferenceCounts
from reference.model import ReferenceModel

UNICODE = 1_112_064 - 6  # characters, without the white space that ends words
OTHERS = UNICODE - 2  # in the example


class ReferenceSpelling:
    """Modified Kneser-Ney of characters, learned from words, each as a sentence."""

    def __init__(
        self, words: Iterable[str], vocabulary: Sequence[str], *, order: int = 6, most_characters: int = 100
    ) -> None:
        sentences = [list(word) for word in words]
        longest = max(map(len, sentences))
        self.model = ReferenceModel(ReferenceCounts(sentences, Lattice.chain(min(order, longest + 2))))
        self.characters = {character for sentence in sentences for character in sentence}
        self.vocabulary, self.most_characters = vocabulary, most_characters

    def spelled(self, word: str) -> float:
        """The probability of a word among all strings: equation (44)."""
        characters = list(word[: self.most_characters])
        product = 1 / (1 - self.model.probability(END, [START]))
        for i, character in enumerate(characters):
            product *= self.character(character, [START, *characters[:i]])
        if len(characters) < self.most_characters:
            product *= self.model.probability(END, [START, *map(self.known, characters)])
        return product

    def character(self, character: str, before: Sequence[str]) -> float:
        """The probability of a character; those that were never met share that of the unknown one."""
        probability = self.model.probability(self.known(character), [*before[:1], *map(self.known, before[1:])])
        return probability if character in self.characters else probability / (UNICODE - len(self.characters))

    def known(self, character: str) -> str:
        """The character as the model knows it."""
        return character if character in self.characters else UNKNOWN

    def outside(self) -> float:
        """What all strings have together that are not in the vocabulary: equation (45)."""
        return 1 - sum(self.spelled(word) for word in self.vocabulary if len(word) < self.most_characters)

    def probability(self, word: str, unknown: float) -> float:
        """P(word | context) of a word outside of the vocabulary, `unknown` being that of `<unk>`: equation (46)."""
        return unknown * self.spelled(word) / self.outside()
