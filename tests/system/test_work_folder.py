"""The folder of a run: private, no link, and never stuck after a kill."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from gapgram.errors import UsageError
from gapgram.system.work_folder import WorkFolder


@pytest.mark.parametrize("left", [[], ["lock"], ["run.json.unfinished"], ["lock", "run.json.unfinished"]])
def test_a_run_that_was_killed_at_once_blocks_no_other(tmp_path: Path, left: list[str]) -> None:
    path = tmp_path / "work"
    path.mkdir()
    for name in left:
        (path / name).touch()
    assert WorkFolder.resume(path, {}) is None
    leftover = WorkFolder.leftover(path)
    assert leftover is not None
    leftover.close()
    folder = WorkFolder.begin(path, {"a": 1})
    assert {entry.name for entry in path.iterdir()} == {"lock", "run.json"}
    folder.remove()
    assert not path.exists()


def test_a_folder_of_other_files_is_no_leftover(tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    assert WorkFolder.leftover(tmp_path) is None
    with pytest.raises(UsageError, match="holds other files; name another folder"):
        WorkFolder.begin(tmp_path, {})


def test_only_its_user_may_enter(tmp_path: Path) -> None:
    path = tmp_path / "work"
    for mode in (None, 0o777):
        if mode is not None:
            path.mkdir()
            path.chmod(mode)
        folder = WorkFolder.begin(path, {})
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
        folder.remove()


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "work").symlink_to(tmp_path / "far")
    with pytest.raises(UsageError, match="a link, or another user's: not used for temporary files"):
        WorkFolder.begin(tmp_path / "work", {})
    assert list((tmp_path / "far").iterdir()) == []


def test_a_folder_of_another_user_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "work"
    WorkFolder.begin(path, {}).close()
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    for use in (WorkFolder.begin, WorkFolder.resume):
        with pytest.raises(UsageError, match="a link, or another user's: not used for temporary files"):
            use(path, {})
