"""Word graphs: read, and the best path against all paths; mistakes in a sentence."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.running import Cli, assert_refused

import gapgram
from gapgram import Model
from gapgram.applications.rescoring.graphs import WordGraph, best_path, read_graph

GRAPH = """VERSION=1.0
base=10
N=6 L=8
I=0
I=1
I=2
I=3 W=w9
I=4
I=5
# links
J=0 S=0 E=1 W=!SENT_START a=0
J=1 S=1 E=2 W=w1 a=-1.0 l=-0.5
J=2 S=1 E=2 W=w2 a=-1.2
J=3 S=2 E=3 a=-0.7
J=4 S=2 E=4 W=w3 a=-0.9
J=5 S=3 E=4 W=!NULL a=0
J=6 S=3 E=4 W=w4 a=-0.1
J=7 S=4 E=5 W=</s> a=0
"""


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    (tmp_path / "graph.slf").write_text(GRAPH)
    return tmp_path / "graph.slf"


def all_paths(graph: WordGraph, node: int) -> Iterator[tuple[list[str], float, float]]:
    """Words, acoustic and language scores of all paths from a node to the end."""
    if node == graph.order[-1]:
        yield [], 0.0, 0.0
    for link in graph.links[node]:
        for words, acoustic, language in all_paths(graph, link.end):
            yield [link.word, *words] if link.word else words, acoustic + link.acoustic, language + link.language


@pytest.mark.parametrize("kind", ["mkn", "learned"])
@pytest.mark.parametrize("weights", [(1.0, 0.0, 1.0, 0.0), (0.3, 2.0, 0.5, 1.5), (9.0, 0.0, 0.1, 0.0)])
def test_the_best_path_is_the_best_of_all(
    made: dict[str, Model], graph: Path, kind: str, weights: tuple[float, float, float, float]
) -> None:
    model, read = made[kind], read_graph(graph)
    paths = list(all_paths(read, read.order[0]))
    assert len(paths) == 6
    totals = [
        weights[0] * a + weights[1] * b + weights[2] * model.score(" ".join(words)) + weights[3] * len(words)
        for words, a, b in paths
    ]
    found, total = best_path(model, read, weights)
    assert total == pytest.approx(max(totals))
    assert found == paths[totals.index(max(totals))][0]


def test_natural_logarithms_unless_said(tmp_path: Path) -> None:
    (tmp_path / "g").write_text("J=0 S=0 E=1 W=a a=-2\n")
    graph = read_graph(tmp_path / "g")
    assert graph.links[0][0].acoustic == pytest.approx(-2 / math.log(10))


def test_the_command_takes_graphs(cli: Cli, made: dict[str, Model], graph: Path) -> None:
    expected, _ = best_path(made["mkn"], read_graph(graph))
    ran = cli("rescore", made["mkn"].path, graph, "--graph", "-q")
    assert ran.out == " ".join(expected) + "\n"


@pytest.mark.parametrize(("data", "expected"), [
    ("", "g: no link in it: expected a graph in HTK's format"),
    ("J=0 S=0 E=x W=a\n", "g:1: 'J=0 S=0 E=x W=a': expected a node or a link with numbers"),
    ("J=0 S=0 E=1 W=a a=nan\n", "g:1: 'J=0 S=0 E=1 W=a a=nan': expected a node or a link with numbers"),
    ("J=0 S=0\n", "g:1: 'J=0 S=0': expected a node or a link with numbers"),
    ("J=0 S=0 E=1\nJ=1 S=2 E=1\n", "g: 2 nodes to begin with and 1 to end with: expected one of each"),
    ("J=0 S=0 E=1\nJ=1 S=1 E=2\nJ=2 S=2 E=1\nJ=3 S=2 E=3\n", "g: links lead back to where they came from"),
])  # fmt: skip
def test_graphs_that_are_none(
    cli: Cli, made: dict[str, Model], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: str, expected: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("g").write_text(data)
    with pytest.raises(gapgram.TextError, match=r"^g"):
        read_graph("g")
    assert_refused(cli("rescore", made["mkn"].path, "g", "--graph"), expected)
