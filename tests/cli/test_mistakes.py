"""A user's mistake: exit code 2, one to three lines on stderr that say what to do, nothing on stdout, no file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.running import Cli, assert_refused

from gapgram import DocumentScorer, Model

pytestmark = pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning")

TEXT = b"the cat sat\nthe dog sat\na cat ran\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "text").write_bytes(TEXT)
    return tmp_path


@pytest.mark.parametrize(("data", "expected"), [
    (b"", "the text is empty: expected one sentence a line"),
    (b"\n\n \n", "the text has 3 lines and all are empty"),
    (b"word\n", "the text is one word in all"),
    (b"a b\n", "order 5 is larger than any sentence: the longest has 2 words, which allow order 4 at most"),
    (TEXT + b"a \xff\n", "text:4: byte 3 of the line (0xff) is not valid UTF-8: fix the file"),
    (TEXT + b"a <s> b\n", "text:4: the word <s> is the model's own"),
    (TEXT + b"a <unk> b\n", "or let it stand for unknown words (--special unk)"),
    (b"\x1f\x8b\x08\x00rubbish", "text: the gzip data is damaged or cut off"),
])  # fmt: skip
def test_texts_that_cannot_be_trained_on(cli: Cli, folder: Path, data: bytes, expected: str) -> None:
    (folder / "text").write_bytes(data)
    assert_refused(cli("train", folder / "text", "-o", folder / "m"), expected)
    assert [p.name for p in folder.iterdir()] == ["text"]


def test_what_a_newcomer_does(cli: Cli, folder: Path) -> None:
    assert cli("train", folder / "text", "-o", folder / "m", "-n", "2", "--model", "mkn", "-q").code == 0
    (folder / "rec.jsonl").write_text('{"text": "the cat"}\n{"text": "a dog"}\n')
    assert_refused(cli("score", folder / "rec.jsonl", folder / "m"), "if it is the text, MODEL comes before it")
    assert_refused(cli("score", folder / "text", folder / "m"), "if it is the text, MODEL comes before it")
    assert_refused(cli("predict", folder / "m", "--prefix"), "try: gapgram predict --help")
    assert_refused(cli("perplexity", "--nonsense"), "try: gapgram perplexity --help")
    (folder / "long").write_text("the cat sat " * 700)
    ran = cli("train", folder / "long", "-o", folder / "n", "-n", "2", "--model", "mkn")
    assert "2,100 words a line: is there one sentence a line? gapgram prepare makes it so" in ran.err
    assert "2,100 words in 1 sentence, " in ran.err
    with pytest.raises(TypeError, match=r"gapgram\.load opens a model's file, found "):
        Model(str(folder / "m"))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"expected a model, as gapgram\.train and gapgram\.load\(path\) give"):
        DocumentScorer(str(folder / "m"))  # type: ignore[arg-type]


@pytest.mark.parametrize(("arguments", "expected"), [
    (["train", "none", "-o", "m"], "none: no such file"),
    (["train", ".", "-o", "m"], ".: a folder, not a file; name the text files in it"),
    (["train", "text", "-o", "m", "-n", "0"], "order 0: expected a whole number from 1 to 16"),
    (["train", "text", "-o", "m", "-n", "-3"], "order -3: expected"),
    (["train", "text", "-o", "m", "-n", "17"], "order 17: expected"),
    (["train", "text", "-o", "m", "-n", "five"], "'five' is not a valid integer"),
    (["train", "text", "-o", "m", "--model", "kn"], "'kn' is not one of 'mkn', 'glm'"),
    (["train", "text", "-o", "m", "--lattice", "11,12"], "pattern '12': expected 1 for a word kept"),
    (["train", "text", "-o", "m", "-n", "3", "--lattice", "1111"], "spans 4 words, the model's order is 3"),
    (["train", "text", "-o", "m", "--threads", "0"], "threads 0: expected 1 or more"),
    (["train", "text", "-o", "m", "--min-count", "0"], "minimum count 0: expected 1 or more"),
    (["train", "text", "-o", "m", "--vocab-limit", "0"], "vocabulary limit 0: expected 1 or more words"),
    (["train", "text", "-o", "none/m"], "none does not exist; make it first"),
    (["train", "text", "-o", "text/m"], "text is a file, not a folder; write to another place"),
    (["train", "text", "-o", "."], ".: a folder; name a file to write"),
    (["train", "text", "-o", "-"], "-: a file gets its name once it is whole, so none goes to standard output"),
    (["train", "text", "-o", "text"], "text: is read and would be replaced; name another file to write"),
    (["train", "text", "-o", "./text"], "text: is read and would be replaced; name another file to write"),
    (["train", "text"], "missing option '-o' / '--output'"),
    (["train", "-o", "m"], "missing argument 'TEXT…'"),
    (["trian", "text"], "no such command 'trian'; did you mean train or trace?"),
    (["perplex", "m", "text"], "no such command 'perplex'; did you mean perplexity?"),
    (["study", "x.toml"], "study: is now `python -m studies`, in a clone of gapgram's repository"),
    (["xyzzy"], "no such command 'xyzzy'\n"),
    (["train", "text", "-o", "m", "--modle", "mkn"], "--model"),
    (["score"], "missing argument 'MODEL'"),
    (["score", "none"], "none: no such file"),
    (["score", "text", "text"], "text: not a model: expected a file that gapgram "),
    (["perplexity", "none", "text"], "none: no such file"),
    (["perplexity", "."], "missing argument 'TEXT…'"),
    (["perplexity", ".", "text"], ".: a folder, not a model file"),
    (["info", "text"], "text: not a model: "),
    (["verify", "none"], "none: no such file"),
    (["compare", "none"], "none: no such file"),
    (["compare", "text", "-n", "5-3"], "orders '5-3': the first is larger than the last"),
    (["compare", "text", "-n", "x"], "orders 'x': expected numbers such as 5, 3-5 or 2,3,5"),
    (["compare", "text", "-n", "²"], "orders '²': expected numbers"),
    (["compare", "text", "-n", "0"], "order 0: expected"),
    (["compare", "text", "--train", "1.5"], "share of training text 1.5: expected a number between 0 and 1"),
    (["compare", "text", "--train", "0.0001"], "3 lines with words are too few to split"),
    (["train", "text", "-o", "new", "--classes", "60,,9"], "classes '60,,9': expected a number, auto or a file before"),
    (["train", "text", "-o", "new", "--classes", "none,9"], "classes 'none,9': expected a number, auto or a file"),
    (["train", "text", "-o", "new", "--seed", str(10**30)], "expected a whole number from 0 to 2**63 - 1"),
    (["train", "text", "-o", "new", "--memory", "9" * 400], "9': expected a size such as 4G, 400MB or 400MiB"),
    (["compare", "text", "--seed", "-1"], "-1 is not in the range x>=0"),
    (["demo", "-o", "text"], "text: File exists"),
    (["--nonsense"], "no such option '--nonsense'"),
])  # fmt: skip
def test_arguments_that_make_no_sense(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], expected: str
) -> None:
    monkeypatch.chdir(folder)
    assert_refused(cli(*arguments), expected)
    assert [p.name for p in folder.iterdir()] == ["text"]
    assert (folder / "text").read_bytes() == TEXT


@pytest.mark.parametrize("command", [["score", "m", "t"], ["perplexity", "m", "t"], ["info", "m"], ["verify", "m"]])
@pytest.mark.parametrize(("damage", "expected"), [
    (lambda data: b"", "m: an empty file, not a model of gapgram"),
    (lambda data: data[: len(data) // 2], "m: truncated: "),
    (lambda data: data[:900] + bytes([data[900] ^ 1]) + data[901:], "m: damaged: its section "),
    (lambda data: data[:8] + b"\x63" + data[9:], "m: written in format 99 by a newer gapgram"),
    (lambda data: b"gapgram?" + data[8:], "m: unfinished: the program that wrote it was stopped; make it again"),
    (lambda data: b"PK\x03\x04", "m: not a model: "),
])  # fmt: skip
def test_model_files_that_are_not_whole(
    cli: Cli, models: dict[str, Model], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    command: list[str], damage: Callable[[bytes], bytes], expected: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    path = models["mkn"].path
    assert path is not None
    (tmp_path / "m").write_bytes(damage(path.read_bytes()))
    (tmp_path / "t").write_bytes(TEXT)
    assert_refused(cli(*command), expected)


def test_a_file_of_counts_is_no_model(cli: Cli, models: dict[str, Model], tmp_path: Path) -> None:
    models["mkn"].counts.save(tmp_path / "c")
    assert_refused(cli("info", tmp_path / "c"), "holds counts, expected a model")


@pytest.mark.parametrize(("data", "expected"), [
    (b"", "no sentence in it: expected one sentence a line"),
    (b"\n \n", "no sentence in it: expected one sentence a line"),
    (b"w1\nw2 </s>\n", "standard input:2: the word </s> is the model's own: leave such words out (--special skip)"),
    (b"w1 \xe9t\xe9\n", "standard input:1: byte 4 of the line (0xe9) is not valid UTF-8"),
])  # fmt: skip
def test_texts_that_have_no_perplexity(cli: Cli, models: dict[str, Model], data: bytes, expected: str) -> None:
    assert_refused(cli("perplexity", models["mkn"].path, "-", stdin=data), expected)


def test_a_pattern_or_a_number_that_the_model_does_not_have(cli: Cli, models: dict[str, Model]) -> None:
    path = models["mkn"].path
    assert_refused(cli("info", path, "--pattern", "101"), "pattern 101 was not counted: there are 1 11 111 1111")
    assert_refused(cli("info", path, "--pattern", "11", "--top", "-1"), "-1 is not in the range x>=0")
    assert_refused(cli("score", path, "--threads", "-1", stdin=b"w1\n"), "threads -1: expected 1 or more")


def test_a_full_disk(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    ran = cli("train", folder / "text", "-o", folder / "m", "-n", 1, "--model", "mkn")
    assert ran.code == 2
    assert "m: no room left while writing (No space left on device); nothing was kept" in ran.err
    assert [p.name for p in folder.iterdir()] == ["text"]


def test_out_of_memory(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def out_of_memory(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("gapgram.training.run.estimate_discounts", out_of_memory)
    ran = cli("train", folder / "text", "-o", folder / "m", "-n", 2)
    assert_refused(ran, "out of memory: use a smaller text, a lower order or a vocabulary limit")
