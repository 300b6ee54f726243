"""Explanations as pictures and from the command line. That they add up is a law (`tests/test_laws.py`)."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from tests.support.made_models import KINDS, trained

from gapgram import Model
from gapgram.cli.explain import command
from gapgram.queries.lattice_picture import as_dot, as_svg

pytestmark = pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning")
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("name", KINDS)
def test_contributions_add_up(made: dict[str, Model], name: str) -> None:
    for context in ("", "<s>", "w1 w2", "zzz w1 w2 w3 w4"):
        whole = made[name].explain("w5", context)
        parts = [p.contribution for p in whole.patterns]
        assert sum(parts) + whole.uniform_contribution == pytest.approx(whole.probability, rel=1e-12)
        assert whole.probability == pytest.approx(10 ** made[name].log10_prob("w5", context), rel=1e-12)


def test_a_picture_has_the_levels_and_edges_of_the_lattice(made: dict[str, Model]) -> None:
    """Order 4 has 8 patterns in levels of 1, 3, 3, 1 and 12 edges, 3 of them the chain's."""
    page = ElementTree.fromstring(as_svg(made["learned"].explain("w3", "w1 w2 w1")))
    lines = page.findall(f"{SVG}line")
    assert len(page.findall(f"{SVG}g")) == 8
    assert len(lines) == 12
    assert sum(line.get("stroke-width") == "3" for line in lines) == 3
    heights = [box.find(f"{SVG}rect").get("y") for box in page.findall(f"{SVG}g")]  # type: ignore[union-attr]
    assert sorted(map(heights.count, set(heights))) == [1, 1, 3, 3]


def test_a_short_context_has_a_smaller_picture(made: dict[str, Model]) -> None:
    page = ElementTree.fromstring(as_svg(made["learned"].explain("w3", "w1")))
    assert len(page.findall(f"{SVG}g")) == 2


def test_words_are_escaped() -> None:
    model = trained(['a <b>&"\\ c', 'a <b>&"\\ d'] * 3, order=3, model="mkn")
    whole = model.explain("c", 'a <b>&"\\')
    text = [t.text or "" for t in ElementTree.fromstring(as_svg(whole)).iter(f"{SVG}text")]
    assert 'a <b>&"\\ •' in text
    assert '"a <b>&\\"\\\\ •\\n' in as_dot(whole)


def test_dot_has_the_same_edges(made: dict[str, Model]) -> None:
    dot = as_dot(made["learned"].explain("w3", "w1 w2 w1"))
    assert dot.count(" -> ") == 13  # the twelve of the lattice and the one to the even rest
    assert dot.count("penwidth=2.5") == 3


def test_the_command(made: dict[str, Model]) -> None:
    path = str(made["learned"].path)
    found = json.loads(CliRunner().invoke(command, [path, "w3", "w1 w2", "--json"]).stdout)
    assert sum(p["contribution"] for p in found["patterns"]) + found["uniform_contribution"] == found["probability"]
    assert CliRunner().invoke(command, [path, "w3", "w1", "--svg"]).stdout.startswith("<svg")
    assert CliRunner().invoke(command, [path, "w3", "w1", "--dot"]).stdout.startswith("digraph")
    table = CliRunner().invoke(command, [path, "yyy", "w1", "zzz"])
    assert "contribution" in table.stdout
    assert "not in the model's vocabulary, mapped to <unk>: zzz yyy" in table.stderr
    swapped = CliRunner().invoke(command, [path, "w1 w2", "w3"]).exception
    assert "the word 'w1 w2': expected one word, without white space; its context comes after it" in str(swapped)
