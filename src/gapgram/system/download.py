"""A file fetched from an address: whole and with the digest that it must have, or not at all."""

from __future__ import annotations

import hashlib
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

from gapgram.errors import FetchError
from gapgram.system.atomic_file import written_aside
from gapgram.system.progress import progress_bar

_BLOCK_BYTES = 1 << 20
_TIMEOUT_SECONDS = 30


def download(
    address: str, path: Path, *, sha256: str | None = None, progress: bool = False, otherwise: str = "try again on-line"
) -> tuple[int, str]:
    """Copy what lies at an address into a file; its size and digest.

    sha256: what the digest must be. otherwise: what to do where the address cannot be reached.
    """
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
        raise FetchError(f"{address}: cannot be reached ({reason}); {otherwise}") from None
    return n_bytes, digest.hexdigest()


def _check(address: str, n_bytes: int, total: int | None, found: str, wanted: str | None) -> None:
    if total is not None and n_bytes != total:
        raise FetchError(f"{address}: ended after {n_bytes:,} of {total:,} bytes; nothing was kept, try again")
    if wanted is not None and found != wanted.lower():
        raise FetchError(f"{address}: its SHA-256 is {found}, expected {wanted}; nothing was kept")
