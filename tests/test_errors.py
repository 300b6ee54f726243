"""Errors are also the built-in errors that a Python program catches."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest

import gapgram
from gapgram import errors


def _errors() -> list[type[errors.GapgramError]]:
    found: list[type[errors.GapgramError]] = []
    for value in vars(errors).values():
        if isinstance(value, type) and issubclass(value, errors.GapgramError):
            found.append(value)
    return found


@pytest.mark.parametrize("error", _errors())
def test_an_error_says_its_sentence_and_can_be_pickled(error: type[errors.GapgramError]) -> None:
    raised = error("name: what was found")
    assert str(raised) == str(pickle.loads(pickle.dumps(raised))) == "name: what was found"


def test_a_wrong_argument_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="order 0: expected a whole number"):
        gapgram.train(sentences=["a b"], order=0)


def test_text_that_is_not_utf8_is_a_value_error(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(b"a \xff\n")
    with pytest.raises(ValueError, match="is not valid UTF-8"):
        gapgram.train(tmp_path / "text")


def test_a_text_that_is_not_there_is_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"text: no such file$"):
        gapgram.train(tmp_path / "text")


def test_a_folder_given_as_text_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="a folder, not a file"):
        gapgram.train(tmp_path)


@pytest.mark.skipif(os.name != "posix" or os.getuid() == 0, reason="root may read everything")
def test_a_text_that_may_not_be_read_is_an_os_error(tmp_path: Path) -> None:
    (tmp_path / "text").touch(mode=0)
    with pytest.raises(OSError, match="cannot be read: Permission denied"):
        gapgram.train(tmp_path / "text")


def test_a_model_that_is_not_there_is_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"model: no such file$"):
        gapgram.load(tmp_path / "model")


def test_a_damaged_model_is_an_os_error(tmp_path: Path, models: dict[str, gapgram.Model]) -> None:
    whole = Path(str(models["mkn"].path)).read_bytes()
    (tmp_path / "model").write_bytes(whole[:-1])
    with pytest.raises(OSError, match="truncated"):
        gapgram.load(tmp_path / "model")


def test_an_error_of_the_writer_is_not_taken_for_one_of_the_file(tmp_path: Path) -> None:
    """`OSError` is what a full disk raises while a file is written; ours keep their own sentence."""
    from gapgram.system.atomic_file import written_aside

    with pytest.raises(errors.TextNotFoundError, match=r"^text: no such file$"), written_aside(tmp_path / "new"):
        raise errors.TextNotFoundError("text: no such file")
    assert not list(tmp_path.iterdir())
