"""The most probable sentence behind a sentence: a beam over what each token may stand for, with the model's states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gapgram.arrays import Ids
from gapgram.kernels.text.special_words import END_ID
from gapgram.queries.language_model import LanguageModel
from gapgram.queries.states import State


class Reading(NamedTuple):
    """What one token, or several joined, may stand for.

    ids: of the words that the model reads. tokens: how many are read. channel: log10 of the probability that what is
        written was written for it, and what else counts beside the model. shown: the word or words in its place.
    """

    ids: tuple[int, ...]
    tokens: int
    channel: float
    shown: str


class Hypothesis(NamedTuple):
    """A beginning of the sentence: its score, the model's state, and the readings so far, the last first."""

    score: float
    state: State
    last: Reading | None
    before: Hypothesis | None


def best_readings(
    model: LanguageModel, choices: Sequence[Sequence[Reading]], *, weight: float, beam: int
) -> tuple[float, list[Reading]]:
    """The readings of all tokens with the highest sum of channel and weighted scores of the model.

    choices[t]: the readings that begin at token t.
    """
    n = len(choices)
    ends: list[dict[State, Hypothesis]] = [{} for _ in range(n + 1)]
    begin = model.begin_sentence()
    ends[0][begin] = Hypothesis(0.0, begin, None, None)
    for t in range(n):
        kept = sorted(ends[t].values(), key=lambda one: -one.score)[:beam]
        pairs = [(one, reading) for one in kept for reading in choices[t]]
        scores, states = _extended(model, [one.state for one, _ in pairs], [reading.ids for _, reading in pairs])
        for (one, reading), added, state in zip(pairs, scores, states, strict=True):
            longer = Hypothesis(one.score + weight * added + reading.channel, state, reading, one)
            there = ends[t + reading.tokens]
            if state not in there or there[state].score < longer.score:
                there[state] = longer
    last = list(ends[n].values())
    scores, _ = _extended(model, [one.state for one in last], [(END_ID,)] * len(last))
    score, best = max(
        ((one.score + weight * added, one) for one, added in zip(last, scores, strict=True)), key=lambda pair: pair[0]
    )
    return score, _path(best)


def _extended(
    model: LanguageModel, states: list[State], words: Sequence[tuple[int, ...]]
) -> tuple[list[float], list[State]]:
    """The sums of the scores of some words after each state, and the states after them."""
    states, scores = list(states), np.zeros(len(states))
    for k in range(max(map(len, words), default=0)):
        going = [i for i, ids in enumerate(words) if len(ids) > k]
        ids: Ids = np.array([words[i][k] for i in going], np.int32)
        added, after = model.extend_many([states[i] for i in going], ids, threads=1)
        scores[going] += added
        for i, state in zip(going, after, strict=True):
            states[i] = state
    return scores.tolist(), states


def _path(best: Hypothesis) -> list[Reading]:
    readings: list[Reading] = []
    one: Hypothesis | None = best
    while one is not None and one.last is not None:
        readings.append(one.last)
        one = one.before
    return readings[::-1]
