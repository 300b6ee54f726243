"""Where a model is: a file, a name that a package of models has, an address, or a repository of a hub.

    en                                   a model of an installed package, or of the folder models of a clone
    hf://OWNER/NAME                      the file gapgram.model of a repository; …/FILE and …@REVISION name others
    https://…/my.model#sha256=HEX        what lies at an address, if its SHA-256 is this

What is fetched is kept and not fetched again. Nothing of a package is executed; only where it lies is asked.
"""

from __future__ import annotations

import hashlib
import os
import re
from os import PathLike
from pathlib import Path
from stat import S_ISLNK
from typing import Any

from gapgram.arguments import wrong_type
from gapgram.errors import FetchError, ModelNotFoundError, UsageError, to_install

PACKAGES = "gapgram.models"  # the entry points of packages of models
HUB_FILE = "gapgram.model"
_IN_A_CLONE = Path(__file__).parents[3] / "models" / "gapgram_models"
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_HUB = re.compile(r"hf://(?P<repo>[\w.-]+/[\w.-]+)(@(?P<revision>[\w./-]+?))?(/(?P<file>[^@]+))?")
_WITH_HASH = re.compile(r"(?P<address>https?://[^#\s]+)#sha256=(?P<sha256>[0-9a-fA-F]{64})")


def located(model: str | PathLike[str], *, progress: bool = False) -> Path:
    """The file of a model; one that is elsewhere is fetched."""
    try:
        text = os.fspath(model)
    except TypeError:
        raise wrong_type("model", model, "the path of a file, the name of a model, or its address") from None
    if not isinstance(text, str):
        return Path(os.fsdecode(text))
    if text.startswith("hf://"):
        return _from_hub(text)
    if text.startswith(("https://", "http://")):
        return _from_address(text, progress=progress)
    if not _NAME.fullmatch(text) or os.path.lexists(text):
        return Path(text)
    named = named_models()
    if text not in named:
        there = f"models by name: {', '.join(named)}" if named else "no package of models is installed"
        raise ModelNotFoundError(f"{text}: no such file; {there}")
    return named[text]


def named_models() -> dict[str, Path]:
    """The models of all packages, by name."""
    from importlib.metadata import entry_points  # heavy, and not needed to open a file
    from importlib.util import find_spec

    folders = [_IN_A_CLONE]
    for entry in entry_points(group=PACKAGES):
        spec = find_spec(entry.value)
        folders += map(Path, (spec.submodule_search_locations if spec else None) or [])
    files = [path for folder in folders for path in sorted(folder.glob("*.model"))]
    return {path.stem: path for path in reversed(files)}


def hub_repository(address: str) -> tuple[str, str, str | None]:
    """(repository, file, revision) of an address of the hub.

    >>> hub_repository("hf://someone/news"), hub_repository("hf://someone/news@v2/de.model")
    (('someone/news', 'gapgram.model', None), ('someone/news', 'de.model', 'v2'))
    """
    found = _HUB.fullmatch(address)
    if not found or ".." in re.split("[/@]", address):
        raise UsageError(f"{address}: expected hf://OWNER/NAME, or hf://OWNER/NAME@REVISION/FILE")
    return found["repo"], found["file"] or HUB_FILE, found["revision"]


def _from_hub(address: str) -> Path:
    repository, file, revision = hub_repository(address)
    hub, errors = hub_client()
    try:
        return Path(hub.hf_hub_download(repository, file, revision=revision))
    except errors as error:
        raise FetchError(f"{address}: not fetched from the hub: {_first_line(error)}") from None


def hub_client() -> tuple[Any, tuple[type[Exception], ...]]:
    """The client of the hub, and what it may raise."""
    try:
        import huggingface_hub
        from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError
    except ImportError:
        raise UsageError(f"models of a hub need huggingface_hub: {to_install('hub')}") from None
    return huggingface_hub, (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError)


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _from_address(text: str, *, progress: bool) -> Path:
    found = _WITH_HASH.fullmatch(text)
    if not found:
        address = text.partition("#")[0]
        raise UsageError(f"{text}: say which file is meant: {address}#sha256=… with its SHA-256, as its card has it")
    sha256 = found["sha256"].lower()
    path = _kept() / f"{sha256}.model"
    if not _is_ours(path) and digest_of(path) != sha256:
        path.parent.mkdir(parents=True, exist_ok=True)
        from gapgram.system.download import download

        download(found["address"], path, sha256=sha256, progress=progress)
    return path


def _is_ours(path: Path) -> bool:
    """Whether a file was put there by this user, and nobody else could have changed it since."""
    if not hasattr(os, "getuid"):
        return path.is_file()
    try:
        found = path.parent.lstat(), path.lstat()
    except OSError:
        return False
    return all(each.st_uid == os.getuid() and not each.st_mode & 0o022 and not S_ISLNK(each.st_mode) for each in found)


def digest_of(path: Path) -> str | None:
    """The SHA-256 of a plain file; None of anything else."""
    if not path.is_file():
        return None
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _kept() -> Path:
    """The folder of models that were fetched."""
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(caches) / "gapgram" / "models"
