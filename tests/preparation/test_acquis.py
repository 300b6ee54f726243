"""JRC-Acquis documents and plain text to sentences."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("sentencex", reason="needs the extra gapgram[prepare]")

from tests.support.made_documents import document

from gapgram.errors import TextError
from gapgram.preparation import Options, prepare_acquis, prepare_text
from gapgram.preparation.plain import read_paragraphs
from gapgram.preparation.records import Record

ONE = Options(processes=1)
SKIP = Options(malformed="skip", processes=1)
DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE TEI.2 SYSTEM "tei2.dtd">\n'


def acquis(folder: Path, options: Options = ONE) -> list[str]:
    prepare_acquis([folder / "in"], folder / "out", "en", options)
    return (folder / "out").read_text().splitlines()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in" / "b").mkdir(parents=True)
    return tmp_path


def test_a_folder_in_sorted_order(folder: Path) -> None:
    (folder / "in" / "b" / "2.xml").write_text(DECLARATION + document("Having regard to it.", number=2))
    (folder / "in" / "a.xml").write_text(DECLARATION + document("Article 1. It is so.", "%quot%A &amp; B%quot%."))
    (folder / "in" / "readme.txt").write_text("not XML")
    assert acquis(folder) == [
        "Decision 1", "Article 1 .", "It is so .", '" A & B " .', "Done at Brussels .",
        "Decision 2", "Having regard to it .", "Done at Brussels .",
    ]  # fmt: skip


@pytest.mark.parametrize("wrapped", [True, False])
def test_many_documents_in_one_file(folder: Path, wrapped: bool) -> None:
    documents = [document(f"Text {n} is caf&eacute; <hi>inside</hi> it.", number=n) for n in (1, 2)]
    text = DECLARATION.join(["", *documents])
    if wrapped:
        text = f"<teiCorpus.2>{''.join(documents)}</teiCorpus.2>"
    (folder / "in" / "all.xml").write_text(text)
    assert acquis(folder)[1::3] == ["Text 1 is café inside it .", "Text 2 is café inside it ."]


def test_malformed_documents(folder: Path) -> None:
    bad = document("Bad.", number=2).replace("</body>", "")
    (folder / "in" / "all.xml").write_text(document("One.") + bad + document("Three.", number=3))
    path = folder / "in" / "all.xml"
    message = f"{path}:23: mismatched tag; the 1 good documents before it are in {folder / 'out'}"
    with pytest.raises(TextError, match="^" + re.escape(message)):
        acquis(folder)
    assert (folder / "out").read_text() == "Decision 1\nOne .\nDone at Brussels .\n"
    assert "Three ." in acquis(folder, SKIP)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<html/>", ":1: no <TEI.2> document"),
        ("", ":1: no <TEI.2> document"),
        ("<TEI.2><text/></TEI.2>", ":1: a document without <body>"),
        (document("a &nosuch; b"), ":7: undefined entity"),
        (document("a")[:-20], ":1: cut off: the file ends inside this document"),
    ],
)
def test_files_without_a_good_document(folder: Path, text: str, message: str) -> None:
    path = folder / "in" / "x.xml"
    path.write_text(text)
    with pytest.raises(TextError, match="^" + re.escape(f"{path}{message}; there is no good document before it")):
        acquis(folder)
    assert not (folder / "out").exists()
    assert acquis(folder, SKIP) == []


def test_a_folder_without_xml(folder: Path) -> None:
    with pytest.raises(TextError, match=r"in: no XML files in this folder \(expected \.xml, \.xml\.gz"):
        acquis(folder)


def plain(folder: Path, data: bytes, options: Options = ONE) -> str:
    (folder / "in.txt").write_bytes(data)
    prepare_text([folder / "in.txt"], folder / "out", "en", options)
    return (folder / "out").read_text()


def test_plain_text(tmp_path: Path) -> None:
    text = "One dog\nbarks. Two\r\nbark.\n\n \nA cat\u00a0sleeps"
    expected = "One dog barks .\nTwo bark .\nA cat sleeps\n"
    assert plain(tmp_path, text.encode()) == expected
    assert plain(tmp_path, text.encode("utf-16")) == expected
    assert plain(tmp_path, text.encode(), Options(processes=2)) == expected
    with pytest.raises(TextError, match=r"in\.txt: empty, nothing to prepare$"):
        plain(tmp_path, b"\n \n")


def test_plain_text_that_is_not_utf_8(tmp_path: Path) -> None:
    with pytest.raises(TextError, match=r"in\.txt:4: the byte 0xe9 is not valid UTF-8: convert the file first; the 1"):
        plain(tmp_path, b"One.\n\nTwo\ncaf\xe9.\n\nThree.")
    assert plain(tmp_path, b"One.\n\nTwo\ncaf\xe9.\n\nThree.", SKIP) == "One .\nThree .\n"


def test_a_long_paragraph_is_cut_at_a_line(tmp_path: Path) -> None:
    path = tmp_path / "in.txt"
    path.write_bytes(b"A dog barks here.\n" * 3 + b"\nBees fly.\n")
    paragraphs = [Record(str(path), line, b"A dog barks here.\n" * n) for line, n in ((1, 2), (3, 1))]
    assert list(read_paragraphs(path, longest_bytes=20)) == [*paragraphs, Record(str(path), 5, b"Bees fly.\n")]
