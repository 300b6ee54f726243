"""What a model file says of itself, its card and its digest."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from tests.support.corpora import toy_text
from tests.support.running import Cli, assert_refused

import gapgram
from gapgram import Model

ABOUT = {"name": "toy", "language": "en", "licence": "CC BY-SA 4.0", "mood": "a | b"}


def test_entries_are_kept_by_whatever_is_made_of_a_model(models: dict[str, Model], tmp_path: Path) -> None:
    told = models["glm"].with_about(ABOUT, output=tmp_path / "told")
    assert told.about == ABOUT
    assert told.signature == models["glm"].signature
    small = told.pruned(keep=0.9, output=tmp_path / "small")
    assert (small.about, told.quantised(4).about, told.with_layout("compact").about) == (ABOUT, ABOUT, ABOUT)
    assert "language" not in repr(told)  # a line; the table has it
    assert "language" in told._repr_html_()


def test_a_model_that_says_nothing_has_the_same_bytes(models: dict[str, Model], tmp_path: Path) -> None:
    path = models["glm"].path
    assert path is not None
    silent = models["glm"].with_about(ABOUT).with_about({}, output=tmp_path / "silent")
    assert silent.about == {}
    assert (tmp_path / "silent").read_bytes() == path.read_bytes()


def test_training_says_it(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("\n".join(toy_text(60)) + "\n")
    options = ["--model", "mkn", "-n", 2, "--about", "language=en", "--about", "address=https://example.org/?a=b"]
    assert cli("train", tmp_path / "text", "-o", tmp_path / "m", *options).code == 0
    assert cli("about", tmp_path / "m", "--json").json == {"language": "en", "address": "https://example.org/?a=b"}
    refused = cli("train", tmp_path / "text", "-o", tmp_path / "n", "--about", "english")
    assert_refused(refused, "about 'english': expected NAME=TEXT, such as language=en")


def test_the_command(cli: Cli, models: dict[str, Model], tmp_path: Path) -> None:
    path = models["mkn"].path
    silent = cli("about", path)
    assert (silent.out, "nothing is said of this model" in silent.err) == ("", True)
    told = cli("about", path, "name=toy", "language=en", "-o", tmp_path / "told")
    assert told.out == f"{'language':20}en\n{'name':20}toy\n"
    assert cli("about", tmp_path / "told", "name=", "-o", tmp_path / "less").out == f"{'language':20}en\n"
    assert_refused(cli("about", path, "name=toy"), "name a file to write (-o NEW) and what to say in it")
    assert_refused(cli("about", path, "name=toy", "-o", path), "is read and would be replaced")


def test_info_says_the_digest_and_the_entries(cli: Cli, models: dict[str, Model], tmp_path: Path) -> None:
    models["mkn"].with_about(ABOUT, output=tmp_path / "told")
    digest = hashlib.sha256((tmp_path / "told").read_bytes()).hexdigest()
    ran = cli("info", tmp_path / "told")
    assert f"sha256              {digest}\n" in ran.out
    assert "licence             CC BY-SA 4.0\n" in ran.out
    found = cli("info", tmp_path / "told", "--json").json
    assert (found["sha256"], found["about"]) == (digest, ABOUT)
    gapgram.write_arpa(models["mkn"], tmp_path / "m.arpa")
    arpa = hashlib.sha256((tmp_path / "m.arpa").read_bytes()).hexdigest()
    assert cli("info", tmp_path / "m.arpa", "--json").json["sha256"] == arpa


def test_a_card(cli: Cli, models: dict[str, Model], tmp_path: Path) -> None:
    models["glm"].with_about({**ABOUT, "tokenisation": "spaces"}, output=tmp_path / "toy.model")
    card = cli("card", tmp_path / "toy.model").out
    digest = hashlib.sha256((tmp_path / "toy.model").read_bytes()).hexdigest()
    assert card.startswith('---\nlanguage: "en"\nlicense: "CC BY-SA 4.0"\ntags:\n')
    for line in ("# toy\n", "| mood | a \\| b |", f"| sha256 | {digest} |", 'gapgram.load("toy.model")',
                 "as the training text was: spaces.", str(models["glm"].signature)):  # fmt: skip
        assert line in card
    assert cli("card", tmp_path / "toy.model", "-o", tmp_path / "README.md").out == ""
    assert (tmp_path / "README.md").read_text() == card
    plain = cli("card", models["mkn"].path).out
    assert "# mkn.model\n" in plain
    assert "## About" not in plain


@pytest.mark.parametrize(("about", "expected"), [
    ({"name": 3}, "about 'name': 3: expected names and texts"),
    ({" ": "x"}, "expected names and texts"),
    ({"name": "x" * 10_001}, "expected at most 10,000 characters"),
    ({str(i): "x" for i in range(101)}, "101 entries, expected at most 100"),
])  # fmt: skip
def test_entries_that_make_no_sense(models: dict[str, Model], about: dict[str, str], expected: str) -> None:
    with pytest.raises(gapgram.UsageError, match=expected):
        models["mkn"].with_about(about)
