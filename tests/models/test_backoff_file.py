"""The file of a backoff model gives the model back, bit for bit; what is wrong with it is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.corpora import toy_text

import gapgram
from gapgram import BackoffModel, Model, sections
from gapgram.errors import ModelFileError
from gapgram.models.arpa.reading import read_arpa
from gapgram.models.arpa.writing import as_backoff, write_arpa
from gapgram.models.backoff import read_backoff, write_backoff
from gapgram.system import array_file, array_reading

pytestmark = pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning")

TEXT = toy_text(40, seed=8, vocabulary=90)


@pytest.fixture(scope="module")
def arpa(models: dict[str, Model], tmp_path_factory: pytest.TempPathFactory) -> BackoffModel:
    path = tmp_path_factory.mktemp("arpa") / "mkn.arpa"
    write_arpa(models["mkn"], path)
    return read_arpa(path)


def test_a_model_comes_back_bit_for_bit(arpa: BackoffModel, tmp_path: Path) -> None:
    write_backoff(arpa, tmp_path / "backoff")
    back = gapgram.load(tmp_path / "backoff")
    assert back.path == tmp_path / "backoff"
    assert (back.order, back.signature) == (arpa.order, arpa.signature)
    assert list(back.vocabulary) == list(arpa.vocabulary)
    assert back.score_many(TEXT).tolist() == arpa.score_many(TEXT).tolist()
    for context in ("", "w1", "<s> w2 w3", "w9 nothing w1 w2"):
        assert np.array_equal(back.distribution(context), arpa.distribution(context))


def test_it_is_written_the_same_way_twice(arpa: BackoffModel, tmp_path: Path) -> None:
    write_backoff(arpa, tmp_path / "first")
    write_backoff(read_backoff(tmp_path / "first", verify=True), tmp_path / "second")
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()
    write_arpa(read_backoff(tmp_path / "first"), tmp_path / "back.arpa")
    assert (tmp_path / "back.arpa").read_bytes() == arpa.path.read_bytes()  # type: ignore[union-attr]


def test_models_of_one_word_and_with_empty_lengths_come_back(tmp_path: Path) -> None:
    for sentences, order in ((["a b", "b"] * 5, 1), (["a"] * 5 + ["b"], 3)):
        model = as_backoff(gapgram.train(sentences=sentences, order=order, model="mkn"))
        write_backoff(model, tmp_path / "backoff")
        assert read_backoff(tmp_path / "backoff").score("a b a") == model.score("a b a")


def test_a_damaged_file_is_said(arpa: BackoffModel, tmp_path: Path) -> None:
    path = tmp_path / "backoff"
    write_backoff(arpa, path)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(ModelFileError, match="does not match its checksum"):
        gapgram.load(path)
    with pytest.raises(ModelFileError, match="holds a backoff model, expected a model"):
        write_backoff(arpa, path)
        Model.load(path)


@pytest.mark.parametrize(("name", "change"), [
    ("base", lambda a: a[:1]), ("base", lambda a: a + 1), ("base", lambda a: a[::-1].copy()),
    ("grams", lambda a: a[1:]), ("log10_probs", lambda a: a[1:]), ("log10_backoffs", lambda a: a[1:]),
    ("children", lambda a: a[1:]),
])  # fmt: skip
def test_arrays_that_do_not_fit_each_other_are_said(arpa: BackoffModel, tmp_path: Path, name: str, change: Any) -> None:
    write_backoff(arpa, tmp_path / "backoff")
    found = array_reading.read(tmp_path / "backoff", array_file.BACKOFF, sections.BACKOFF)
    arrays = {**found.arrays, name: change(found.arrays[name])}
    array_file.write(tmp_path / "odd", array_file.BACKOFF, found.metadata, arrays)
    with pytest.raises(ModelFileError, match="not as gapgram writes it"):
        gapgram.load(tmp_path / "odd")


def test_kernels_do_not_trust_what_large_files_hold(arpa: BackoffModel, tmp_path: Path) -> None:
    """Large tables are not compared with their checksums when a file is opened."""
    write_backoff(arpa, tmp_path / "backoff")
    found = array_reading.read(tmp_path / "backoff", array_file.BACKOFF, sections.BACKOFF)
    draw = np.random.default_rng(5)
    for name in ("children", "grams"):
        wrong = draw.integers(-(1 << 31), 1 << 31, found.arrays[name].size).astype(np.int32)
        array_file.write(tmp_path / "odd", array_file.BACKOFF, found.metadata, {**found.arrays, name: wrong})
        model = gapgram.load(tmp_path / "odd", verify=False)
        assert np.isfinite(model.score_many(TEXT)).all()
        assert np.isfinite(model.distribution("w1 w2")).all()
