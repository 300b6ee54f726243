"""Every link of the built site leads to a file and a place in it, and nothing is loaded from elsewhere."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class _Page(HTMLParser):
    """What a page links to, what it loads, and the places in it that can be linked to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.loaded: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the links and the places of an element."""
        found = {name: value for name, value in attrs if value}
        self.places.update(found[name] for name in ("id", "name") if name in found)
        if tag == "a" and "href" in found:
            self.targets.append(found["href"])
        if tag in ("img", "script", "source", "iframe") and "src" in found:
            self.loaded.append(found["src"])
        if tag == "link" and found.get("rel") in ("stylesheet", "icon"):
            self.loaded.append(found["href"])


def dead_links(site: Path) -> list[str]:
    """What is wrong with the links of a site, a line each."""
    pages = {path: _Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    return [
        f"{path.relative_to(site)}: {target}"
        for path, page in pages.items()
        for target in [*page.targets, *page.loaded]
        if not _leads_somewhere(path, target, pages, may_be_elsewhere=target not in page.loaded)
    ]


def _leads_somewhere(page: Path, target: str, pages: dict[Path, _Page], *, may_be_elsewhere: bool) -> bool:
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return may_be_elsewhere or parts.scheme == "data"
    path = page if not parts.path else (page.parent / unquote(parts.path)).resolve()
    if page.name == "404.html":  # whose links are those of a server
        return True
    place = unquote(parts.fragment)
    return path.exists() and (not place or path not in pages or place in pages[path].places)
