"""Corpora from the network: whole or not at all, from a server on this machine; and what is said off-line."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from tests.support.running import Cli, assert_refused

from gapgram.errors import FetchError, UsageError
from gapgram.preparation.fetching import SOURCES, fetch, source_called

DUMP = b"a dump" * 1000
SUMS = "{}  xxwiki-20261101-abstract.xml.gz\n{}  xxwiki-20261101-pages-articles.xml.bz2\n"
LIST = SUMS.format("0" * 40, hashlib.sha1(DUMP).hexdigest()).encode()
PATHS = {
    "/xxwiki/20261101/xxwiki-20261101-pages-articles.xml.bz2": (DUMP, len(DUMP)),
    "/xxwiki/latest/xxwiki-latest-sha1sums.txt": (LIST, len(LIST)),
    "/yywiki/latest/yywiki-latest-sha1sums.txt": (LIST, len(LIST)),
    "/zzwiki/20261101/zzwiki-20261101-pages-articles.xml.bz2": (DUMP, len(DUMP)),
    "/zzwiki/latest/zzwiki-latest-sha1sums.txt": (SUMS.replace("xx", "zz").format(*["1" * 40] * 2).encode(), 158),
    "/Acquis/JRC-Acquis.3.0/corpus/jrc-xx.tgz": (DUMP, len(DUMP) + 7),  # promises more than it gives
}


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path.startswith("/away/"):
            self.send_response(302)
            self.send_header("Location", f"http://mirror.example/{self.path[6:]}")
            self.end_headers()
            return
        body, announced = PATHS.get(self.path, (b"", 0))
        self.send_response(200 if body else 404)
        self.send_header("Content-Length", str(announced))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def mirror() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_corpus_is_fetched_whole(cli: Cli, mirror: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    digest = hashlib.sha256(DUMP).hexdigest()
    ran = cli("fetch", "wikipedia-xx", "--host", mirror, "--sha256", digest)
    name = "xxwiki-20261101-pages-articles.xml.bz2"
    assert (ran.code, ran.out) == (0, f"{name}: 6,000 bytes, SHA-256 {digest}\n")
    assert f"next: gapgram prepare wikipedia {name} -o xx.txt.zst --language xx" in ran.err
    assert (tmp_path / name).read_bytes() == DUMP
    assert cli("fetch", "wikipedia-xx", "--host", mirror, "-o", "other", "--json", "-q").json["sha256"] == digest


def test_nothing_is_kept_of_what_is_not_whole_or_another(mirror: str, tmp_path: Path) -> None:
    with pytest.raises(FetchError, match=r"ended after 6,000 of 6,007 bytes; nothing was kept, try again"):
        fetch("acquis-xx", tmp_path / "a", host=mirror)
    with pytest.raises(FetchError, match=r"its SHA-256 is [0-9a-f]{64}, expected 00; nothing was kept"):
        fetch("wikipedia-xx", tmp_path / "a", host=mirror, sha256="00")
    with pytest.raises(FetchError, match=r"its SHA-1 is [0-9a-f]{40}, expected 1{40}; nothing was kept"):
        fetch("wikipedia-zz", tmp_path / "a", host=mirror)
    with pytest.raises(FetchError, match="has no line for yywiki-DATE-pages-articles"):
        fetch("wikipedia-yy", tmp_path / "a", host=mirror)
    with pytest.raises(FetchError, match=r"the server answers 404"):
        fetch("acquis-yy", tmp_path / "a", host=mirror)
    assert list(tmp_path.iterdir()) == []


def test_off_line_it_says_what_to_do(cli: Cli, tmp_path: Path) -> None:
    ran = cli("fetch", "billion", "--host", "http://127.0.0.1:9", "-o", tmp_path / "a")
    assert_refused(ran, "/1-billion-word-language-modeling-benchmark-r13output.tar.gz: cannot be reached (")
    assert "name a mirror (--host),\nor fetch it with another program" in ran.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("gutenberg", "no corpus of this name; there are wikipedia-LANGUAGE, acquis-LANGUAGE, billion"),
        ("wikipedia", "no corpus of this name"),
        ("billion-en", "no corpus of this name"),
        ("wikipedia-../x", "'../x' is no code of a language"),
    ],
)
def test_a_name_that_is_none_is_refused(name: str, said: str) -> None:
    with pytest.raises(UsageError, match=said.replace("..", r"\.\.")):
        source_called(name)


def test_only_the_web_is_asked_and_nobody_on_the_way(mirror: str, tmp_path: Path) -> None:
    for host in ("file:///etc", "http://mirror.example", "ftp://mirror.example", f"{mirror}/away"):
        with pytest.raises(UsageError, match=r"others can change what comes; name an address that begins with https://"):
            fetch("acquis-xx", tmp_path / "a", host=host)
    assert list(tmp_path.iterdir()) == []


def test_every_source_has_a_safe_address() -> None:
    assert all(source.address.startswith("https://") for source in SOURCES)
