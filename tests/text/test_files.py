"""Files of text: compressed, several, from a pipe; and what may be wrong with them."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from gapgram import Corpus, GapgramError, TextRules
from gapgram.text.corpus import read_corpus
from gapgram.text.files import BLOCK_BYTES, blocks_of_files, pieces_of, read_blocks

TEXT = "".join(f"the cat {i} sat on the mät\n" for i in range(3000)).encode()
COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstandard.ZstdCompressor(write_checksum=True).compress,  # as the zstd command does
}


def read(*paths: Path | str, block_bytes: int = BLOCK_BYTES, **rules: Any) -> Corpus:
    return read_corpus(blocks_of_files(list(paths), block_bytes=block_bytes), rules=TextRules(**rules))


def message(path: Path, data: bytes, *, block_bytes: int = BLOCK_BYTES, **rules: Any) -> str:
    """What is said about a file with these bytes."""
    path.write_bytes(data)
    with pytest.raises(GapgramError) as error:
        read(path, block_bytes=block_bytes, **rules)
    return str(error.value).replace(str(path), "FILE")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "text"


@pytest.mark.parametrize("kind", COMPRESSORS)
def test_compression_is_told_by_the_first_bytes(path: Path, kind: str) -> None:
    path.write_bytes(COMPRESSORS[kind](TEXT))
    corpus = read(path)
    assert (corpus.facts.sentences, corpus.facts.words) == (3000, 21_000)
    assert corpus.vocabulary.id("mät") > 0


@pytest.mark.parametrize("kind", COMPRESSORS)
def test_compressed_pieces_one_after_the_other(path: Path, kind: str) -> None:
    # As `cat a.gz b.gz` makes them.
    path.write_bytes(COMPRESSORS[kind](TEXT) + COMPRESSORS[kind](b"one more line\n"))
    assert read(path).facts.sentences == 3001


@pytest.mark.parametrize("kind", ["gzip", "bzip2", "xz", "zstd"])
def test_compressed_data_that_is_cut_off(path: Path, kind: str) -> None:
    data = COMPRESSORS[kind](TEXT)
    assert message(path, data[: len(data) // 2]).startswith(f"FILE: the {kind} data is damaged or cut off: ")


@pytest.mark.parametrize("kind", ["gzip", "bzip2", "xz", "zstd"])
def test_compressed_data_that_is_damaged(path: Path, kind: str) -> None:
    data = bytearray(COMPRESSORS[kind](TEXT))
    for at in range(len(data) // 3, len(data) // 3 + 40):
        data[at] ^= 0x5A
    assert message(path, bytes(data)).startswith(f"FILE: the {kind} data is damaged or cut off: ")


def test_several_files_are_one_text(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a b\nc")
    (tmp_path / "b").write_bytes(gzip.compress(b"\xef\xbb\xbfa b\n"))
    corpus = read(tmp_path / "a", tmp_path / "b")
    assert (corpus.facts.sentences, list(corpus.vocabulary)[3:]) == (3, ["a", "b", "c"])


@pytest.mark.parametrize("data", [TEXT, gzip.compress(TEXT)])
def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert read("-").facts.sentences == 3000


def test_errors_name_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"fine\nb\xff\n")))
    with pytest.raises(GapgramError, match=r"^standard input:2: byte 2 of the line \(0xff\) is not valid UTF-8"):
        read("-")


def test_no_such_file(path: Path) -> None:
    with pytest.raises(GapgramError, match=r"text: no such file$"):
        read(path)


def test_a_folder(path: Path) -> None:
    with pytest.raises(GapgramError, match=r": a folder, not a file; name the text files in it$"):
        read(path.parent)


def test_no_file_at_all() -> None:
    with pytest.raises(GapgramError, match="no text: name at least one file, or - for standard input"):
        read()


@pytest.mark.parametrize(("data", "expected"), [
    (b"", "the text is empty: expected one sentence a line"),
    (b"\xef\xbb\xbf", "the text is empty: expected one sentence a line"),
    (b"\n \n\t\n", "the text has 3 lines and all are empty: expected one sentence a line"),
    (b"\n word \n", "the text is one word in all: a model needs more to count"),
    (b"<unk> <s>\n", "FILE:1: the word <unk> is the model's own: leave such words out (--special skip) or let it "
                     "stand for unknown words (--special unk)"),
    (b"a\n\n<b> </s>\n", "FILE:3: the word </s> is the model's own: leave such words out (--special skip)"),
    (b"a b\nc \xc3(\n", "FILE:2: byte 3 of the line (0xc3) is not valid UTF-8: fix the file, or have such bytes "
                        "replaced (--invalid replace)"),
    (b"a \xed\xa0\x80 b\n", "FILE:1: byte 3 of the line (0xed) is not valid UTF-8: fix the file, or have such bytes "
                            "replaced (--invalid replace)"),
    ("\ufeffa b\n".encode("utf-16-le"), "FILE:1: starts with a UTF-16 byte-order mark: convert it to UTF-8 first"),
    ("\ufeffa b\n".encode("utf-16-be"), "FILE:1: starts with a UTF-16 byte-order mark: convert it to UTF-8 first"),
])  # fmt: skip
def test_each_mistake_has_its_sentence(path: Path, data: bytes, expected: str) -> None:
    assert message(path, data) == expected


@pytest.mark.parametrize("block_bytes", [1, 7, 1000])
def test_line_numbers_count_across_blocks(path: Path, block_bytes: int) -> None:
    lines = b"some text\n\nin lines\n" * 5
    assert message(path, lines + b"a \xff\n", block_bytes=block_bytes).startswith("FILE:16: byte 3 of the line")
    assert message(path, lines + b"a <s>\n", block_bytes=block_bytes).startswith("FILE:16: the word <s>")


@pytest.mark.parametrize("kind", COMPRESSORS)
def test_blocks_are_whole_lines_however_the_file_is_cut(path: Path, kind: str) -> None:
    path.write_bytes(COMPRESSORS[kind](b"a b\n\nlonger than a block\nc"))
    blocks = list(read_blocks(path, block_bytes=5))
    assert b"".join(block.data for block in blocks) == b"a b\n\nlonger than a block\nc\n"
    assert all(block.data.endswith(b"\n") for block in blocks)
    before = [b"".join(block.data for block in blocks[:i]).count(b"\n") for i in range(len(blocks))]
    assert [block.first_line for block in blocks] == [1 + n for n in before]
    assert len(blocks) > 2 or kind == "zstd"  # which gives what a frame holds at once


def test_pieces_of_a_file_are_its_lines_and_the_first_and_last_are_smaller(path: Path) -> None:
    path.write_bytes(b"some words of a line\n" * 300_000)
    first, *others = read_blocks(path)
    source = iter(others)
    pieces = [*pieces_of(first, source, 1 << 18)]
    assert b"".join(piece.data for piece in pieces) == path.read_bytes()
    assert all(piece.data.endswith(b"\n") for piece in pieces)
    assert [piece.first_line for piece in pieces[1:]] == [p.first_line + p.data.count(b"\n") for p in pieces[:-1]]
    sizes = [len(piece.data) >> 14 for piece in pieces]
    assert set(sizes[:15]) == {4}
    assert set(sizes[21:35]) == {16}
    assert set(sizes[-10:-1]) == {4}


def test_special_words_can_be_skipped(path: Path) -> None:
    path.write_bytes(b"<s> a <unk> b </s>\n<s> </s>\nc\n")
    corpus = read(path, special="skip")
    assert corpus.ids.tolist() == [1, 3, 4, 2, 1, 5, 2]
    assert (corpus.facts.words, corpus.empty_lines) == (3, 1)


def test_unk_can_stand_for_unknown_words(path: Path) -> None:
    path.write_bytes(b"a <unk> b\n")
    corpus = read(path, special="unk")
    assert (corpus.ids.tolist(), corpus.facts.words) == ([1, 3, 0, 4, 2], 3)
    assert message(path, b"a <unk>\nb </s>\n", special="unk") == (
        "FILE:2: the word </s> is the model's own: leave such words out (--special skip)"
    )


def test_words_that_only_look_special_are_ordinary(path: Path) -> None:
    path.write_bytes(b"<S> <unk>x <s>. </s\n")
    assert read(path).facts.words == 4


def test_invalid_bytes_can_be_replaced(path: Path) -> None:
    path.write_bytes(b"a \xff b\nc\xc3\n")
    assert list(read(path, invalid="replace").vocabulary)[3:] == ["a", "b", "c\ufffd", "\ufffd"]


def test_a_special_word_is_found_after_replaced_bytes(path: Path) -> None:
    # The replacement is longer than what it replaces: places in the text have moved.
    found = message(path, b"a " + b"\xff" * 50 + b"\nb\n\nc <s>\nd\n", invalid="replace")
    assert found == "FILE:4: the word <s> is the model's own: leave such words out (--special skip)"


@pytest.mark.parametrize(("rules", "expected"), [
    ({"special": "ignore"}, "special words: 'ignore'; expected error, skip or unk"),
    ({"invalid": "skip"}, "invalid UTF-8: 'skip'; expected error or replace"),
])  # fmt: skip
def test_rules_that_do_not_exist(rules: dict[str, Any], expected: str) -> None:
    with pytest.raises(GapgramError, match=expected):
        TextRules(**rules)
