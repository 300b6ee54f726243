"""The page: a handful of files, read once. A request names one of them; it never becomes a path."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib.resources import files

_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


@dataclass(frozen=True)
class PageFile:
    """A file of the page; the tag changes with its content."""

    content: bytes
    media_type: str
    tag: str


def read_page() -> dict[str, PageFile]:
    """All files of the page by name.

    >>> read_page()["index.html"].media_type
    'text/html; charset=utf-8'
    """
    pages = {}
    for entry in files("gapgram.web").joinpath("static").iterdir():
        ending = entry.name.rpartition(".")[2]
        if ending in _TYPES:
            content = entry.read_bytes()
            pages[entry.name] = PageFile(content, _TYPES[ending], f'"{hashlib.sha256(content).hexdigest()[:20]}"')
    return pages
