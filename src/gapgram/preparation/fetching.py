"""Public corpora by name, from addresses that have been stable for years."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from gapgram.errors import FetchError, UsageError
from gapgram.system.atomic_file import check_writable
from gapgram.system.download import download, fetched_text


@dataclass(frozen=True)
class Source:
    """Where a corpus lies, and what to do with it; `{language}` stands for a code such as `en`.

    sha256: what its digest is, where it never changes.
    sums: the list of SHA-1 that its source keeps, which says the date that takes the place of `latest`.
    """

    name: str
    address: str
    next_step: str
    licence: str
    sha256: str | None = None
    sums: str | None = None

    def __str__(self) -> str:
        return f"{self.name}-LANGUAGE" if "{language}" in self.address else self.name


SOURCES = (
    Source(
        "wikipedia",
        "https://dumps.wikimedia.org/{language}wiki/latest/{language}wiki-latest-pages-articles.xml.bz2",
        "gapgram prepare wikipedia {file} -o {language}.txt.zst --language {language}",
        "CC BY-SA 4.0",
        sums="https://dumps.wikimedia.org/{language}wiki/latest/{language}wiki-latest-sha1sums.txt",
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
        sha256="01ba60381110baf7f189dfd2b8374de371e8c9a340835793f190bdae9e90a34e",
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

    What is known of the file is compared: its SHA-256, or the SHA-1 that its source publishes beside it.
    """
    source, language = source_called(name)

    def place(address: str) -> str:
        address = address.format(language=language)
        return address if host is None else host.rstrip("/") + urlsplit(address).path

    address, sha1 = place(source.address), None
    if source.sums is not None:
        address, sha1 = _listed(address, place(source.sums))
    path = Path(output or urlsplit(address).path.rpartition("/")[2])
    check_writable(path)
    other = f"or fetch it with another program and go on with the file {path.name}"
    otherwise = f"try again on-line, name a mirror (--host),\n{other}"
    n_bytes, digest = download(
        address, path, sha256=sha256 or source.sha256, sha1=sha1, progress=progress, otherwise=otherwise
    )
    next_step = source.next_step.format(file=path, language=language)
    return Fetched(path, address, n_bytes, digest, source.licence, next_step)


def _listed(address: str, sums: str) -> tuple[str, str]:
    """The address of the newest file of those that are called so, by its date, and its SHA-1, from a list of both."""
    before, after = address.rpartition("/")[2].split("latest")
    for line in fetched_text(sums).splitlines():
        found = re.fullmatch(rf"([0-9a-f]{{40}})\s+{re.escape(before)}(\d{{8}}){re.escape(after)}", line.strip())
        if found:
            return address.replace("latest", found[2]), found[1]
    raise FetchError(f"{sums}: has no line for {before}DATE{after}; try again tomorrow, a dump may be being made")


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
