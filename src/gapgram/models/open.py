"""A model of any kind from its file: gapgram's own, a mixture, or ARPA."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path

from gapgram.errors import ModelFileError, TextError
from gapgram.models.arpa import read_arpa
from gapgram.models.backoff import BackoffModel
from gapgram.models.mixture import FORMAT, Mixture
from gapgram.models.model import Model
from gapgram.system.memory import most_resident
from gapgram.text.files import read_chunks

AnyModel = Model | BackoffModel | Mixture

_HEAD = 1 << 14  # bytes in which an ARPA file begins, after what its toolkit says about itself


def open_model(path: str | PathLike[str], *, progress: bool = False) -> AnyModel:
    """Open a model by what its file begins with; what is none of the others must be gapgram's own."""
    return _open(Path(path), progress, ())


def _open(path: Path, progress: bool, outer: tuple[Path, ...]) -> AnyModel:
    """As `open_model`, of a part of the mixtures `outer`."""
    try:
        head = next(read_chunks(path, block_bytes=_HEAD), b"")
    except TextError:
        head = b""  # said properly by Model.load
    if b"\\data\\" in head and not head.startswith(b"gapgram"):
        return read_arpa(path, progress=progress)
    if head.startswith(b"{"):
        return _read_mixture(path, (*outer, path.resolve()))
    return Model.load(path)


def _read_mixture(path: Path, outer: tuple[Path, ...]) -> Mixture:
    if path.resolve() in outer[:-1]:
        raise ModelFileError(f"{path}: a mixture that is a part of itself; make it again with gapgram mix")
    try:
        found = json.loads(path.read_text("utf-8"))
        entries = [(str(e["path"]), float(e["weight"]), str(e["signature"])) for e in found["models"]]
        fits = found["format"] == FORMAT
    except (ValueError, KeyError, TypeError):
        fits = False
    if not fits:
        raise ModelFileError(f"{path}: not a mixture as gapgram writes it; make it again with gapgram mix")
    models = [_part(path, place, signature, outer) for place, _, signature in entries]
    return Mixture(models, [weight for _, weight, _ in entries], path.resolve())


def _part(path: Path, place: str, signature: str, outer: tuple[Path, ...]) -> AnyModel:
    """A model of a mixture; it must be the one that was mixed."""
    model = _open(path.parent / place, False, outer)
    if str(model.signature) != signature:
        raise ModelFileError(f"{path}: {place} is another model than when the mixture was made; mix again")
    return model


def load(path: str | Path, *, verify: bool | None = None, memory: str | int | None = None) -> Model:
    """Open a model file; it is mapped, so that this takes no longer for a large one.

    memory: bytes, or a size such as "4G", that reading the file from end to end, as saving it in another layout does,
        may take beside the program itself. What queries read stays mapped.
    """
    return Model.load(path, verify=verify, most_resident=None if memory is None else most_resident(memory))
