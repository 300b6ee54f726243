"""The commands prepare, split and sample."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

pytest.importorskip("mwparserfromhell", reason="needs the extra gapgram[prepare]")
pytest.importorskip("sentencex", reason="needs the extra gapgram[prepare]")

from tests.support.made_documents import document, dump, page

from gapgram.cli import prepare, sample, split
from gapgram.errors import GapgramError


def call(command, *arguments: object) -> Result:  # type: ignore[no-untyped-def]
    result = CliRunner().invoke(command.command, [str(a) for a in arguments])
    if isinstance(result.exception, GapgramError):
        raise result.exception
    return result


@pytest.mark.parametrize(
    ("kind", "text"),
    [("wikipedia", dump(page("A", "One dog. Two cats."))), ("acquis", document("One dog.")), ("text", "One dog. Two.")],
)
def test_prepare(tmp_path: Path, kind: str, text: str) -> None:
    (tmp_path / "in.xml").write_text(text)
    out = tmp_path / "out.txt"
    arguments = [kind, tmp_path / "in.xml", "-o", out, "--language", "en", "--processes", 1]
    said = call(prepare, *arguments)
    assert said.exit_code == 0 and said.stdout.startswith(f"{out}: ")
    assert "One dog ." in out.read_text()
    report = json.loads(call(prepare, *arguments, "--json").stdout)
    assert report["documents"] == 1 and report["sentences"] == len(out.read_text().splitlines())
    assert report["sentencex"] and report["output"] == str(out)
    arguments[3] = "-"
    assert call(prepare, *arguments).stdout == out.read_text()


def test_prepare_says_what_was_malformed(tmp_path: Path) -> None:
    (tmp_path / "in.xml").write_text(dump(page("A", "One dog."), page("B", "<b>")))
    said = call(
        prepare, "wikipedia", tmp_path / "in.xml", "-o", tmp_path / "o", "--language", "en", "--malformed", "skip"
    )
    assert "1 documents (0 left out, 1 malformed)" in said.stdout
    assert said.stderr == f"first malformed: {tmp_path / 'in.xml'}:25: mismatched tag\n"


def test_mistakes(tmp_path: Path) -> None:
    assert call(prepare, "text", "x").exit_code == 2
    with pytest.raises(GapgramError, match="no such file"):
        call(prepare, "text", tmp_path / "none", "-o", tmp_path / "o", "--language", "en")
    with pytest.raises(GapgramError, match="a folder, not a file"):
        call(prepare, "wikipedia", tmp_path, "-o", tmp_path / "o", "--language", "en")
    with pytest.raises(GapgramError, match="language 'english': expected a Wikipedia code"):
        call(prepare, "text", tmp_path / "none", "-o", tmp_path / "o", "--language", "english")
    with pytest.raises(GapgramError, match="training share 'most': expected numbers between 0 and 1"):
        call(split, tmp_path / "none", "--train", "most")
    with pytest.raises(GapgramError, match="--json: the sequences go to standard output already"):
        call(sample, tmp_path / "none", "--json")
    assert list(tmp_path.iterdir()) == []


def test_split_and_sample(tmp_path: Path) -> None:
    text = tmp_path / "t.txt"
    text.write_text("a b c d e f\n" * 100)
    said = call(split, text, "--train", "0.8,0.08", "-o", tmp_path / "p")
    assert said.stdout.splitlines()[0] == f"{tmp_path / 'p'}.train-0.8.txt: 80 sentences, 480 words"
    report = json.loads(call(split, text, "--json").stdout)
    assert [part["sentences"] for part in report["parts"]] == [80, 20]
    assert len(call(sample, text, "--sequences", 7, "--length", 2).stdout.splitlines()) == 7
    said = call(sample, text, "--sequences", 7, "-o", tmp_path / "s")
    assert said.stdout == f"{tmp_path / 's'}: 7 of 200 runs of 5 words\n"
    assert json.loads(call(sample, text, "--sequences", 7, "-o", tmp_path / "s", "--json").stdout)["runs"] == 200
