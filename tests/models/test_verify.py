"""`gapgram verify`: files of every kind, their bits and what they mean."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fuzz.sealed import SealedFile
from tests.support.running import Cli, assert_refused

from gapgram.errors import ModelFileError
from gapgram.models import verify as home
from gapgram.models.grams import CLOSE_BY_FIGURES
from gapgram.models.model import Model
from gapgram.models.verify import verify

KINDS = (
    "mkn", "counts-compact", "classes", "classes-pruned", "learned-quantised", "open", "backoff", "arpa", "mixture",
)  # fmt: skip


@pytest.mark.parametrize("name", KINDS)
def test_files_of_every_kind_are_whole(seeds: dict[str, Path], name: str) -> None:
    found = verify(seeds[name])
    assert found.distributions > 5
    assert found.largest_miss_of_one < CLOSE_BY_FIGURES
    assert found.signature


def test_a_session_is_checked_without_its_model(cli: Cli, seeds: dict[str, Path]) -> None:
    ran = cli("verify", seeds["session"])
    assert (ran.code, ran.out) == (0, f"{seeds['session']}: whole\n")
    assert cli("verify", seeds["session"], "--json").json["signature"].startswith("order:3|model:mkn")


@pytest.mark.parametrize("name", ["mkn", "classes-compact", "backoff", "session"])
def test_a_flipped_bit_is_found(cli: Cli, seeds: dict[str, Path], tmp_path: Path, name: str) -> None:
    data = bytearray(seeds[name].read_bytes())
    data[len(data) // 3] ^= 2
    (tmp_path / "odd").write_bytes(data)
    assert_refused(cli("verify", tmp_path / "odd"), "does not match its checksum")


def test_a_damaged_model_of_a_mixture_is_found(seeds: dict[str, Path], tmp_path: Path) -> None:
    for name in ("mkn", "learned"):
        (tmp_path / f"{name}.model").write_bytes(seeds[name].read_bytes())
    (tmp_path / "mixture").write_bytes(seeds["mixture"].read_bytes())
    assert verify(tmp_path / "mixture").distributions
    data = bytearray(seeds["learned"].read_bytes())
    data[500] ^= 2
    (tmp_path / "learned.model").write_bytes(data)
    with pytest.raises(ModelFileError, match="does not match its checksum"):
        verify(tmp_path / "mixture")


def changed(path: Path, name: str, place: Any, number: Any) -> bytes:
    file = SealedFile.parse(path.read_bytes())
    section = file.section(name)
    np.frombuffer(section.data, section.dtype, count=int(np.prod(section.shape)))[place] = number
    return file.sealed()


def test_words_that_would_not_be_found(seeds: dict[str, Path], tmp_path: Path) -> None:
    """The ids are all there, so that the file opens; but two slots are each other's."""
    slots = np.frombuffer(SealedFile.parse(seeds["mkn"].read_bytes()).section("word_slots").data, np.int64)
    first, second = np.flatnonzero(slots >= 0)[:2]
    (tmp_path / "odd").write_bytes(changed(seeds["mkn"], "word_slots", [first, second], slots[[second, first]]))
    with pytest.raises(ModelFileError, match="words that are not found in the table of words"):
        verify(tmp_path / "odd")


def test_grams_without_parts_are_looked_for_where_a_complete_check_is_wanted(
    fast: dict[str, Model], seeds: dict[str, Path], cli: Cli
) -> None:
    assert verify(seeds["mixture"], complete=True).distributions
    assert cli("verify", seeds["learned"], "--complete").code == 0
    model, pruned = fast["learned"], fast["learned"].pruned(counts="101=9")
    without = pruned.counts.tables._replace(parts=model.counts.tables.parts)
    odd = Model(pruned.parts.with_tables(without))
    with pytest.raises(ModelFileError, match=r"^odd: not as gapgram writes it: tables of pattern"):
        home._check_parts("odd", odd)


def test_figures_that_do_not_sum_to_one(seeds: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "odd").write_bytes(changed(seeds["backoff"], "log10_probs", 3, -0.01))
    with pytest.raises(ModelFileError, match="whole, but a distribution misses 1 by"):
        verify(tmp_path / "odd")
