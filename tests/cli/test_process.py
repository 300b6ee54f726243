"""What only a process of its own can show: start-up, pipes, signals, exit codes."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.corpora import toy_text

import gapgram
from gapgram import Model

GAPGRAM = [sys.executable, "-m", "gapgram"]


def run(*arguments: object, stdin: bytes = b"", **options: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*GAPGRAM, *map(str, arguments)], input=stdin, capture_output=True, timeout=120, **options  # type: ignore[call-overload]
    )  # fmt: skip


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text"
    path.write_text("\n".join([*toy_text(300), ""]))
    return path


def test_help_loads_nothing_heavy_and_is_quick() -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "gapgram", "--help"], capture_output=True, text=True, timeout=60
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    imported = {line.split("|")[-1].strip().split(".")[0] for line in done.stderr.splitlines()}
    assert done.returncode == 0
    assert "click" in imported
    assert not imported & {"numpy", "numba", "llvmlite", "tqdm", "zstandard", "xxhash", "scipy", "pandas"}
    # Processor time: the clock on the wall also measures what else the machine is doing.
    assert after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime < 0.3


def test_importing_the_package_loads_nothing_heavy() -> None:
    program = "import sys, gapgram; dir(gapgram); print([m for m in ('numpy', 'numba', 'click') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout == "[]\n"


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
    done = run("info", tmp_path / "m", "--pattern", "11", env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"gr\\xfcn" in done.stdout


@pytest.mark.parametrize("arguments", [["info"], ["score", "--words"]])
def test_a_reader_that_goes_away_is_no_error(models: dict[str, Model], text: Path, arguments: list[str]) -> None:
    command, *options = arguments
    texts = [str(text)] if command == "score" else []
    process = subprocess.Popen(
        [*GAPGRAM, command, str(models["mkn"].path), *texts, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()
    assert (process.wait(60), said) == (1, b"")


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


# Runs the command line, but says so and waits when it comes to the given function.
STOPPING_AT = """
import sys, time
from gapgram.{module} import {name} as real
import gapgram.{module} as module
def waiting(*arguments, **options):
    print("here", flush=True)
    time.sleep({seconds})
    return real(*arguments, **options)
module.{name} = waiting
from gapgram.cli.main import main
main()
"""


def interrupt(program: str, arguments: list[str], number: int) -> tuple[int, str, list[str]]:
    """(exit code, what it said, the files beside the text while it waited)."""
    process = subprocess.Popen(
        [sys.executable, "-c", program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline().startswith("here")
    beside = sorted(p.name for p in Path(arguments[1]).parent.iterdir())
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    return process.returncode, said, beside


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_interrupted_while_writing(text: Path, number: int, code: int) -> None:
    arguments = ["train", str(text), "-o", str(text.parent / "m"), "-n", "3", "--model", "mkn", "-q"]
    program = STOPPING_AT.format(module="system.array_file", name="_header", seconds=60)
    returned, said, beside = interrupt(program, arguments, number)
    assert [name.endswith(".unfinished") for name in beside] == [True, False]  # it had begun to write
    assert returned == code
    assert said.splitlines()[-1] == "gapgram: interrupted; nothing half-written was left behind"
    assert "Traceback" not in said
    assert [p.name for p in text.parent.iterdir()] == ["text"]


def test_interrupted_while_counting_an_older_model_survives(text: Path, models: dict[str, Model]) -> None:
    older = text.parent / "m"
    older.write_bytes(models["mkn"].path.read_bytes())  # type: ignore[union-attr]
    text.write_text("\n".join([*toy_text(300)] * 400))  # some seconds of counting on two threads
    arguments = ["train", str(text), "-o", str(older), "-n", "6", "--weights", "uniform", "-q", "--threads", "2"]
    program = STOPPING_AT.format(module="counting.in_memory", name="Band", seconds=0.05)
    returned, said, _ = interrupt(program, arguments, signal.SIGINT)
    assert (returned, said) == (130, "gapgram: interrupted; nothing half-written was left behind\n")
    assert sorted(p.name for p in text.parent.iterdir()) == ["m", "text"]
    assert gapgram.load(older, verify=True).score("w1 w2") == models["mkn"].score("w1 w2")


def test_interrupted_while_finding_classes(text: Path) -> None:
    arguments = ["classes", str(text), "-o", str(text.parent / "c"), "-k", "9", "-q"]
    program = STOPPING_AT.format(module="classes.exchange", name="_cuts", seconds=0.3)
    returned, said, _ = interrupt(program, arguments, signal.SIGINT)
    assert (returned, said) == (130, "gapgram: interrupted; nothing half-written was left behind\n")
    assert [p.name for p in text.parent.iterdir()] == ["text"]


def test_kernels_run_as_plain_python_too(text: Path) -> None:
    text.write_text("\n".join([*toy_text(30)]) + "\n")
    for name, disable in (("plain", "1"), ("compiled", "0")):
        arguments = [sys.executable, "-m", "gapgram", "train", str(text), "-o", str(text.parent / name), "-n", "3"]
        ran = subprocess.run(
            [*arguments, "--model", "mkn", "-q"], env={**os.environ, "NUMBA_DISABLE_JIT": disable}, capture_output=True
        )
        assert ran.returncode == 0, ran.stderr
        assert b"overflow" not in ran.stderr
    assert (text.parent / "plain").read_bytes() == (text.parent / "compiled").read_bytes()


def test_classes_are_found_in_plain_python_too(text: Path) -> None:
    text.write_text("\n".join([*toy_text(30)]) + "\n")
    for name, disable in (("plain", "1"), ("compiled", "0")):
        arguments = [*GAPGRAM, "classes", str(text), "-o", str(text.parent / name), "-k", "4", "-q"]
        ran = subprocess.run(arguments, env={**os.environ, "NUMBA_DISABLE_JIT": disable}, capture_output=True)
        assert (ran.returncode, ran.stderr) == (0, b"")
    assert (text.parent / "plain").read_bytes() == (text.parent / "compiled").read_bytes()
