"""--learn, --history and --documents of the commands that read text."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.running import Ran, assert_refused

from gapgram import Model

TEXT = "w1 w2 zebra w3\nw1 w2 zebra w4\n\nw9 zebra w1\n"

pytestmark = pytest.mark.usefixtures("made")


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text"
    path.write_text(TEXT)
    return path


@pytest.mark.parametrize("kind", ["mkn", "learned"])
def test_perplexity_learns(cli: Callable[..., Ran], made: dict[str, Model], text: Path, kind: str) -> None:
    model = made[kind]

    def asked(*options: object) -> float:
        return float(json.loads(cli("perplexity", model.path, text, "--json", "-q", *options).out)["perplexity"])

    by_session = model.session().perplexity(text)
    assert asked("--learn") == by_session.perplexity < asked()
    assert asked("--learn", "--documents") == model.session().perplexity(text, documents=True).perplexity
    assert asked("--learn", "--history", text) < asked("--history", text) < asked()
    assert asked("--learn", "--documents", "--history", text) < asked("--learn", "--documents")


def test_score_learns_and_names_new_words(cli: Callable[..., Ran], made: dict[str, Model], text: Path) -> None:
    model = made["mkn"]
    lines = cli("score", model.path, text, "--learn", "-q").out.split("\n")
    session = model.session()
    expected = [session.score(line, learn=True) for line in TEXT.split("\n")[:4] if line]
    assert [float(line.split("\t")[0]) for line in lines if line] == pytest.approx(expected, abs=1e-6)
    assert lines[2] == ""
    words = cli("score", model.path, text, "--learn", "--words", "-q").out
    assert words.count("zebra\t") == 3
    assert "<unk>" not in words
    assert lines[0].endswith("\t4\t1")


def test_predict_reads_a_history_first(cli: Callable[..., Ran], made: dict[str, Model], text: Path) -> None:
    path = made["learned"].path
    assert "zebra" not in cli("predict", path, "w1 w2", "--prefix", "z", "-q").out
    answer = json.loads(cli("predict", path, "w1 w2", "--prefix", "z", "--history", text, "--json", "-q").out)
    assert answer["predictions"][0]["word"] == "zebra"
    assert "|read:14" in answer["signature"]


def test_predicting_while_typing_learns(cli: Callable[..., Ran], made: dict[str, Model]) -> None:
    typed = b"\nw1 okapi\n\nw1 o\n<s>\n\n"
    ran = cli("predict", made["mkn"].path, "--interactive", "--learn", stdin=typed)
    assert ran.code == 0
    assert "nothing to learn" in ran.err
    assert "learned; 3 words" in ran.err
    assert "okapi" in ran.out
    assert "the word <s> is the model's own" in ran.err


def test_surprisal_learns_item_by_item(cli: Callable[..., Ran], made: dict[str, Model], text: Path) -> None:
    def bits(*options: object) -> list[float]:
        rows = cli("surprisal", made["mkn"].path, text, "--no-about", "-q", *options).out.splitlines()[1:]
        return [float(row.split("\t")[4]) for row in rows]

    alone, learning, apart = bits(), bits("--learn"), bits("--learn", "--documents")
    assert learning[:1] == alone[:1] == apart[:1]
    assert learning[4:8] == apart[4:8] != alone[4:8]  # the second line: words that were read before it
    assert sum(learning) < sum(alone)
    assert apart[8] == alone[8] != learning[8]  # the second item begins anew


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("perplexity", "MODEL", "TEXT", "--documents"), "--documents says where learning begins anew: add --learn"),
        (("predict", "MODEL", "w1", "--learn"), "--learn is for --interactive"),
        (("predict", "MODEL", "--evaluate", "TEXT", "--history", "TEXT"), "--history is not for --evaluate"),
        (("perplexity", "MODEL", "TEXT", "--history", "nowhere"), "nowhere"),
    ],
)
def test_mistakes(
    cli: Callable[..., Ran], made: dict[str, Model], text: Path, arguments: tuple[str, ...], expected: str
) -> None:
    named = {"MODEL": made["mkn"].path, "TEXT": text}
    assert_refused(cli(*(named.get(argument, argument) for argument in arguments)), expected)
