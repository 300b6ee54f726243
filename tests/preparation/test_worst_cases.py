"""PageBudget, documents and text made to take long: time grows with their length, and not with its square.

Each case took a quarter of an hour to many hours when it was found, and takes some seconds now; a process that does not
end is taken to hang.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from html import escape

import pytest

pytest.importorskip("mwparserfromhell", reason="needs the extra gapgram[prepare]")
pytest.importorskip("sentencex", reason="needs the extra gapgram[prepare]")

from tests.support.running import HANGING_SECONDS

from gapgram.preparation.acquis import convert_document
from gapgram.preparation.languages import language_of
from gapgram.preparation.plain import convert_paragraph
from gapgram.preparation.records import Record, split_records
from gapgram.preparation.wikipedia import Page, Site, convert_page

SITE = Site("en", frozenset({"file"}), frozenset({"category"}), frozenset())
CHARACTERS = 1_000_000


def filled(unit: str, before: str = "", after: str = "", characters: int = CHARACTERS) -> str:
    return f"{before}{unit * (characters // len(unit))}{after}"


def page(wikitext: str) -> object:
    data = f"<page><title>T</title><revision><text>{escape(wikitext)}</text></revision></page>".encode()
    return convert_page(language_of("en"), Page("f", 1, data, SITE))


def paragraph(text: str) -> object:
    return convert_paragraph(language_of("it"), Record("f", 1, text.encode()))


def document(xml: str) -> object:
    return convert_document(language_of("en"), Record("f", 1, xml.encode()))


def records(*chunks: str) -> object:
    return list(split_records("f", (chunk.encode() for chunk in chunks), "page"))


CASES: dict[str, Callable[[], object]] = {
    "unclosed references": partial(page, filled("<ref>")),
    "unclosed nowiki": partial(page, filled("<nowiki>")),
    "unclosed tags": partial(page, filled("<b> x")),
    "half tags": partial(page, filled("<a ")),
    "half tags with attributes": partial(page, filled("<a b=")),
    "a half tag of many letters": partial(page, filled("x", "<a")),
    "unclosed cells": partial(page, filled("<td> word ", "<b>")),
    "unclosed links": partial(page, filled("[[a|")),
    "unclosed addresses": partial(page, filled("[http://a ")),
    "unclosed templates": partial(page, filled("{{a|b=")),
    "unclosed tables": partial(page, filled("{|\n|-\n|a\n")),
    "braces": partial(page, filled("{") + filled("}")),
    "crossing": partial(page, filled("[[a|{{b|]]}}")),
    "galleries": partial(page, filled("a|<gallery>", "<gallery>\n", filled("</gallery>"))),
    "comments": partial(page, filled("<!-- ")),
    "spaces in a link": partial(page, filled(" ", "[[a", "b|]]")),
    "spaces in a size": partial(page, filled(" ", "[[File:a|20", "y|x]]")),
    "spaces after a redirect": partial(page, filled(" ", "#redirect")),
    "marks": partial(page, filled(",")),
    "a long entity": partial(page, filled("9", "&#", ";")),
    "continued sentences": partial(paragraph, filled("x. ", characters=CHARACTERS // 2)),
    "quotations": partial(paragraph, filled(". “", characters=CHARACTERS // 2)),
    "marks without spaces": partial(paragraph, filled("”;。", characters=CHARACTERS // 2)),
    "nested elements": partial(document, filled("<p>x", "<TEI.2><body>")),
    "comments in the head": partial(records, filled("<!-- ", "<mediawiki>", "<page></page>")),
    "comments between pages": partial(records, filled("<!-- >", "<m><page></page>", "<page></page></m>")),
    "document types": partial(records, filled("<!DOCTYPE a [", "", "<page></page>")),
    "a long page": partial(records, "<m><page>", *["x" * 4096] * 10_000, "</page></m>"),
}


def test_time_grows_with_length_alone() -> None:
    program = (
        "import sys\n"
        "from tests.preparation.test_worst_cases import CASES\n"
        "for name, case in CASES.items():\n"
        "    case()\n"
        "    print(name, flush=True)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([os.getcwd(), *sys.path])}
    ran = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=HANGING_SECONDS
    )
    assert (ran.returncode, ran.stdout.splitlines()) == (0, list(CASES)), ran.stderr[-2000:]
