"""Tables written to the file of a model while the rest of it is worked out."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.corpora import toy_text

import gapgram
from gapgram.system.array_file import MODEL, written_ahead

LINES = toy_text(300)


@pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning")
def test_the_file_is_that_of_a_model_that_is_saved(tmp_path: Path) -> None:
    written = gapgram.train(sentences=LINES, order=3, classes=3, threads=2, output=tmp_path / "written")
    gapgram.train(sentences=LINES, order=3, classes=3, threads=1).save(tmp_path / "saved")
    assert (tmp_path / "written").read_bytes() == (tmp_path / "saved").read_bytes()
    assert written.path == (tmp_path / "written").resolve()


def test_nothing_is_left_of_a_run_that_fails(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="halfway"), written_ahead(tmp_path / "model", MODEL, lambda: ({}, {})):
        assert len(list(tmp_path.iterdir())) == 1
        raise ValueError("halfway")
    assert list(tmp_path.iterdir()) == []
