"""Real excerpts of Wikipedia dumps, where they are at hand."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("mwparserfromhell", reason="needs the extra gapgram[prepare]")
pytest.importorskip("sentencex", reason="needs the extra gapgram[prepare]")

from gapgram.preparation import Options, prepare_wikipedia
from gapgram.preparation.markup import paragraphs_of
from gapgram.preparation.records import Malformed
from gapgram.preparation.wikipedia import Article, article_of, read_pages

MARKUP = (
    "[[", "]]", "{{", "}}", "{|", "|}", "|-", "<ref", "</", "<br",
    "'''", "''", "&nbsp;", "&lt;", "thumb|", "px|", "style=",
    "colspan", "__", "==", "\x01", "\x02", "\x03", "\x04",
)  # fmt: skip
# Seen in the articles: a sentence each from prose, a caption, a list, a converted measure, after a reference.
SEEN = {
    "enwiki-latest": (
        "Woodcut from a Diggers document by William Everard",
        "themselves derived respectively from the Greek ἀναρχία , i.e. anarchy",
        "Anarchism is a political philosophy that advocates self-governed societies based on voluntary institutions .",
    ),
    "bgwiki": ("Папа Григорий XIII", "календар , на който се основава и международният стандарт ISO 8601 ."),
    "enwiki-table": ("Brahui", "Estonia"),
}


@pytest.mark.parametrize("name", SEEN)
def test_excerpt(shared_dumps: Path, tmp_path: Path, name: str) -> None:
    (path,) = shared_dumps.glob(f"{name}*")
    language = name[:2]
    result = prepare_wikipedia([path], tmp_path / "out", language, Options(processes=1))
    text = (tmp_path / "out").read_text()
    assert result.malformed == 0 and result.sentences == text.count("\n")
    assert all(seen in text for seen in SEEN[name])


@pytest.mark.parametrize("name", SEEN)
def test_no_markup_is_left(shared_dumps: Path, name: str) -> None:
    (path,) = shared_dumps.glob(f"{name}*")
    left: list[str] = []
    for page in read_pages(path, lambda n: None):
        assert not isinstance(page, Malformed)
        article = article_of(page)
        if isinstance(article, Article):
            paragraphs = paragraphs_of(article, page.site)
            left += [p for p in paragraphs if any(mark in p for mark in MARKUP)]
    assert left == []
