"""What all tests share: a quick Hypothesis, small models, the command line in this process."""

from __future__ import annotations

import io
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fuzz.seeds import made_files
from hypothesis import HealthCheck, settings
from tests.support.corpora import toy_text
from tests.support.made_models import FILED_KINDS, KINDS, trained
from tests.support.running import Ran
from tests.support.sample_kernels import Samples
from tests.support.sample_kernels import samples as built_samples

import gapgram
from gapgram.cli.main import main

# No example is timed, since machines are slow at times; the same examples every time.
settings.register_profile(
    "gapgram", deadline=None, derandomize=True, max_examples=40, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("gapgram")

# `nohup make test &` lets its children ignore Ctrl-C and the end of a terminal, which tests send to theirs.
for _number, _handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, lambda *_: None)):
    if signal.getsignal(_number) == signal.SIG_IGN:
        signal.signal(_number, _handler)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The measurement data beside the repository; tests that need it are skipped where it is absent."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"{folder} is not here: the project's own goldens are tested in its place")
    return folder


@pytest.fixture(scope="session")
def samples() -> Samples:
    """The kernels of `tests.kernels.samples`, built as those of the package are."""
    return built_samples()


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, gapgram.Model]:
    """Models of the toy text, saved: mkn, glm with equal weights, and a lattice of a user's own."""
    folder = tmp_path_factory.mktemp("models")
    lines = toy_text(300)
    kinds = {"mkn": KINDS["mkn"], "glm": KINDS["uniform"], "custom": KINDS["custom"]}
    return {
        name: trained(lines, order=4, output=folder / f"{name}.model", **options) for name, options in kinds.items()
    }


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, gapgram.Model]:
    """One model of each kind, order 4, of a text with some 560 words."""
    folder = tmp_path_factory.mktemp("made")
    text = toy_text(1200, seed=5, vocabulary=800)
    return {
        name: trained(text, order=4, output=folder / f"{name}.model", **options) for name, options in KINDS.items()
    }


@pytest.fixture(scope="session")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A small file of every kind by its name, for hostile ones to be made from."""
    return made_files(tmp_path_factory.mktemp("seeds"))


@pytest.fixture(scope="session")
def fast(models: dict[str, gapgram.Model]) -> dict[str, gapgram.Model]:
    """`models`, one of each other kind of weights, and one that is pruned."""
    lines = toy_text(200, seed=3)
    kinds: dict[str, Any] = {"learned": {}, "counts": {"weights": "counts"}, "classes": {"classes": 6}}
    others = {kind: trained(lines, order=4, **options) for kind, options in kinds.items()}
    return {**models, **others, "pruned": others["learned"].pruned(counts="0,0,1")}


@pytest.fixture(scope="session")
def model_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of a model of each of `FILED_KINDS`, and of one that is pruned: fast, compact and quantised."""
    folder = tmp_path_factory.mktemp("files")
    for name, options in FILED_KINDS.items():
        trained(toy_text(200, seed=3), order=4, output=folder / name, **options)
    gapgram.Model.load(folder / "learned").pruned(keep=0.9, output=folder / "pruned")
    for name in (*FILED_KINDS, "pruned"):
        model = gapgram.Model.load(folder / name)
        model.with_layout("compact", output=folder / f"{name}.compact")
        model.quantised(2).save(folder / f"{name}.quantised")
    return folder


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Callable[..., Ran]]:
    """Runs `gapgram` with arguments, and bytes as standard input, in this process."""

    def run(*arguments: object, stdin: bytes = b"") -> Ran:
        monkeypatch.setattr(sys, "argv", ["gapgram", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capsys.readouterr()
        try:
            main()
            code = 0
        except SystemExit as done:
            code = int(done.code or 0)
        out, err = capsys.readouterr()
        return Ran(code, out, err)

    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    with warnings.catch_warnings():
        yield run
    for number, handler in handlers.items():
        signal.signal(number, handler)
