"""What training asks of a text that was read, wherever its ids are: in memory, in files or on a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from gapgram.arrays import Ids, Integers
from gapgram.classes.classes import Classes
from gapgram.counting.band import NO_CUTS, Cuts
from gapgram.counts.streaming import InTurn
from gapgram.lattice import Lattice
from gapgram.text.corpus import TextFacts
from gapgram.text.vocabulary import Vocabulary
from gapgram.text.word_table import WordSample


class TextSource(Protocol):
    """A text and the engine that counts it: `TextInMemory`, `TextInFiles` or `TextOnSpark`."""

    @property
    def facts(self) -> TextFacts:
        """Its sentences, words and digest."""

    @property
    def positions(self) -> int:
        """How many ids it has, `<s>` and `</s>` of every sentence included."""

    @property
    def longest_sentence(self) -> int:
        """The words of its longest sentence."""

    @property
    def vocabulary(self) -> Vocabulary:
        """Its words."""

    @property
    def word_counts(self) -> Integers:
        """How often each word id is met."""

    @property
    def word_sample(self) -> WordSample | None:
        """The words that a model of spelling is trained on, where one is asked for."""

    def sample(self, *, seed: int, limit: int) -> Ids:
        """The sentences with the smallest hashes of their words, by hash, until there are `limit` positions."""

    def tables(self, lattice: Lattice, classes: Sequence[Classes], cuts: Cuts = NO_CUTS) -> InTurn:
        """Count all patterns of a lattice; those of each clustering's classes as if the words' classes were words.

        cuts: what is left out where it is counted, of a lattice without classes.
        """
