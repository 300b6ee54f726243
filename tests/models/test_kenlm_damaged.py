"""Binary files of KenLM that are damaged: what is wrong is said."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.support.kenlm_files import FOLDER, NAMES, changed, opened

from gapgram.errors import ModelFileError
from gapgram.models.kenlm_binary.conversion import MAX_PAIRS_TRIED, as_backoff, parts_to_try
from gapgram.models.kenlm_binary.header import MAGIC
from gapgram.models.kenlm_binary.model import KenlmModel

HEADER_FAULTS = {
    "unfinished": (0, MAGIC + b" incomplete\n", "unfinished: KenLM's build_binary was stopped"),
    "older": (len(MAGIC) + 16, b"4", "version 4; version 5 is read, as by KenLM itself"),
    "other machine": (60, b"\xff", "test values are not as on this machine"),
    "another file": (0, b"x", "not a binary file of KenLM"),
    "order": (88, b"\x01", "damaged: its order is 1"),
    "multiplier": (92, struct.pack("<f", float("nan")), "damaged: its hash tables are nan times"),
    "kind": (96, b"\x06", "of the kind 6; 0 to 5 are known"),
    "kind version": (104, b"\x02", "kind 0 in version 2; version 0 is read"),
    "grams": (116, b"\xff" * 8, "18,446,744,073,709,551,615 grams of length 2 are not in"),
    "more grams": (116, b"\xff\xff\x00", "truncated: .* bytes, at least .* are expected"),
    "words": (148, struct.pack("<I", 10**6), "it has 1,000,000 words, 1 to 64 are expected"),
    "words version": (144, b"\x01", "damaged: its table of words has version 1"),
}  # fmt: skip


@pytest.mark.parametrize("fault", HEADER_FAULTS)
def test_a_wrong_header_is_said(fault: str, tmp_path: Path) -> None:
    at, data, message = HEADER_FAULTS[fault]
    with pytest.raises(ModelFileError, match=message):
        KenlmModel(changed(tmp_path, "probing", at, data))


def test_wrong_parts_of_a_trie_are_said(tmp_path: Path) -> None:
    words = 144 + 8 + 8 * 63  # where the header, its hashes and their number end
    for name, at, data, message in (
        ("trie", 144, b"\xff\xff", "it has 65,536 words, 1 to 63 are expected"),
        ("trie-q4", words, b"\x03", "its quantised figures have version 3"),
        ("trie-q4", words + 1, b"\x1a", "its figures are quantised to 26 and 3 bits"),
        ("trie-a22", words + 16 * 65, b"\x01", "its compressed pointers have version 1"),
    ):
        with pytest.raises(ModelFileError, match=message):
            KenlmModel(changed(tmp_path, name, at, data))


def test_wrong_places_are_said_when_they_are_met(tmp_path: Path) -> None:
    first_word = 144 + 8 + 8 * 63
    for data, at in ((b"\xff" * 8, first_word + 8), (struct.pack("<f", float("nan")), first_word)):
        model = KenlmModel(changed(tmp_path, "trie", at, data))  # of <unk>
        state = model.begin_sentence()
        for ask, arguments in (
            (model.score, ("nothing",)),
            (model.extend, (state, "nothing")),
            (model.extend_many, ([state], ["nothing"])),
            (model.distribution, ("<s>",)),
        ):
            with pytest.raises(ModelFileError, match="a gram points outside its table or has a figure"):
                ask(*arguments)


def test_a_wrong_table_of_words_is_said(tmp_path: Path) -> None:
    hashes, entries = 136, 4  # where they begin, and how many there are
    with pytest.raises(ModelFileError, match="no end, or one place for two words"):
        KenlmModel(changed(tmp_path, "probing-no-start", hashes, b"\xff" * 12 * entries))
    data = bytearray((FOLDER / "probing-no-start.bin").read_bytes())
    for entry in range(entries):
        data[hashes + 12 * entry + 11] = 1  # the uppermost byte of an id
    (tmp_path / "ids.bin").write_bytes(data)
    model = KenlmModel(tmp_path / "ids.bin")
    for ask in (model.score, model.vocabulary.id):
        with pytest.raises(ModelFileError, match="a word without a place"):
            ask("a")
    data = bytearray((FOLDER / "probing.bin").read_bytes())
    hashes = 152
    for entry in range(75):
        data[hashes + 12 * entry + 8] = 1 + (entry == 3)  # nearly all words have the place of <s>
    (tmp_path / "same.bin").write_bytes(data)
    with pytest.raises(ModelFileError, match="damaged: its table of words has"):
        KenlmModel(tmp_path / "same.bin").score("w1 w2 w3 w4")


def test_wrong_words_are_said(tmp_path: Path) -> None:
    size = (FOLDER / "trie.bin").stat().st_size
    with pytest.raises(ModelFileError, match="its list of words does not fit its table of hashes"):
        list(KenlmModel(changed(tmp_path, "trie", size - 3, b"?")).vocabulary)
    with pytest.raises(ModelFileError, match="its list of words does not begin with <unk>"):
        KenlmModel(changed(tmp_path, "trie", (FOLDER / "trie.bin").read_bytes().index(b"<unk>"), b"!"))


def test_files_that_are_none_are_said(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.touch()
    for path, message in ((empty, "an empty file"), (tmp_path, "a folder"), (tmp_path / "gone", "no such file")):
        with pytest.raises(ModelFileError, match=message):
            KenlmModel(path)
    short = tmp_path / "short"
    for size in (60, 100, 120):
        short.write_bytes((FOLDER / "trie.bin").read_bytes()[:size])
        with pytest.raises(ModelFileError, match=f"truncated: {size} bytes, at least"):
            KenlmModel(short)


INTERPRETED = [
    "probing-no-start", "probing-order-2", "trie-no-start", "trie-order-2", "trie-q3-a22", "trie-blanks-a22"
]  # fmt: skip


@pytest.mark.parametrize(("interpreted", "mutants", "names"), [(False, 120, NAMES), (True, 20, INTERPRETED)])
def test_damaged_files_give_numbers_or_errors(interpreted: bool, mutants: int, names: list[str]) -> None:
    """In a process of its own, since what is looked for may end it; as plain Python places outside are errors."""
    if interpreted and np.lib.NumpyVersion(np.__version__) < "2.0.0":
        pytest.skip("NumPy 1 adds an index without a sign and a number of Python's to a fraction")
    run = subprocess.run(
        [sys.executable, FOLDER / "fuzz.py", str(mutants), "1", *(str(FOLDER / f"{name}.bin") for name in names)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "GAPGRAM_KERNELS": "python" if interpreted else ""},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    assert len(run.stdout.splitlines()) == len(names)


def test_what_cannot_be_read_back_is_said(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="nor be converted"):
        as_backoff(opened("trie-no-words"))
    first_word = 144 + 8 + 8 * 63
    wrong = [
        ("trie", first_word, struct.pack("<f", 1.0), "a gram points outside its table or has a figure"),
        ("trie", first_word + 8, struct.pack("<Q", 9), "a gram points outside its table or has a figure"),
        ("trie", first_word + 16 * 65, b"\xff", "a gram of 2 words has a context that is not there"),
        ("probing", 144 + 8 + 12 * 75, struct.pack("<f", float("nan")), "a gram points outside its table or has a fig"),
    ]
    for name, at, data, message in wrong:
        with pytest.raises(ModelFileError, match=message):
            as_backoff(KenlmModel(changed(tmp_path, name, at, data)))
    model = opened("probing")
    assert parts_to_try(model, np.array([MAX_PAIRS_TRIED])) == [(0, 1)]
    with pytest.raises(ModelFileError, match=r"can only be tried, and 8.8e\+12 pairs are too many"):
        parts_to_try(model, np.array([MAX_PAIRS_TRIED, 1]))


def test_a_word_that_is_there_twice_is_said(tmp_path: Path) -> None:
    data = bytearray((FOLDER / "probing-no-start.bin").read_bytes())
    at = data.index(b"<unk>\0a\0b\0c\0")
    data[at + 8 : at + 9] = b"a"  # b is gone, and a is there twice
    (tmp_path / "twice.bin").write_bytes(data)
    model = KenlmModel(tmp_path / "twice.bin")
    assert list(model.vocabulary)[3:] == ["a", "a", "c"]
    with pytest.raises(ModelFileError, match="the word 'a' is in it twice"):
        as_backoff(model)
