"""The kernels for a card, run as Python by Numba's simulator; and what is said where there is no card."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.running import Ran

import gapgram
from gapgram.errors import DeviceError, UsageError


def test_models_on_a_simulated_card_give_the_scores_of_the_cpu() -> None:
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "GAPGRAM_KERNELS": "python"}
    tests = Path(__file__).with_name("test_card.py")
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tests)],
        env=environment, cwd=tests.parents[2], capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout[-3000:]
    assert "skipped" not in ran.stdout


def test_without_the_package_a_sentence_says_what_to_install(
    models: dict[str, gapgram.Model], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gapgram.cuda.card.find_spec", lambda name: None)
    with pytest.raises(DeviceError, match=r"numba-cuda is missing: pip install '\S*cuda\S*'"):
        models["mkn"].on("cuda")


def test_a_card_that_is_insisted_on_is_an_error_and_one_that_is_not_a_line(
    cli: Callable[..., Ran], models: dict[str, gapgram.Model], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gapgram.cuda.card.find_spec", lambda name: None)
    path = str(models["mkn"].path)
    insisted = cli("score", path, "--device", "cuda", stdin=b"w1 w2\n")
    assert insisted.code == 2
    assert "numba-cuda is missing" in insisted.err
    wished, plain = (cli("score", path, "--device", device, stdin=b"w1 w2\n") for device in ("auto", "cpu"))
    assert wished.code == 0
    assert wished.out == plain.out
    assert "numba-cuda is missing" in wished.err
    assert "the CPU does the work" in wished.err


def test_training_says_that_it_works_on_the_cpu(cli: Callable[..., Ran]) -> None:
    ran = cli("train", "-", "-o", "m", "--device", "cuda", stdin=b"w1 w2\n")
    assert ran.code == 2
    assert "train works on the CPU; a card scores: gapgram score MODEL --device cuda" in ran.err


def test_another_device_is_refused(models: dict[str, gapgram.Model]) -> None:
    assert models["mkn"].on("cpu") is models["mkn"]
    with pytest.raises(UsageError, match="device 'tpu': expected cpu or cuda"):
        models["mkn"].on("tpu")
