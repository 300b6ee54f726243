"""Word graphs of a recogniser, read in HTK's standard lattice format, and the best path with a model.

Of a graph there are nodes (`I=`), which may hold words, and links (`J= S= E=`) with words (`W=`) and scores (`a=`
acoustic, `l=` language, natural logarithms unless `base=` says otherwise). `!NULL`, `<s>` and the like are no words.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from gapgram.applications.paths import Arc, best_arcs
from gapgram.errors import TextError, UsageError
from gapgram.queries.language_model import LanguageModel, check_counts_words
from gapgram.text.corpus import numbered_lines
from gapgram.text.files import display_name

_FIELD = re.compile(r"(\S+?)=(\S*)")
_NO_WORDS = {"", "!NULL", "!ENTER", "!EXIT", "!SENT_START", "!SENT_END", "<s>", "</s>", "<eps>", "-"}
_MOST = 1_000_000  # nodes, or links
BEAM = 32


class GraphLink(NamedTuple):
    """From a node to another with a word, or with none, and its scores as log10."""

    start: int
    end: int
    word: str
    acoustic: float
    language: float


@dataclass(frozen=True)
class WordGraph:
    """Links by the node that they start from; nodes in an order in which all links lead forwards."""

    order: tuple[int, ...]
    links: dict[int, list[GraphLink]]


def read_graph(path: str | Path) -> WordGraph:
    """The graph of a file."""
    name, nodes, links, unit = display_name(path), dict[int, str](), list[GraphLink](), 1 / math.log(10)
    for number, line in numbered_lines(path):
        fields = dict(_FIELD.findall(line)) if not line.startswith("#") else {}
        try:
            unit = math.log10(float(fields["base"])) if "base" in fields else unit
            if "I" in fields:
                nodes[int(fields["I"])] = fields.get("W", "")
            elif "J" in fields:
                links.append(_link(fields, unit))
        except (KeyError, ValueError, ZeroDivisionError):
            raise TextError(f"{name}:{number}: {line[:80]!r}: expected a node or a link with numbers") from None
        if max(len(nodes), len(links)) > _MOST:
            raise TextError(f"{name}:{number}: more than {_MOST:,} nodes or links")
    return _made(name, nodes, links)


def _link(fields: dict[str, str], unit: float) -> GraphLink:
    scores = [float(fields.get(key, "0")) * unit for key in ("a", "l")]
    if not all(map(math.isfinite, scores)):
        raise ValueError
    return GraphLink(int(fields["S"]), int(fields["E"]), fields.get("W", ""), *scores)


def _made(name: str, nodes: dict[int, str], links: list[GraphLink]) -> WordGraph:
    """Links with their words, nodes in order; refuses what is no graph from one node to another."""
    if not links:
        raise TextError(f"{name}: no link in it: expected a graph in HTK's format, lines J= S= E= W= a=")
    numbers = {n for link in links for n in (link.start, link.end)}
    by_start: dict[int, list[GraphLink]] = {n: [] for n in numbers}
    waiting = dict.fromkeys(numbers, 0)
    for link in links:
        word = link.word or nodes.get(link.end, "")
        by_start[link.start].append(link._replace(word="" if word in _NO_WORDS else word))
        waiting[link.end] += 1
    starts, ends = [n for n in numbers if not waiting[n]], [n for n in numbers if not by_start[n]]
    if len(starts) != 1 or len(ends) != 1:
        raise TextError(f"{name}: {len(starts)} nodes to begin with and {len(ends)} to end with: expected one of each")
    order: list[int] = []
    ready = starts
    while ready:
        node = ready.pop()
        order.append(node)
        for link in by_start[node]:
            waiting[link.end] -= 1
            if not waiting[link.end]:
                ready.append(link.end)
    if len(order) < len(numbers):
        raise TextError(f"{name}: links lead back to where they came from: expected a graph without circles")
    return WordGraph(tuple(order), by_start)


def best_path(
    model: LanguageModel, graph: WordGraph, weights: Sequence[float] = (1.0, 0.0, 1.0, 0.0), *, beam: int = BEAM
) -> tuple[list[str], float]:
    """(words, total) of the path with the highest total of weighted scores.

    weights: of the acoustic scores and the language scores of the graph, of the model's log10, and of each word.
    beam: paths that are kept at each node; of those with equal states only the best.
    """
    check_counts_words(model, "a word graph")
    if len(weights) != 4:
        raise UsageError(f"{len(weights)} weights for a graph: expected acoustic, language, the model's and of words")
    acoustic, language, own, per_word = weights

    def arc(link: GraphLink) -> Arc:
        score = acoustic * link.acoustic + language * link.language
        if not link.word:
            return Arc(link.end, (), score, link.word)
        return Arc(link.end, (model.vocabulary.id(link.word),), score + per_word, link.word)

    arcs = {node: list(map(arc, graph.links[node])) for node in graph.order}
    total, words = best_arcs(model, graph.order, arcs, weight=own, beam=beam)
    return [word for word in words if word], total
