"""A dump of Wikipedia to sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

from gapgram.errors import TextError, UsageError, to_install
from gapgram.preparation.conversion import NOT_AN_ARTICLE, Options, Outcome, Prepared, converted, prepare
from gapgram.preparation.dump import Article, Page, Site, article_of, site_of
from gapgram.preparation.languages import Language, language_of
from gapgram.preparation.records import CHUNK_BYTES, Head, Malformed, Record, split_records
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
    _need_mwparserfromhell()
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
    yield from (_page(item, site) for item in chain([first], items))


def _page(item: object, site: Site) -> Page | Malformed:
    if isinstance(item, Record):
        return Page(item.name, item.line, item.data, site)
    assert isinstance(item, Malformed)  # a file has one head
    return item


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


def _need_mwparserfromhell() -> None:
    try:
        import mwparserfromhell  # noqa: F401
    except ImportError:
        raise UsageError(f"mwparserfromhell is not installed: {to_install('prepare')}") from None
