"""Models are quantised and pruned in limited memory, with the same result."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.support.made_models import FILED_KINDS, limited

from gapgram import Model
from gapgram.compression.pruning.prune import prune, store_for
from gapgram.compression.quantise import quantised
from gapgram.counts.layouts import layout_of
from gapgram.models import file as model_file
from gapgram.system.array_store import IN_MEMORY, InFolder

pytestmark = pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning")


@pytest.mark.parametrize("kind", [*FILED_KINDS, "pruned"])
def test_quantising_in_little_memory(model_files: Path, kind: str, tmp_path: Path) -> None:
    parts = limited(model_files / kind).parts
    make = partial(quantised, parts, 2)
    model_file.write_made(tmp_path / "little", parts, "compact", make, unpacked_entries=128)
    assert (tmp_path / "little").read_bytes() == (model_files / f"{kind}.quantised").read_bytes()


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("mkn", {"counts": "0,0,1"}),
        ("mkn", {"keep": 0.8}),
        ("learned", {"counts": "0,0,0,1", "keep": 0.85}),
        ("classes", {"keep": 0.8}),
        ("custom", {"counts": "0,1"}),
        ("pruned", {"keep": 0.8}),
        ("learned.compact", {"counts": "0,1"}),
        ("learned.compact", {"keep": 0.95}),
    ],
    ids=str,
)
def test_pruning_in_little_memory(model_files: Path, kind: str, options: dict[str, Any], tmp_path: Path) -> None:
    Model.load(model_files / kind).pruned(**options).save(tmp_path / "whole")
    parts = limited(model_files / kind).parts
    assert parts.counts.pages is not None
    (tmp_path / "files").mkdir()
    store = InFolder(tmp_path / "files", parts.counts.pages, most_entries=400)
    pruned = prune(parts, **options, store=store)
    assert not list((tmp_path / "files").iterdir())  # they have no name
    model_file.write(tmp_path / "little", pruned, layout_of(parts.counts.tables))
    assert (tmp_path / "little").read_bytes() == (tmp_path / "whole").read_bytes()


def test_a_model_is_pruned_in_files_where_memory_would_not_do(model_files: Path, tmp_path: Path) -> None:
    Model.load(model_files / "mkn").pruned(keep=0.8).save(tmp_path / "whole")
    small = limited(model_files / "mkn")
    assert store_for(small.counts, tmp_path) is IN_MEMORY  # a small model fits into any limit
    many = replace(small.counts, tables=small.counts.tables._replace(places=small.counts.tables.places << 30))
    assert isinstance(store_for(many, tmp_path), InFolder)
    assert store_for(replace(many, pages=None), tmp_path) is IN_MEMORY
    assert small.pruned(keep=0.8, output=tmp_path / "little").counts.pages is not None
    assert (tmp_path / "little").read_bytes() == (tmp_path / "whole").read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {"whole", "little"}
