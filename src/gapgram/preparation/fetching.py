"""Public corpora by name, from addresses that have been stable for years."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import urlopen

from gapgram.errors import GapgramError, UsageError
from gapgram.system.atomic_file import check_writable, written_aside
from gapgram.system.progress import progress_bar

_BLOCK_BYTES = 1 << 20
_TIMEOUT_SECONDS = 30


class FetchError(GapgramError, OSError):
    """A corpus that cannot be fetched."""


@dataclass(frozen=True)
class Source:
    """Where a corpus lies, and what to do with it; `{language}` stands for a code such as `en`."""

    name: str
    address: str
    next_step: str
    licence: str

    def __str__(self) -> str:
        return f"{self.name}-LANGUAGE" if "{language}" in self.address else self.name


SOURCES = (
    Source(
        "wikipedia",
        "https://dumps.wikimedia.org/{language}wiki/latest/{language}wiki-latest-pages-articles.xml.bz2",
        "gapgram prepare wikipedia {file} -o {language}.txt.zst --language {language}",
        "CC BY-SA 4.0",
    ),
    Source(
        "acquis",
        "https://wt-public.emm4u.eu/Acquis/JRC-Acquis.3.0/corpus/jrc-{language}.tgz",
        "tar xzf {file} && gapgram prepare acquis {language} -o law.{language}.txt --language {language}",
        "free, with acknowledgement of the European Communities",
    ),
    Source(
        "billion",
        "https://www.statmt.org/lm-benchmark/1-billion-word-language-modeling-benchmark-r13output.tar.gz",
        "tar xzf {file}: training-monolingual.tokenized.shuffled/* is one sentence a line",
        "free for research",
    ),
)


@dataclass(frozen=True)
class Fetched:
    """A file that was fetched."""

    path: Path
    address: str
    n_bytes: int
    sha256: str
    licence: str
    next_step: str


def fetch(
    name: str, output: str | Path | None = None, *, host: str | None = None, sha256: str | None = None,
    progress: bool = False,
) -> Fetched:  # fmt: skip
    """Fetch a corpus, such as `wikipedia-en`, into a file; nothing is kept of one that does not come whole.

    output: the file; by default it is called as at its source, in the current folder.
    host: a mirror, such as `https://mirror.example`, that has the same paths.
    sha256: what the digest of the file must be.
    """
    source, language = source_called(name)
    address = source.address.format(language=language)
    if host is not None:
        address = host.rstrip("/") + urlsplit(address).path
    if urlsplit(address).scheme not in ("http", "https"):
        raise UsageError(f"{host}: expected an address that begins with https:// or http://")
    path = Path(output or urlsplit(address).path.rpartition("/")[2])
    check_writable(path)
    n_bytes, digest = _download(address, path, sha256, progress=progress)
    next_step = source.next_step.format(file=path, language=language)
    return Fetched(path, address, n_bytes, digest, source.licence, next_step)


def source_called(name: str) -> tuple[Source, str]:
    """The source of this name, and the language that the name ends in.

    >>> source, language = source_called("acquis-de")
    >>> source.name, language
    ('acquis', 'de')
    """
    stem, _, language = name.partition("-")
    for source in SOURCES:
        if source.name == stem and bool(language) == ("{language}" in source.address):
            if language and not re.fullmatch(r"[a-z]{2,12}", language):
                raise UsageError(f"{name}: {language!r} is no code of a language, such as en")
            return source, language
    raise UsageError(f"{name}: no corpus of this name; there are {', '.join(map(str, SOURCES))}, such as wikipedia-en")


def _download(address: str, path: Path, sha256: str | None, *, progress: bool) -> tuple[int, str]:
    """Copy what lies at an address into a file; its size and digest."""
    digest, n_bytes = hashlib.sha256(), 0
    try:
        with urlopen(address, timeout=_TIMEOUT_SECONDS) as answer, written_aside(path) as file:
            announced = answer.headers.get("Content-Length")
            total = int(announced) if announced and announced.isdigit() else None
            with progress_bar(path.name, total=total, unit="B", progress=progress) as advance:
                while block := answer.read(_BLOCK_BYTES):
                    file.write(block)
                    digest.update(block)
                    n_bytes += len(block)
                    advance(len(block))
            _check(address, n_bytes, total, digest.hexdigest(), sha256)
    except HTTPError as error:
        raise FetchError(f"{address}: the server answers {error.code} {error.reason}") from None
    except (URLError, HTTPException, TimeoutError, ConnectionError) as error:
        reason = error.reason if isinstance(error, URLError) else error
        raise FetchError(
            f"{address}: cannot be reached ({reason}); try again on-line, name a mirror (--host),\n"
            f"or fetch it with another program and go on with the file {path.name}"
        ) from None
    return n_bytes, digest.hexdigest()


def _check(address: str, n_bytes: int, total: int | None, found: str, wanted: str | None) -> None:
    if total is not None and n_bytes != total:
        raise FetchError(f"{address}: ended after {n_bytes:,} of {total:,} bytes; nothing was kept, try again")
    if wanted is not None and found != wanted.lower():
        raise FetchError(f"{address}: its SHA-256 is {found}, expected {wanted}; nothing was kept")
