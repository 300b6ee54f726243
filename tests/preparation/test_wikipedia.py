"""Dumps to sentences, from end to end."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import re
import sys
from pathlib import Path

import pytest
import zstandard

pytest.importorskip("mwparserfromhell", reason="needs the extra gapgram[prepare]")
pytest.importorskip("sentencex", reason="needs the extra gapgram[prepare]")

from tests.support.made_documents import dump, page

from gapgram.errors import TextError, UsageError
from gapgram.preparation import Options, prepare_wikipedia
from gapgram.preparation.conversion import BATCH_DOCUMENTS, in_order

ONE = Options(processes=1)
GOOD = dump(page("A", "A '''dog''' &amp;amp; a [[cat]]. It barks."), page("B", "Bees fly."))
SKIP = Options(malformed="skip", processes=1)


def write(folder: Path, text: str | bytes, name: str = "dump.xml") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def prepared(folder: Path, text: str | bytes, options: Options = ONE) -> str:
    prepare_wikipedia([write(folder, text)], folder / "out.txt", "en", options)
    return (folder / "out.txt").read_text()


def test_articles_only(tmp_path: Path) -> None:
    pages = [
        page("A", "Yes one."),
        page("R", "#REDIRECT [[A]]", more='<redirect title="A" />'),
        page("O", "#redirect [[A]]", ns=""),
        page("Project:P", "No.", ns="<ns>4</ns>"),
        page("Project:Q", "No.", ns=""),
        page("B", "Yes two. [[Kategorie:X]] [[Datei:a.jpg|thumb|A picture.]]", ns=""),
        page("C", "function() {}").replace("wikitext", "javascript"),
    ]
    result = prepare_wikipedia([write(tmp_path, dump(*pages))], tmp_path / "out", "en", ONE)
    assert (tmp_path / "out").read_text() == "Yes one .\nA picture .\nYes two .\n"
    assert (result.documents, result.left_out, result.malformed) == (2, 5, 0)
    assert (result.sentences, result.words) == (3, 9)
    assert result.signature()["language"] == "en"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    assert prepared(tmp_path, GOOD.encode(encoding)) == "A dog & a cat .\nIt barks .\nBees fly .\n"


@pytest.mark.parametrize("compress", [bz2.compress, gzip.compress, lzma.compress, zstandard.compress])
def test_compressed_dumps(tmp_path: Path, compress) -> None:  # type: ignore[no-untyped-def]
    assert prepared(tmp_path, compress(GOOD.encode())) == prepared(tmp_path, GOOD)


def test_the_number_of_processes_makes_no_difference(tmp_path: Path) -> None:
    n_pages = 2 * BATCH_DOCUMENTS + 9
    text = dump(*(page(f"P{n}", f"Page {n} is here. It has {n} dogs.") for n in range(n_pages)))
    alone = prepared(tmp_path, text)
    assert len(alone.splitlines()) == 2 * n_pages
    assert prepared(tmp_path, text, Options(processes=2)) == alone


def test_the_last_revision_counts(tmp_path: Path) -> None:
    old = "<revision><text>Old text.</text></revision>"
    assert prepared(tmp_path, dump(page("A", "New text.", more=old))) == "New text .\n"


BROKEN = {
    "cut off": (dump(page("A", "One."), page("B", "Two."))[:-60], "19: cut off: the file ends inside this document"),
    "no end": (dump(page("A", "One."))[: -len("</mediawiki>\n")], "19: cut off: the file ends without </mediawiki>"),
    "wrong tag": (dump(page("A", "One."), page("B", "<b>Two</i>."), page("C", "Three.")), "25: mismatched tag"),
    "no title": (dump(page("A", "One."), page("", "Two."), page("C", "Three.")), "19: a page without title or text"),
    "entity": (dump(page("A", "One."), page("B", "&x;"), page("C", "Three.")), "25: undefined entity"),
    "not closed": (
        dump(page("A", "One."), page("B", "Two.").replace("</page>", ""), page("C", "Three.")),
        "19: not closed before the next document starts",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_malformed_dumps(tmp_path: Path, name: str) -> None:
    text, message = BROKEN[name]
    path = write(tmp_path, text)
    with pytest.raises(TextError) as raised:
        prepare_wikipedia([path], tmp_path / "out", "en", ONE)
    assert str(raised.value) == (
        f"{path}:{message}; the 1 good documents before it are in {tmp_path / 'out'} (--malformed skip goes on)"
    )
    assert (tmp_path / "out").read_text() == "One .\n"
    result = prepare_wikipedia([path], tmp_path / "out", "en", SKIP)
    assert (tmp_path / "out").read_text() == ("One .\nThree .\n" if "Three" in text else "One .\n")
    assert (result.malformed, result.first_malformed) == (1, f"{path}:{message}")


def test_damaged_compression_keeps_what_came_before(tmp_path: Path) -> None:
    text = dump(*(page(f"P{n}", f"{n} dogs bark.") for n in range(20000)))
    path = write(tmp_path, gzip.compress(text.encode(), 1)[:-2000])
    with pytest.raises(TextError, match=r"the gzip data is damaged or cut off: .*; the [\d,]+ good documents"):
        prepare_wikipedia([path], tmp_path / "out", "en", ONE)
    assert len((tmp_path / "out").read_text().splitlines()) > 1000


BOMB = '<!DOCTYPE m [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>'
REFUSED = {
    "": ": empty, not a MediaWiki dump",
    "Hello there.": ":1: not a MediaWiki dump: syntax error",
    "<html><page>x</page></html>": ":1: not a MediaWiki dump: found <html> where <mediawiki> is expected",
    BOMB + GOOD: ":1: not a MediaWiki dump: declares entities, which are not followed",
    dump(): ": a MediaWiki dump without pages",
    dump("<page>"): ":10: cut off: the file ends inside this document; there is no good document before it "
    "(--malformed skip goes on)",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_dump(tmp_path: Path, text: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(TextError, match="^" + re.escape(f"{path}{REFUSED[text]}") + "$"):
        prepare_wikipedia([path], tmp_path / "out", "en", ONE)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["dump.xml"]


def test_wrong_options() -> None:
    with pytest.raises(UsageError, match=r"^malformed documents: 'ignore'; expected error or skip$"):
        Options(malformed="ignore")
    with pytest.raises(UsageError, match=r"^processes 0: expected 1 or more$"):
        list(in_order(abs, [1], 0))


@pytest.mark.parametrize("library", ["mwparserfromhell", "sentencex"])
def test_a_missing_library_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    said = rf"^{library} is not installed: pip install 'mwparserfromhell\S+' 'sentencex\S+'$"
    with pytest.raises(UsageError, match=said):
        prepared(tmp_path, GOOD)


def test_an_interrupt_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*given: object) -> None:
        raise KeyboardInterrupt

    (tmp_path / "out.txt").write_text("old\n")
    monkeypatch.setattr("gapgram.preparation.wikipedia.article_of", interrupted)
    with pytest.raises(KeyboardInterrupt):
        prepared(tmp_path, GOOD)
    assert (tmp_path / "out.txt").read_text() == "old\n"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["dump.xml", "out.txt"]


def test_a_worker_that_dies_is_an_error() -> None:
    with pytest.raises(TextError, match="a worker process died, perhaps for lack of memory: try fewer processes"):
        list(in_order(os._exit, [1, 1, 1], 2))
