"""A dump of Wikipedia to sentences."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path

from gapgram.errors import TextError
from gapgram.preparation.conversion import NOT_AN_ARTICLE, Options, Outcome, Prepared, converted, need, prepare
from gapgram.preparation.languages import Language, language_of
from gapgram.preparation.records import (
    CHUNK_BYTES,
    Element,
    Head,
    Malformed,
    Record,
    XmlError,
    elements_of,
    split_records,
)
from gapgram.text.files import display_name, read_chunks


def prepare_wikipedia(
    dumps: Sequence[str | Path],
    output: str | Path,
    language: str,
    options: Options = Options(),  # noqa: B008 - frozen
) -> Prepared:
    """Write the articles of MediaWiki `pages-articles` dumps as one sentence a line.

    Articles are the pages of the main namespace that are no redirects. `docs/reference/prepare.md` says what of
    their markup is text.
    """
    need("mwparserfromhell")
    known = language_of(language)
    convert = partial(convert_page, known)
    return prepare(list(dumps), output, known, read=read_pages, convert=convert, options=options)


def read_pages(path: str | Path, on_bytes: Callable[[int], None]) -> Iterator[Page | Malformed]:
    """The pages of a dump, not parsed yet."""
    name = display_name(path)
    items = split_records(name, read_chunks(path, on_bytes, block_bytes=CHUNK_BYTES), "page")
    head = next(items)
    if not isinstance(head, Head):
        raise TextError(f"{name}: not a MediaWiki dump: {head}")
    site = site_of(head)
    first = next(items, None)
    if first is None:
        raise TextError(f"{name}: a MediaWiki dump without pages")
    for item in chain([first], items):
        assert not isinstance(item, Head)  # a file has one
        yield item if isinstance(item, Malformed) else Page(item.name, item.line, item.data, site)


def convert_page(language: Language, page: Page) -> Outcome:
    """The sentences of a page."""
    from gapgram.preparation.markup import paragraphs_of

    article = article_of(page)
    if isinstance(article, Article):
        try:
            return converted(paragraphs_of(article, page.site), language)
        except RecursionError:
            return Malformed(page.name, page.line, "markup that is nested too deep")
    return NOT_AN_ARTICLE if article is None else article


_FILE, _CATEGORY = "6", "14"
# For old dumps, which do not mark redirects.
_REDIRECT = re.compile(
    r"\s*#\s*(?:redirect|weiterleitung|redirection|rinvia|redirección|redirecionamento|doorverwijzing|"
    r"patrz|przekieruj|виж|пренасочване|перенаправление|перенаправлення)\b\s*(?::\s*)?\[\[",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Site:
    """The language of a dump, and the names of its namespaces in lower case."""

    language: str
    files: frozenset[str]
    categories: frozenset[str]
    others: frozenset[str]


@dataclass(frozen=True)
class Page(Record):
    """One `<page>` of a dump, not parsed yet."""

    site: Site


@dataclass(frozen=True)
class Article:
    """A page that readers read: its title and its wikitext."""

    title: str
    wikitext: str


def site_of(head: Head) -> Site:
    """Read the head of a dump; refuse what is no dump."""
    try:
        elements = elements_of(head.data, whole=False)
    except XmlError as error:
        raise TextError(f"{head.name}:{error.line + 1}: not a MediaWiki dump: {error.reason}") from None
    if not head.data.strip():
        raise TextError(f"{head.name}: empty, not a MediaWiki dump")
    if not elements or elements[0].name != "mediawiki":
        description = f"<{elements[0].name}>" if elements else "no XML"
        raise TextError(f"{head.name}:1: not a MediaWiki dump: found {description} where <mediawiki> is expected")
    names = [e for e in elements if e.name == "namespace" and e.text]
    return Site(
        elements[0].attributes.get("xml:lang", ""),
        frozenset({"file", "image"} | _named(names, _FILE)),
        frozenset({"category"} | _named(names, _CATEGORY)),
        frozenset(e.text.lower() for e in names),
    )


def article_of(page: Page) -> Article | Malformed | None:
    """What a page holds, or nothing if it is a redirect, no wikitext, or of another namespace."""
    try:
        elements = elements_of(page.data)
    except XmlError as error:
        return Malformed(page.name, page.line + error.line, error.reason)
    by_name = _main_slots(elements)
    title = by_name["title"].text if "title" in by_name else ""
    if "text" not in by_name or not title:
        return Malformed(page.name, page.line, "a page without title or text")
    model = by_name["model"].text if "model" in by_name else "wikitext"
    text = by_name["text"].text
    if "redirect" in by_name or model != "wikitext" or not _in_main_namespace(by_name, title, page.site):
        return None
    return None if _REDIRECT.match(text) else Article(title, text)


def _main_slots(elements: Iterable[Element]) -> dict[str, Element]:
    """The first element of each name, counted anew at every revision, so that the last revision holds."""
    by_name: dict[str, Element] = {}
    for element in elements:
        if element.name == "revision":
            by_name.pop("text", None)
            by_name.pop("model", None)
        by_name.setdefault(element.name, element)
    return by_name


def _in_main_namespace(by_name: dict[str, Element], title: str, site: Site) -> bool:
    if "ns" in by_name:
        return by_name["ns"].text.strip() == "0"
    return title.partition(":")[0].lower() not in site.others


def _named(namespaces: Iterable[Element], key: str) -> set[str]:
    return {e.text.lower() for e in namespaces if e.attributes.get("key") == key}
