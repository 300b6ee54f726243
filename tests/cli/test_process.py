"""What only a process of its own can show: start-up, pipes, signals, exit codes."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.corpora import toy_text
from tests.support.running import HANGING_SECONDS

import gapgram
from gapgram import Model

GAPGRAM = [sys.executable, "-m", "gapgram"]


def run(*arguments: object, **variables: str) -> subprocess.CompletedProcess[bytes]:
    """The command line in a process of its own, with some environment variables set."""
    environment = {**os.environ, **variables}
    return subprocess.run(
        [*GAPGRAM, *map(str, arguments)], env=environment, input=b"", capture_output=True, timeout=HANGING_SECONDS
    )


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text"
    path.write_text("\n".join([*toy_text(300), ""]))
    return path


def test_without_a_terminal_there_are_no_bars(text: Path) -> None:
    done = run("train", text, "-o", text.parent / "m", "-n", 3, "--model", "mkn")
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"\r" not in done.stderr
    assert b"300 sentences" in done.stderr.splitlines()[-1]


def test_a_mistake_is_exit_code_2_without_a_traceback(text: Path) -> None:
    done = run("train", text.parent / "none", "-o", text.parent / "m")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode() == f"gapgram: {text.parent / 'none'}: no such file\n"


@pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning")
def test_words_that_the_terminal_cannot_show(tmp_path: Path) -> None:
    gapgram.train(sentences=["grün ist blau", "blau ist grün"] * 3, order=2, model="mkn", output=tmp_path / "m")
    done = run("info", tmp_path / "m", "--pattern", "11", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr.decode()) == (0, "")
    assert b"gr\\xfcn" in done.stdout


@pytest.mark.parametrize("arguments", [["info"], ["score", "--words"]])
def test_a_reader_that_goes_away_is_no_error(models: dict[str, Model], text: Path, arguments: list[str]) -> None:
    command, *options = arguments
    texts = [str(text)] if command == "score" else []
    given = [*GAPGRAM, command, str(models["mkn"].path), *texts, *options]
    with subprocess.Popen(given, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()
    assert (process.returncode, said.decode()) == (1, "")


def test_an_answer_comes_before_the_next_line_is_asked(models: dict[str, Model]) -> None:
    model = models["mkn"]
    with subprocess.Popen(
        [*GAPGRAM, "score", str(model.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for sentence in ("w1 w2", "w3"):
            process.stdin.write(f"{sentence}\n".encode())
            process.stdin.flush()
            assert float(process.stdout.readline().split()[0]) == pytest.approx(model.score(sentence), abs=1e-6)


# Runs the command line, but says so when it comes to the given function, and waits there until its input ends.
STOPPING_AT = """
import os, sys
from gapgram.{module} import {name} as real
import gapgram.{module} as module
def waiting(*arguments, **options):
    os.write(1, b"here\\n")  # in one piece: several threads may come here
    sys.stdin.read()
    return real(*arguments, **options)
module.{name} = waiting
from gapgram.cli.main import main
main()
"""


def interrupt(arguments: list[str], number: int, *, module: str, name: str) -> tuple[int, str, list[str]]:
    """Stop a command where it calls a function: (exit code, what it said, the files beside the text just then)."""
    program = [sys.executable, "-c", STOPPING_AT.format(module=module, name=name), *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(program, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        beside = sorted(p.name for p in Path(arguments[1]).parent.iterdir())
        process.send_signal(number)
        _, errors = process.communicate(timeout=HANGING_SECONDS)
    assert said == "here\n", errors
    return process.returncode, errors, beside


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_interrupted_while_writing(text: Path, number: int, code: int) -> None:
    arguments = ["train", str(text), "-o", str(text.parent / "m"), "-n", "3", "--model", "mkn", "-q"]
    returned, said, beside = interrupt(arguments, number, module="system.array_file", name="_header")
    assert [name.endswith(".unfinished") for name in beside] == [True, False]  # it had begun to write
    assert returned == code
    assert said.splitlines()[-1] == "gapgram: interrupted; nothing half-written was left behind"
    assert "Traceback" not in said
    assert [p.name for p in text.parent.iterdir()] == ["text"]


def test_interrupted_while_counting_an_older_model_survives(text: Path, models: dict[str, Model]) -> None:
    older = text.parent / "m"
    older.write_bytes(models["mkn"].path.read_bytes())  # type: ignore[union-attr]
    text.write_text("\n".join([*toy_text(300)] * 40))  # several bands
    arguments = ["train", str(text), "-o", str(older), "-n", "6", "--weights", "uniform", "-q", "--threads", "2"]
    returned, said, _ = interrupt(arguments, signal.SIGINT, module="counting.in_memory", name="Band")
    assert (returned, said) == (130, "gapgram: interrupted; nothing half-written was left behind\n")
    assert sorted(p.name for p in text.parent.iterdir()) == ["m", "text"]
    assert gapgram.load(older, verify=True).score("w1 w2") == models["mkn"].score("w1 w2")


def test_interrupted_while_finding_classes(text: Path) -> None:
    arguments = ["classes", str(text), "-o", str(text.parent / "c"), "-k", "9", "-q"]
    returned, said, _ = interrupt(arguments, signal.SIGINT, module="classes.exchange", name="cut_by_size")
    assert (returned, said) == (130, "gapgram: interrupted; nothing half-written was left behind\n")
    assert [p.name for p in text.parent.iterdir()] == ["text"]


def test_kernels_run_as_plain_python_too(text: Path) -> None:
    text.write_text("\n".join([*toy_text(30)]) + "\n")
    for name, kernels in (("plain", "python"), ("compiled", "built")):
        arguments = ["train", text, "-o", text.parent / name, "-n", 3, "--model", "mkn", "-q"]
        ran = run(*arguments, GAPGRAM_KERNELS=kernels)
        assert ran.returncode == 0, ran.stderr
        assert b"overflow" not in ran.stderr
    assert (text.parent / "plain").read_bytes() == (text.parent / "compiled").read_bytes()


def test_classes_are_found_in_plain_python_too(text: Path) -> None:
    text.write_text("\n".join([*toy_text(30)]) + "\n")
    for name, kernels in (("plain", "python"), ("compiled", "built")):
        ran = run("classes", text, "-o", text.parent / name, "-k", 4, "-q", GAPGRAM_KERNELS=kernels)
        assert (ran.returncode, ran.stderr.decode()) == (0, "")
    assert (text.parent / "plain").read_bytes() == (text.parent / "compiled").read_bytes()


@pytest.mark.parametrize(("arguments", "closed", "code", "expected"), [
    ("score MODEL TEXT", ">&-", 2, "gapgram: standard output is closed: what was to be printed is lost\n"),
    ("score MODEL TEXT", "<&-", 0, ""),
    ("score MODEL -", "<&-", 2, "gapgram: -: standard input is closed\n"),
    ("train TEXT -o NEW -n 2 --model mkn", "2>&-", 0, ""),
    ("train TEXT -o NEW -n 2 --model mkn", "2>/dev/full", 0, ""),
    ("train TEXT -o NEW -n 2 --model mkn", "<&- >&- 2>&-", 0, ""),
])  # fmt: skip
def test_closed_streams(
    models: dict[str, Model], tmp_path: Path, arguments: str, closed: str, code: int, expected: str
) -> None:
    (tmp_path / "text").write_text("the cat sat\na dog ran\n")
    files = {"MODEL": models["mkn"].path, "TEXT": tmp_path / "text", "NEW": tmp_path / "new"}
    words = [str(files.get(word, word)) for word in arguments.split()]
    command = shlex.join([sys.executable, "-W", "ignore", "-m", "gapgram", *words])
    done = subprocess.run(["sh", "-c", f"{command} {closed}"], capture_output=True, text=True, timeout=HANGING_SECONDS)
    assert (done.returncode, done.stderr) == (code, expected)
    assert (tmp_path / "new").exists() == arguments.startswith("train")
