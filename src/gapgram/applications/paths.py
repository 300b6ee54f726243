"""The best path through a graph of words, found by a beam search that keeps one of several paths with equal states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gapgram.arrays import Ids
from gapgram.kernels.text.special_words import END_ID
from gapgram.queries.language_model import LanguageModel
from gapgram.queries.states import State


class Arc(NamedTuple):
    """From a node to a later one: the words that the model reads, a score of its own, and what it stands for."""

    end: int
    ids: tuple[int, ...]
    score: float
    what: Any


class _Path(NamedTuple):
    """The beginning of a path: its score, the model's state, its last arc, and what is before that."""

    score: float
    state: State
    last: Arc | None
    before: _Path | None


def best_arcs(
    model: LanguageModel, nodes: Sequence[int], arcs: Sequence[Sequence[Arc]] | Mapping[int, Sequence[Arc]], *,
    weight: float, beam: int,
) -> tuple[float, list[Any]]:  # fmt: skip
    """(score, what its arcs stand for) of the path with the highest sum of its arcs' scores and the model's, weighted.

    nodes: in an order in which all arcs lead forwards, from the first to the last. arcs: by the node they begin at.
    beam: paths that are kept at each node; of those with equal states only the best.
    """
    begin = model.begin_sentence()
    at: dict[int, dict[State, _Path]] = {node: {} for node in nodes}
    at[nodes[0]][begin] = _Path(0.0, begin, None, None)
    for node in nodes[:-1]:
        kept = sorted(at[node].values(), key=lambda path: -path.score)[:beam]
        pairs = [(path, arc) for path in kept for arc in arcs[node]]
        scores, states = _extended(model, [path.state for path, _ in pairs], [arc.ids for _, arc in pairs])
        for (path, arc), added, state in zip(pairs, scores, states, strict=True):
            score, there = path.score + weight * added + arc.score, at[arc.end]
            if state not in there or there[state].score < score:
                there[state] = _Path(score, state, arc, path)
    last = list(at[nodes[-1]].values())
    ends, _ = _extended(model, [path.state for path in last], [(END_ID,)] * len(last))
    totals = [path.score + weight * end for path, end in zip(last, ends, strict=True)]
    best = int(np.argmax(totals))
    found: list[Any] = []
    path = last[best]
    while path.last is not None and path.before is not None:
        found.append(path.last.what)
        path = path.before
    return totals[best], found[::-1]


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
