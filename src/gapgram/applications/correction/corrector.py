"""Lines corrected, with what was changed and what else it might have been."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from gapgram.applications.correction.candidates import NearWords, edits_allowed
from gapgram.applications.correction.errors import ErrorModel
from gapgram.applications.correction.tokens import Token, in_case_of, is_correctable, tokens_of
from gapgram.applications.paths import Arc, best_arcs
from gapgram.applications.surprisal.measures import word_frequencies
from gapgram.arguments import is_text
from gapgram.errors import TextError, UsageError
from gapgram.kernels.text.special_words import END, START, UNKNOWN_ID
from gapgram.queries.language_model import LanguageModel, check_counts_words

MOST_TOKENS = 400  # of a line that is searched at once
_REMEMBERED = 1 << 14


@dataclass(frozen=True)
class CorrectionOptions:
    """How much is changed; logarithms are to the base 10. The defaults were found on validation text.

    error_rate: of words that are misspelt. weight: of the model beside the channel.
    unknown, unknown_capital: what is added for a word that the model does not know and that is left alone: about the
        probability of its spelling among unknown words. One that begins with a capital letter may be a name.
    split, join: the share of errors that are a blank too few or too many.
    real_words: whether words that the model knows may be changed too. min_count: how often a word must occur in the
        training text to be written in the place of another; it has errors too.
    candidates: for a word. beam: hypotheses that are kept at each word.
    """

    error_rate: float = 0.01
    weight: float = 1.0
    unknown: float = -4.0
    unknown_capital: float = -1.0
    split: float = 0.02
    join: float = 0.02
    real_words: bool = True
    min_count: int = 5
    candidates: int = 12
    beam: int = 8

    def __post_init__(self) -> None:
        if not 0 < self.error_rate < 1:
            raise UsageError(f"error rate {self.error_rate}: expected a share between 0 and 1, such as 0.01")
        if self.candidates < 1 or self.beam < 1:
            raise UsageError(f"candidates {self.candidates}, beam {self.beam}: expected 1 or more of each")


class Change(NamedTuple):
    """Words that were changed: which token of the line, counted from 0, what it was and what it has become."""

    token: int
    before: str
    after: str


class Suggestion(NamedTuple):
    """What a token may stand for, most probable first, with probabilities that sum to one."""

    token: int
    before: str
    alternatives: list[tuple[str, float]]


class Correction(NamedTuple):
    """A line as it was, as it is corrected, and what was changed."""

    before: str
    after: str
    changes: list[Change]

    def diff(self) -> str:
        """The corrected line, with what was there before every change.

        >>> Correction("teh cat", "the cat", [Change(0, "teh", "the")]).diff()
        '[-teh-]{+the+} cat'
        """
        shown, changes = [], {change.token: change for change in self.changes}
        tokens, skipped = tokens_of(self.before), 0
        for i, token in enumerate(tokens):
            if skipped:
                skipped -= 1
                continue
            change = changes.get(i)
            if change is None:
                shown.append(token.written(token.word))
                continue
            skipped = len(change.before.split()) - 1
            closing = tokens[i + skipped].closing
            shown.append(f"{token.blank}{token.opening}[-{change.before}-]{{+{change.after}+}}{closing}")
        return "".join(shown)

    def as_dict(self) -> dict[str, Any]:
        """All of it by name, for JSON."""
        return {"before": self.before, "after": self.after, "changes": [change._asdict() for change in self.changes]}


class Corrector:
    """Corrects lines with a model of good text and a model of errors. Case and punctuation stay as they are.

    errors: pairs of misspelling and right word, from which errors are learned; without any, all edits are alike.
    progress: show a bar on a terminal while the words are indexed.

    >>> import gapgram
    >>> text = ["the cat sat on the mat", "the dog sat on the rug", "a cat and a dog ran"] * 9
    >>> model = gapgram.train(sentences=text, order=3, model="mkn")
    >>> Corrector(model).correct("Teh cat satt on the mat.").after
    'The cat sat on the mat.'
    """

    def __init__(
        self,
        model: LanguageModel,
        errors: Iterable[tuple[str, str]] = (),
        options: CorrectionOptions = CorrectionOptions(),
        *,
        progress: bool = False,
    ) -> None:
        check_counts_words(model, "correction")
        self.model, self.options, self.errors = model, options, ErrorModel(errors)
        counts = word_frequencies(model)
        self._counts = counts if counts is not None else np.full(len(model.vocabulary), options.min_count)
        least = options.min_count if int(self._counts.max(initial=0)) > 1000 else 1  # a small text has no rare words
        frequent = (model.vocabulary[i] for i in np.flatnonzero(self._counts >= least).tolist())
        words = (word.lower() for word in frequent if is_correctable(word))
        self.near, self._least = NearWords(words, progress=progress), least
        self._readings = lru_cache(_REMEMBERED)(self._readings_of)
        self._chance = lru_cache(_REMEMBERED)(self._log10_alone)

    def correct(self, line: str) -> Correction:
        """A line with the most probable words behind those that are written."""
        tokens = _tokens(line)
        changes, shown, at = [], [], 0
        for reading in self._best(tokens):
            first, last = tokens[at], tokens[at + reading.tokens - 1]
            written = " ".join(token.word for token in tokens[at : at + reading.tokens])
            if reading.shown != written:
                changes.append(Change(at, written, reading.shown))
            shown.append(f"{first.blank}{first.opening}{reading.shown}{last.closing}")
            at += reading.tokens
        after = "".join(shown)
        return Correction(line, after + line[len(line.rstrip()) :] if tokens else line, changes)

    def suggest(self, line: str, *, most: int = 5) -> list[Suggestion]:
        """For each word that may be changed what it may stand for, the other words being as they are corrected.

        Only words of which the right one is in doubt: something else than what is written has 1 % at least.
        """
        tokens, out = _tokens(line), list[Suggestion]()
        best, at = self._best(tokens), 0
        for number, reading in enumerate(best):
            token = tokens[at]
            if reading.tokens == 1 and token.correctable:
                ranked = self._ranked(best, number, self._choices(tokens, at))
                if any(shown != token.word and share >= 0.01 for shown, share in ranked):
                    out.append(Suggestion(at, token.word, ranked[:most]))
            at += reading.tokens
        return out

    def _ranked(self, best: list[Reading], number: int, choices: list[Reading]) -> list[tuple[str, float]]:
        """The readings of one token by their probability, given all others."""
        single = [reading for reading in choices if reading.tokens == 1]
        scores = []
        for reading in single:
            path = [[one] for one in [*best[:number], reading, *best[number + 1 :]]]
            levelled = [[one._replace(tokens=1) for one in readings] for readings in path]
            scores.append(best_readings(self.model, levelled, weight=self.options.weight, beam=1)[0])
        raised = np.power(10.0, np.array(scores) - max(scores))
        shares = raised / raised.sum()
        pairs = [(reading.shown, float(share)) for reading, share in zip(single, shares, strict=True)]
        return sorted(pairs, key=lambda pair: -pair[1])

    def _best(self, tokens: list[Token]) -> list[Reading]:
        readings: list[Reading] = []
        for begin in range(0, len(tokens), MOST_TOKENS):
            piece = tokens[begin : begin + MOST_TOKENS]
            choices = [self._choices(piece, t) for t in range(len(piece))]
            options = self.options
            readings += best_readings(self.model, choices, weight=options.weight, beam=options.beam)[1]
        return readings

    def _choices(self, tokens: list[Token], t: int) -> list[Reading]:
        """What may begin at a token: itself, other words, two words, or one word of it and the next."""
        token = tokens[t]
        around = self._ids(token.opening), self._ids(token.closing)
        if not token.correctable:
            return [Reading((*around[0], self._id(token.word), *around[1]), 1, 0.0, token.word)]
        readings = [r._replace(ids=(*around[0], *r.ids, *around[1])) for r in self._readings(token.word)]
        return [*readings, *self._joined(tokens, t)]

    def _ids(self, marks: str) -> tuple[int, ...]:
        return tuple(self._id(mark) for mark in marks)

    def _id(self, word: str) -> int:
        """The id of a word; of one that is only known in lower case, that."""
        vocabulary = self.model.vocabulary
        if word in (START, END):
            return UNKNOWN_ID
        return vocabulary.id(word) or vocabulary.id(word.lower())

    def _readings_of(self, word: str) -> tuple[Reading, ...]:
        """The readings of a word by itself: as it is, and the most probable other words."""
        options, own = self.options, self._id(word)
        left_alone = math.log10(1 - options.error_rate)
        if own == UNKNOWN_ID:
            left_alone += options.unknown_capital if word[0].isupper() else options.unknown
        same = Reading((own,), 1, left_alone, word)
        rare = own == UNKNOWN_ID or int(self._counts[own]) < self._least
        if not rare and not options.real_words:
            return (same,)
        readings = [*self._others(word.lower(), word), *self._halves(word, rare)]
        readings.sort(key=lambda r: -(r.channel + sum(self._chance(i) for i in r.ids)))
        return (same, *readings[: options.candidates])

    def _others(self, text: str, word: str) -> Iterator[Reading]:
        """Other words, by the letters that they share, and those that were misspelt so before."""
        near = set(self.near.near(text, edits_allowed(text)))
        near.update(meant for meant in self.errors.written.get(text, ()) if meant != text)
        misspelt = math.log10(self.options.error_rate)
        for other in near:
            ids = tuple(self._id(in_case_of(each, word)) for each in other.split())
            channel = self.errors.log10(other, text)
            if UNKNOWN_ID not in ids and channel > -math.inf:
                yield Reading(ids, 1, misspelt + channel, in_case_of(other, word))

    def _halves(self, word: str, rare: bool) -> Iterator[Reading]:
        """Two words whose blank was left out; only of what is no frequent word itself."""
        if not rare:
            return
        channel = math.log10(self.options.error_rate * self.options.split / len(word))
        for cut in range(1, len(word)):
            first, second = word[:cut], word[cut:]
            if second in self.near or (second == "a" and cut > 1):
                ids = self._id(first), self._id(second)
                known = first.lower() in self.near or first.lower() in ("a", "i")
                if known and UNKNOWN_ID not in ids:
                    yield Reading(ids, 1, channel, f"{first} {second}")

    def _joined(self, tokens: list[Token], t: int) -> Iterator[Reading]:
        """One word that a blank has cut in two."""
        token = tokens[t]
        if t + 1 == len(tokens) or token.closing or tokens[t + 1].opening:
            return
        other = tokens[t + 1]
        whole = token.word + other.word
        if is_correctable(token.word + "x") and whole.lower() in self.near and is_correctable(whole):
            ids = (*self._ids(token.opening), self._id(whole), *self._ids(other.closing))
            channel = math.log10(self.options.error_rate * self.options.join)
            yield Reading(ids, 2, channel, whole)

    def _log10_alone(self, word: int) -> float:
        return self.model.extend(self.model.null_context(), word)[0]


def _tokens(line: str) -> list[Token]:
    """The tokens of a line that is text."""
    if not is_text(line):
        raise TextError("the line holds half of a surrogate pair, which is no text")
    return tokens_of(line)


class Reading(NamedTuple):
    """What one token, or several joined, may stand for.

    ids: of the words that the model reads. tokens: how many are read. channel: log10 of the probability that what is
        written was written for it, and what else counts beside the model. shown: the word or words in its place.
    """

    ids: tuple[int, ...]
    tokens: int
    channel: float
    shown: str


def best_readings(
    model: LanguageModel, choices: Sequence[Sequence[Reading]], *, weight: float, beam: int
) -> tuple[float, list[Reading]]:
    """The readings of all tokens with the highest sum of channel and weighted scores of the model.

    choices[t]: the readings that begin at token t.
    """
    arcs = [[Arc(t + one.tokens, one.ids, one.channel, one) for one in some] for t, some in enumerate(choices)]
    return best_arcs(model, range(len(choices) + 1), arcs, weight=weight, beam=beam)
