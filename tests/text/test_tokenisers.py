"""Raw text to tokens and back, of every kind of tokeniser."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.made_tokenisers import OTHER, RAW, sentencepiece_file, tokenizer_json

from gapgram import TextRules
from gapgram.errors import TextError, TokeniserError, UsageError
from gapgram.kernels.text.special_words import SPECIAL
from gapgram.text.files import Block
from gapgram.text.tokenisers.engines import as_token, as_word
from gapgram.text.tokenisers.tokeniser import Tokeniser, check_same

KINDS = ("chars", "sentencepiece", "metaspace", "byte level")


@pytest.fixture(scope="module")
def tokenisers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path | str]:
    folder = tmp_path_factory.mktemp("tokenisers")
    return {
        "chars": "chars",
        "sentencepiece": sentencepiece_file(folder / "pieces.model"),
        "metaspace": tokenizer_json(folder / "metaspace.json"),
        "byte level": tokenizer_json(folder / "bytes.json", byte_level=True),
    }


@given(st.one_of(st.text(), st.sampled_from([*SPECIAL, "\\<s>", "\\e", "\\", "\\x20", "a b", "\t"])))
def test_a_token_comes_back_from_the_word_that_it_is_written_as(token: str) -> None:
    word = as_word(token)
    assert as_token(word) == token
    assert word.encode("utf-8", "surrogatepass").split() == [word.encode("utf-8", "surrogatepass")]
    assert word not in SPECIAL


@given(st.lists(st.text(), max_size=3))
def test_different_tokens_are_different_words(tokens: list[str]) -> None:
    assert len(set(map(as_word, tokens))) == len(set(tokens))


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n")))
def test_characters_come_back(text: str) -> None:
    tokeniser = Tokeniser.named("chars")
    line = text.strip(" \t\v\f\r")
    assert tokeniser.decode(tokeniser.encode(text)) == line
    assert len(tokeniser.encode(text)) == len(line)


@pytest.mark.parametrize("kind", KINDS)
def test_text_comes_back_from_its_tokens(tokenisers: dict[str, Path | str], kind: str) -> None:
    tokeniser = Tokeniser.named(tokenisers[kind])
    for line in RAW[:6]:
        assert tokeniser.decode(tokeniser.encode(line)).strip() == line


@pytest.mark.parametrize("kind", KINDS)
def test_lines_stay_lines(tokenisers: dict[str, Path | str], kind: str) -> None:
    """Whatever is in them: special words of the model are text, empty lines stay, nothing is cut off or put around."""
    tokeniser = Tokeniser.named(tokenisers[kind])
    lines = [*RAW[:6], "", " \t", *OTHER, "x" * 500]
    cut = tokeniser.tokenised(Block("text", 1, "\n".join([*lines, ""]).encode()), TextRules())
    found = cut.data.decode().split("\n")[:-1]
    assert cut.is_tokenised
    assert [bool(line) for line in found] == [bool(line.strip()) for line in lines]
    assert [line.split(" ") if line else [] for line in found] == [tokeniser.encode(line) for line in lines]
    assert not {*SPECIAL} & {word for line in found for word in line.split(" ")}
    assert len(found[-1].split(" ")) > 5, "what a file says of truncation is for neural models"


def test_characters_that_a_tokeniser_does_not_know_are_a_token_of_its_own(tokenisers: dict[str, Path | str]) -> None:
    for kind in ("sentencepiece", "metaspace"):
        tokeniser = Tokeniser.named(tokenisers[kind])
        assert tokeniser.unknown == "\\<unk>"
        assert "\\<unk>" in tokeniser.encode("un chat ☃ est là")
    assert Tokeniser.named(tokenisers["byte level"]).unknown is None


def test_tokens_that_begin_words_are_known(tokenisers: dict[str, Path | str]) -> None:
    for kind in KINDS:
        engine = Tokeniser.named(tokenisers[kind]).engine
        tokens = Tokeniser.named(tokenisers[kind]).encode("cat sat")
        assert sum(map(engine.begins_word, tokens[1:])) == 1, kind


@pytest.mark.parametrize("package", ["sentencepiece", "tokenizers"])
def test_a_missing_extra_is_a_sentence(
    tokenisers: dict[str, Path | str], monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    path = tokenisers["sentencepiece" if package == "sentencepiece" else "metaspace"]
    with pytest.raises(UsageError, match=rf"^{package} is not installed: pip install '(gapgram\[)?{package}"):
        Tokeniser.named(path)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "neither a SentencePiece model nor a tokenizer.json; chars needs no file"),
        (b"some words\n", "neither a SentencePiece model nor a tokenizer.json"),
        (b"\nsome words\n", "not a SentencePiece model"),
        (b'{"version": "1.0"}', "not a tokenizer.json that the package tokenizers reads: Model missing"),
        (b'{"model": {"type": "WordLevel", "vocab": {}, "unk_token": "?"}}', "a tokeniser of 0 tokens"),
        (b"{\xff", "not a tokenizer.json that the package tokenizers reads"),
    ],
)
def test_a_file_that_is_no_tokeniser_is_refused(tmp_path: Path, data: bytes, expected: str) -> None:
    pytest.importorskip("sentencepiece")
    pytest.importorskip("tokenizers")
    (tmp_path / "file").write_bytes(data)
    with pytest.raises(UsageError, match=expected):
        Tokeniser.named(tmp_path / "file")


def test_bytes_of_a_stranger_are_refused_when_text_is_cut() -> None:
    pytest.importorskip("sentencepiece")
    hostile = Tokeniser("sentencepiece", b"\n\x05hello")
    with pytest.raises(TokeniserError, match="not a SentencePiece model"):
        hostile.encode("text")
    assert hostile.unknown is None
    for kind, data in (("words", b""), ("chars", b"x"), ("sentencepiece", b"")):
        with pytest.raises(ValueError, match="a tokeniser"):
            Tokeniser(kind, data)


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(TextError, match="half of a surrogate pair"):
        Tokeniser.named("chars").encode("a \ud800")
    with pytest.raises(TextError, match=r"text:2: byte 1 of the line \(0xff\) is not valid UTF-8"):
        Tokeniser.named("chars").tokenised(Block("text", 1, b"a\n\xff\n"), TextRules())
    block = Tokeniser.named("chars").tokenised(Block("text", 1, b"a\xff\n"), TextRules(invalid="replace"))
    assert block.data.decode() == "a \ufffd\n"


def test_different_tokenisers_are_named() -> None:
    with pytest.raises(UsageError, match="a mixture: models of different tokenisers: a has chars, b has none; train"):
        check_same({"a": Tokeniser("chars"), "b": None}, "a mixture")
