"""Filtering inside other programs' pipelines, and of folders of files."""

from __future__ import annotations

import json
import os
import pickle
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from tests.support.running import Cli

from gapgram import Model, UsageError
from gapgram.applications.filtering import folders
from gapgram.applications.filtering.choice import Choice
from gapgram.applications.filtering.folders import files_of, filter_files
from gapgram.applications.filtering.stages.datasets import AddPerplexity
from gapgram.errors import TextError

TEXTS = ["w1 w2 w3", "zzz yyy xxx", "w1", ""]


def path_of(models: dict[str, Model]) -> str:
    return str(models["mkn"].path)


def test_columns_for_datasets_travel_as_the_path_of_the_model(made: dict[str, Model]) -> None:
    add = pickle.loads(pickle.dumps(AddPerplexity(made["mkn"], prefix="lm_")))
    found = add({"text": [*TEXTS, None], "id": [1, 2, 3, 4, 5]})
    assert found["lm_words"] == [3, 3, 1, 0, 0]
    assert found["lm_unknown_share"] == [0.0, 1.0, 0.0, 0.0, 0.0]
    assert found["lm_perplexity"][0] == pytest.approx(made["mkn"].perplexity(sentences=["w1 w2 w3"]).perplexity)
    assert found["lm_perplexity"][3:] == [None, None]


def test_a_filter_of_datatrove(made: dict[str, Model], monkeypatch: pytest.MonkeyPatch) -> None:
    """With its own base class where it is installed, else with one of the same interface."""
    if "datatrove" not in sys.modules:
        stub(monkeypatch, "datatrove.pipeline.filters.base_filter", "BaseFilter", lambda self, writer, size: None)
    from gapgram.applications.filtering.stages.datatrove import PerplexityFilter

    step = PerplexityFilter(path_of(made), max_perplexity=150.0, min_words=2, max_unknown=0.5)
    documents = [SimpleNamespace(text=text, metadata={}) for text in TEXTS]
    assert step.filter_batch(documents) == [
        True, (False, "unknown words"), (False, "few words"), (False, "few words"),
    ]  # fmt: skip
    assert documents[0].metadata["perplexity"] < 150
    assert step.filter(documents[0]) is True


def test_a_filter_of_nemo_curator(made: dict[str, Model], monkeypatch: pytest.MonkeyPatch) -> None:
    if "nemo_curator" not in sys.modules:
        stub(monkeypatch, "nemo_curator.stages.text.filters.doc_filter", "DocumentFilter", lambda self: None)
    from gapgram.applications.filtering.stages.nemo_curator import PerplexityFilter

    step = PerplexityFilter(path_of(made), max_perplexity=150.0)
    assert [step.keep_document(step.score_document(text)) for text in TEXTS] == [True, False, True, False]


def stub(monkeypatch: pytest.MonkeyPatch, name: str, base: str, begin: object) -> None:
    parts = name.split(".")
    for n in range(1, len(parts) + 1):
        monkeypatch.setitem(sys.modules, ".".join(parts[:n]), ModuleType(".".join(parts[:n])))
    setattr(sys.modules[name], base, type(base, (), {"__init__": begin}))


def test_a_folder_of_files(made: dict[str, Model], tmp_path: Path, cli: Cli) -> None:
    source = tmp_path / "in"
    (source / "b").mkdir(parents=True)
    for name, texts in (("a.jsonl", TEXTS[:2]), ("b/c.jsonl", TEXTS[2:])):
        (source / name).write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    ran = cli("filter", path_of(made), source, "-o", tmp_path / "out", "--max-unknown", "0.5", "--min-words", "1")
    assert ran.code == 0
    assert "4 records, 7 words" in ran.err
    kept = [(tmp_path / "out" / name).read_text().count("\n") for name in ("a.jsonl", "b/c.jsonl")]
    assert kept == [1, 1]
    assert files_of(str(source / "*.jsonl")) == [source / "a.jsonl"]
    again = cli("filter", path_of(made), source, "-o", tmp_path / "out", "--resume")
    assert again.code == 2
    assert "all files are there already" in again.err
    with pytest.raises(UsageError, match="--calibrate"):
        filter_files([path_of(made)], [source / "a.jsonl"], tmp_path / "new", Choice(keep_below=0.3))
    assert files_of(str(source / "a.jsonl")) is None


def test_a_worker_that_dies_is_said() -> None:
    dies: Any = os._exit
    odd: Any = [9, 9]
    with pytest.raises(TextError, match="a worker died, perhaps for lack of memory: try fewer"):
        list(folders._in_workers(dies, odd, 2))
