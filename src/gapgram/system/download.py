"""A file fetched from an address: whole and with the digest that it must have, or not at all.

What has no digest comes over https alone, from first to last: on the way it could be changed.
"""

from __future__ import annotations

import hashlib
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, build_opener

from gapgram.errors import FetchError, UsageError
from gapgram.system.atomic_file import written_aside
from gapgram.system.progress import progress_bar

_BLOCK_BYTES = 1 << 20
_TIMEOUT_SECONDS = 30
_FAILURES = (URLError, HTTPException, TimeoutError, ConnectionError, UnicodeError)  # the last: of odd names of hosts
_HERE = ("localhost", "127.0.0.1", "::1")


def download(
    address: str, path: Path, *, sha256: str | None = None, sha1: str | None = None, progress: bool = False,
    otherwise: str = "try again on-line",
) -> tuple[int, str]:  # fmt: skip
    """Copy what lies at an address into a file; its size and digest.

    sha256, sha1: what its digests must be; SHA-1 against accidents alone.
    otherwise: what to do where the address cannot be reached.
    """
    digest, other, n_bytes = hashlib.sha256(), hashlib.sha1(usedforsecurity=False), 0
    _check_way(address, sha256)
    try:
        with _opened(address, sha256) as answer, written_aside(path) as file:
            announced = answer.headers.get("Content-Length")
            total = int(announced) if announced and announced.isdigit() else None
            with progress_bar(path.name, total=total, unit="B", progress=progress) as advance:
                while block := answer.read(_BLOCK_BYTES):
                    file.write(block)
                    digest.update(block)
                    if sha1:
                        other.update(block)
                    n_bytes += len(block)
                    advance(len(block))
            if total is not None and n_bytes != total:
                raise FetchError(f"{address}: ended after {n_bytes:,} of {total:,} bytes; nothing was kept, try again")
            _check(address, "SHA-256", digest.hexdigest(), sha256)
            _check(address, "SHA-1", other.hexdigest(), sha1)
    except HTTPError as error:
        error.close()
        raise FetchError(f"{address}: the server answers {error.code} {error.reason}") from None
    except _FAILURES as error:
        reason = error.reason if isinstance(error, URLError) else error
        raise FetchError(f"{address}: cannot be reached ({reason}); {otherwise}") from None
    return n_bytes, digest.hexdigest()


def fetched_text(address: str, most_bytes: int = 1 << 20) -> str:
    """A short text that lies at an address."""
    _check_way(address, None)
    try:
        with _opened(address, None) as answer:
            return str(answer.read(most_bytes).decode("utf-8", "replace"))
    except _FAILURES as error:
        raise FetchError(f"{address}: cannot be reached ({error}); try again on-line") from None


def _opened(address: str, sha256: str | None) -> Any:
    class Redirected(HTTPRedirectHandler):
        def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
            _check_way(newurl, sha256)
            return super().redirect_request(req, fp, code, msg, headers, newurl)

    return build_opener(Redirected).open(address, timeout=_TIMEOUT_SECONDS)


def _check_way(address: str, sha256: str | None) -> None:
    """Refuse a way on which others could change what comes, unless a digest tells; this machine is none."""
    try:
        parts = urlsplit(address)
    except ValueError as error:
        raise UsageError(f"{address}: no address: {error}") from None
    if parts.scheme == "https" or (parts.scheme == "http" and (sha256 or parts.hostname in _HERE)):
        return
    raise UsageError(
        f"{address}: on the way to it others can change what comes; name an address that begins with https://, or say "
        "the SHA-256 that it must have"
    )


def _check(address: str, kind: str, found: str, wanted: str | None) -> None:
    if wanted is not None and found != wanted.lower():
        raise FetchError(f"{address}: its {kind} is {found}, expected {wanted}; nothing was kept")
