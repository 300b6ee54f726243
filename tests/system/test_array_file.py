"""The file: every bit is under a checksum, every way to be wrong has its sentence, nothing is left behind."""

from __future__ import annotations

import errno
import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xxhash

import gapgram
from gapgram import Counts, GapgramError, Model, sections
from gapgram.errors import ModelFileError
from gapgram.system import array_file as container
from gapgram.system import array_reading
from gapgram.system.array_file import VERSION
from gapgram.system.section_rules import Rule, Section

pytestmark = pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning")

HEADER = struct.Struct("<8sIIQQQQQ8x")
WRONG_HEADERS = {
    "newer": ((b"gapgram\n", 99, 2), f"written in format 99 by a newer gapgram, this one reads format {VERSION}"),
    "older": ((b"gapgram\n", 0, 2), f"written in format 0 by an older gapgram, this one reads format {VERSION}: such"),
    "unfinished": ((b"gapgram?", VERSION, 2), "unfinished: the program that wrote it was stopped; make it again"),
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small model file."""
    path = tmp_path_factory.mktemp("container") / "model"
    sentences = ["the cat sat", "the dog sat", "a cat ran"]
    gapgram.train(sentences=sentences, order=2, model="glm", weights="uniform", output=path)
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model"


def message(path: Path, data: bytes, **options: Any) -> str:
    """What is said about a file with these bytes."""
    path.write_bytes(data)
    with pytest.raises(ModelFileError) as error:
        gapgram.Model.load(path, **options)
    assert str(error.value).startswith(f"{path}: ")
    return str(error.value).removeprefix(f"{path}: ")


def with_header(data: bytes, magic: bytes, version: int, kind: int) -> bytes:
    """The file with another header, which is whole: its checksum is right."""
    rest = HEADER.unpack(data[:64])[3:7]
    own = xxhash.xxh3_64_intdigest(HEADER.pack(magic, version, kind, *rest, 0))
    return HEADER.pack(magic, version, kind, *rest, own) + data[64:]


def test_the_file_as_it_was_saved_opens(saved: Path) -> None:
    assert gapgram.Model.load(saved, verify=True).score("the cat") < 0


def test_every_flipped_bit_is_found(saved: Path, path: Path) -> None:
    # In every third byte another bit: header, sections, the zeros between them, table.
    whole = saved.read_bytes()
    data = bytearray(whole)
    for at in range(0, len(whole), 3):
        data[at] ^= 1 << at % 8
        path.write_bytes(data)
        with pytest.raises(ModelFileError):
            gapgram.Model.load(path, verify=True)
        data[at] = whole[at]
    path.write_bytes(data)
    gapgram.Model.load(path, verify=True)


@pytest.mark.parametrize("bit", range(8))
def test_every_bit_of_the_header_is_found_at_once(saved: Path, path: Path, bit: int) -> None:
    whole = saved.read_bytes()
    for at in range(64):
        data = bytearray(whole)
        data[at] ^= 1 << bit
        path.write_bytes(data)
        with pytest.raises(ModelFileError):
            gapgram.Model.load(path, verify=False)


def test_a_small_file_is_checked_whenever_it_is_opened(saved: Path, path: Path) -> None:
    data = bytearray(saved.read_bytes())
    data[200] ^= 4
    assert message(path, bytes(data)).startswith("damaged: its section ")


def test_a_large_file_is_checked_in_full_on_request(saved: Path, path: Path) -> None:
    there = {section.name: section for section in array_reading.read(saved, container.MODEL, sections.MODEL).sections}
    grams, discounts = there["grams"], there["discounts"]

    def read(damaged: Section, verify: bool | None) -> array_reading.Contents:
        data = bytearray(saved.read_bytes())
        data[damaged.offset] ^= 4
        path.write_bytes(data)
        return array_reading.read(
            path,
            container.MODEL,
            sections.MODEL,
            verify=verify,
            small_file_bytes=100,
            small_section_bytes=grams.padded - 1,
        )

    for section, verify in ((grams, True), (discounts, True), (discounts, None)):
        with pytest.raises(ModelFileError, match=f"damaged: its section {section.name} "):
            read(section, verify)
    read(grams, None)
    read(discounts, False)


def test_a_file_cut_off_anywhere(saved: Path, path: Path) -> None:
    whole = saved.read_bytes()
    for length in (8, 9, 63):
        assert message(path, whole[:length]) == f"truncated: {length} bytes are less than a header; copy it again"
    for length in (64, 65, 128, 1000, len(whole) // 2, len(whole) - 64, len(whole) - 1):
        expected = f"truncated: {length:,} bytes of {len(whole):,} are there; copy it again"
        assert message(path, whole[:length]) == expected


def test_bytes_too_many(saved: Path, path: Path) -> None:
    assert message(path, saved.read_bytes() + b"x").startswith("damaged: its end (1 bytes too many)")


@pytest.mark.parametrize("name", WRONG_HEADERS)
def test_files_of_other_versions_and_unfinished_ones(saved: Path, path: Path, name: str) -> None:
    header, expected = WRONG_HEADERS[name]
    assert message(path, with_header(saved.read_bytes(), *header)).startswith(expected)


def test_files_of_another_kind(saved: Path, path: Path) -> None:
    gapgram.Model.load(saved).counts.save(path)
    assert message(path, path.read_bytes()) == "holds counts, expected a model"
    with pytest.raises(ModelFileError, match="holds a model, expected counts"):
        Counts.open(saved)
    assert message(path, with_header(saved.read_bytes(), b"gapgram\n", VERSION, 77)) == (
        "holds something else, expected a model"
    )


@pytest.mark.parametrize(("data", "expected"), [
    (b"", "an empty file, not a model of gapgram"),
    (b"\\data\\\nngram 1=3\n", "not a file of gapgram; expected a model written by gapgram"),
    (b"gap", "not a file of gapgram; expected a model written by gapgram"),
    (bytes(5000), "not a file of gapgram; expected a model written by gapgram"),
])  # fmt: skip
def test_files_that_are_not_ours(path: Path, data: bytes, expected: str) -> None:
    assert message(path, data) == expected


def test_no_file_and_a_folder(path: Path) -> None:
    for verify in (None, True):
        with pytest.raises(ModelFileError, match="model: no such file"):
            gapgram.Model.load(path, verify=verify)
        with pytest.raises(ModelFileError, match=": a folder, not a model file"):
            gapgram.Model.load(path.parent, verify=verify)


def test_a_whole_file_without_what_a_model_needs(path: Path) -> None:
    container.write(path, container.MODEL, {"order": 2}, {"words": np.zeros(3, np.uint8)})
    assert message(path, path.read_bytes()).startswith("not as gapgram writes it: no section ")


def test_nothing_in_a_file_is_executed() -> None:
    home = Path(gapgram.__file__).parent
    readers = [path for folder in ("system", "counts", "models") for path in (home / folder).rglob("*.py")]
    assert len(readers) > 20
    loaders = ("import pickle", "allow_pickle=True", "eval(", "exec(", "import marshal")
    assert not [(r.name, word) for r in readers for word in loaders if word in r.read_text(encoding="utf-8")]


def test_arrays_of_any_shape_come_back(path: Path) -> None:
    none, two, some = np.empty(0, np.int32), np.ones((2, 3)), np.arange(65, dtype=np.uint8)
    arrays: dict[str, Any] = {"none": none, "two": two, "bytes": some}
    container.write(path, container.COUNTS, {"ä": [1, None]}, arrays)
    rules = {name: Rule(array.dtype.str, " ".join(map(str, array.shape))) for name, array in arrays.items()}
    contents = array_reading.read(path, container.COUNTS, rules, verify=True)
    assert contents.metadata == {"ä": [1, None]}
    for name, array in arrays.items():
        assert np.array_equal(contents.arrays[name], array)
        assert contents.arrays[name].dtype == array.dtype
        assert not contents.arrays[name].flags.writeable


def test_the_file_has_the_permissions_that_files_have(path: Path) -> None:
    before = os.umask(0o027)
    try:
        container.write(path, container.COUNTS, {}, {})
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o640


def test_the_output_folder_must_exist(path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"the folder .*/none does not exist; make it first"):
        container.write(path.parent / "none" / "model", container.COUNTS, {}, {})


def test_the_output_may_not_be_a_folder_or_a_device(path: Path) -> None:
    with pytest.raises(ModelFileError, match="a folder; name a file to write"):
        container.write(path.parent, container.COUNTS, {}, {})
    os.mkfifo(path)
    with pytest.raises(ModelFileError, match="not a plain file; name a file to write"):
        container.write(path, container.COUNTS, {}, {})
    assert path.is_fifo()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_leaves_the_old_file_and_nothing_else(
    saved: Path, path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    path.write_bytes(saved.read_bytes())
    real, calls = os.fsync, []

    def full(handle: int) -> None:
        calls.append(handle)
        if len(calls) == 2:
            raise OSError(number, os.strerror(number))
        real(handle)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ModelFileError, match=r"no room left while writing .*; nothing was kept"):
        gapgram.Model.load(saved).save(path)
    assert [p.name for p in path.parent.iterdir()] == ["model"]
    assert path.read_bytes() == saved.read_bytes()


def test_a_limit_on_file_sizes_leaves_nothing(saved: Path, path: Path) -> None:
    program = (
        "import resource, sys, gapgram\n"
        "model = gapgram.Model.load(sys.argv[1])\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try:\n    model.save(sys.argv[2])\n"
        "except gapgram.GapgramError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(saved), str(path)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{path}: no room left while writing (File too large); nothing was kept\n"
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize("problem", [KeyboardInterrupt, MemoryError])
def test_an_interrupted_save_leaves_nothing(
    saved: Path, path: Path, monkeypatch: pytest.MonkeyPatch, problem: type[BaseException]
) -> None:
    def interrupted(*_: object) -> None:
        raise problem

    model: Model = gapgram.Model.load(saved)
    monkeypatch.setattr(container, "_header", interrupted)
    with pytest.raises(problem):
        model.save(path)
    assert list(path.parent.iterdir()) == []


def test_a_link_keeps_leading_to_the_model(saved: Path, path: Path) -> None:
    (path.parent / "real").mkdir()
    target = path.parent / "real" / "v1"
    target.write_bytes(b"old")
    path.symlink_to(target)
    gapgram.Model.load(saved).save(path)
    assert path.is_symlink()
    assert target.read_bytes() == saved.read_bytes()


def test_an_open_model_survives_a_new_file_under_its_name(saved: Path, path: Path) -> None:
    path.write_bytes(saved.read_bytes())
    model = gapgram.Model.load(path)
    before = model.score("the cat sat")
    gapgram.train(sentences=["x y z", "x y"], order=2, model="mkn", output=path)
    assert model.score("the cat sat") == before
    assert gapgram.Model.load(path).score("x y") != before


def test_errors_are_of_one_tree() -> None:
    assert issubclass(ModelFileError, GapgramError)
