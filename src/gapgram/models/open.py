"""A model of any kind from its file, which is recognised by its first bytes."""

from __future__ import annotations

import re
import stat
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from gapgram.errors import ModelFileError, UsageError
from gapgram.models import file as model_file
from gapgram.models.kenlm_binary.header import MAGIC as KENLM
from gapgram.models.model import Model
from gapgram.models.places import located
from gapgram.signature import is_same_model
from gapgram.system.array_file import BACKOFF, MIXTURE, FilePart, first_bytes
from gapgram.system.array_reading import odd_files_refused
from gapgram.system.memory import MemoryLimit
from gapgram.text.files import read_head

if TYPE_CHECKING:  # a kind of model is loaded when a file is of that kind
    from gapgram.models.backoff import BackoffModel
    from gapgram.models.kenlm_binary.model import KenlmModel
    from gapgram.models.mixture import Mixture

    AnyModel: TypeAlias = Model | BackoffModel | KenlmModel | Mixture

_FIRST_BYTES = 64
_MOST_MIXED = 100  # models of a mixture and of the mixtures in it
_MOST_NESTED = 16  # mixtures inside of each other
_MAX_INTRODUCTION_BYTES = 1 << 20  # in which the data of an ARPA file begin, after what its toolkit says about itself
_DATA_LINE = re.compile(rb"^[ \t]*\\data\\[ \t\r]*$", re.IGNORECASE | re.MULTILINE)


class _Options(NamedTuple):
    """How models are opened.

    inside: the files of the mixtures that this one is a model of; mixed: all models of mixtures opened so far.
    """

    verify: bool | None
    most_resident: int | None
    progress: bool
    mixed: list[Path | FilePart]
    inside: tuple[Path, ...] = ()

    def within(self, mixture: Path) -> _Options:
        """As this, for the models of a mixture."""
        if len(self.inside) >= _MOST_NESTED:
            raise ModelFileError(f"{mixture}: mixtures inside of each other, more than {_MOST_NESTED} deep; mix fewer")
        return self._replace(progress=False, inside=(*self.inside, mixture))

    def count_mixed(self, mixture: Path | FilePart) -> None:
        """Refuse a model more than mixtures may have."""
        self.mixed.append(mixture)
        if len(self.mixed) > _MOST_MIXED:
            raise ModelFileError(f"{mixture}: a mixture of more than {_MOST_MIXED} models; mix fewer")


def load(
    path: str | PathLike[str], *, verify: bool | None = None, memory: str | int | None = None, progress: bool = False
) -> AnyModel:
    """Open a model of any kind: gapgram's own, a mixture, an ARPA file, compressed or not, or a binary of KenLM's.

    path: a file; the name of a model that a package has, such as `en`; `hf://OWNER/NAME`, a repository of Hugging
        Face's hub; or `https://…#sha256=…`, an address and what the SHA-256 of the file must be.

    gapgram's own and KenLM's are mapped, so that this takes no longer for a large one; ARPA files are read.

    verify: of a model of gapgram, whether all of it is compared with its checksums; by default large tables are not.
    memory: of a model of gapgram, bytes, or a size such as "4G", that reading the file from end to end, as saving it in
        another layout does, may take beside the program itself. What queries read stays mapped.
    progress: show how far an ARPA file is read.
    """
    file = located(path, progress=progress)
    return _kind_of(file).open(file, _Options(verify, _most_resident(memory), progress, []))


def load_own(
    path: str | PathLike[str], *, wanted_by: str, verify: bool | None = None, memory: str | int | None = None
) -> Model:
    """As `load`, where only a model of gapgram's own will do; another kind is refused before it is read."""
    file = located(path)
    kind = _kind_of(file)
    if kind is not _OWN:
        raise UsageError(f"{path}: {kind.name}: {wanted_by} needs a model that gapgram train has written")
    return Model.load(file, verify=verify, most_resident=_most_resident(memory))


def _most_resident(memory: str | int | None) -> int | None:
    return None if memory is None else MemoryLimit.of(memory).most_resident


def _open_own(path: Path | FilePart, options: _Options) -> Model:
    parts = model_file.read(path, verify=options.verify, most_resident=options.most_resident)
    return Model(parts, None if isinstance(path, FilePart) else path.resolve())


def _open_backoff(path: Path | FilePart, options: _Options) -> BackoffModel:
    from gapgram.models.backoff import read_backoff

    return read_backoff(path, verify=options.verify)


def _open_kenlm_binary(path: Path, options: _Options) -> KenlmModel:
    from gapgram.models.kenlm_binary.model import KenlmModel

    return KenlmModel(path)


def _open_arpa(path: Path, options: _Options) -> BackoffModel:
    from gapgram.models.arpa.reading import read_arpa

    return read_arpa(path, progress=options.progress)


def _open_mixture(path: Path, options: _Options) -> Mixture:
    from gapgram.models.mixture import Mixture, read_entries

    if path.resolve() in options.inside:
        raise ModelFileError(f"{path}: a mixture that is a part of itself; make it again with gapgram mix")
    inner = options.within(path.resolve())
    entries = read_entries(path)
    models = [_open_mixed(path, entry.path, entry.signature, inner) for entry in entries]
    return Mixture(models, [entry.weight for entry in entries], path.resolve())


def _open_mixed(mixture: Path, name: str, signature: str, options: _Options) -> AnyModel:
    """A model of a mixture; it must be the one that was mixed."""
    options.count_mixed(mixture)
    file = mixture.parent / name
    model = _kind_of(file).open(file, options)
    if not is_same_model(str(model.signature), signature):
        raise ModelFileError(f"{mixture}: {name} is another model than when the mixture was made; mix again")
    return model


def _open_whole_mixture(path: Path | FilePart, options: _Options) -> Mixture:
    """A mixture with its models in one file."""
    from gapgram.models.mixture import Mixture, read_mixture

    stored = read_mixture(path, verify=options.verify)
    inner = options.within(path.path if isinstance(path, FilePart) else path.resolve())
    models = [_open_part(part, head, inner) for part, head in zip(stored.parts, stored.first_bytes, strict=True)]
    with odd_files_refused(path):
        return Mixture(models, stored.weights, None if isinstance(path, FilePart) else path.resolve(), stored.names)


def _open_part(part: FilePart, head: bytes, options: _Options) -> AnyModel:
    """A model inside the file of a mixture: of gapgram's own, a backoff model, or another mixture."""
    options.count_mixed(part)
    for kind in _PART_KINDS:
        if head.startswith(kind.first_bytes):
            return kind.open(part, options)
    return _open_own(part, options)  # which says what is wrong with it


class _Kind(NamedTuple):
    """A kind of model: what its files begin with, and how they are opened, some also inside of another file."""

    name: str
    first_bytes: bytes
    open: Callable[[Any, _Options], AnyModel]


_PART_KINDS = (
    _Kind("a backoff model of gapgram", first_bytes(BACKOFF), _open_backoff),
    _Kind("a mixture", first_bytes(MIXTURE), _open_whole_mixture),
)
_OWN = _Kind("a model of gapgram", b"gapgram", _open_own)
_ARPA = _Kind("an ARPA file", b"\\data\\", _open_arpa)
_KINDS = (
    *_PART_KINDS,
    _OWN,
    _Kind("a mixture", b"{", _open_mixture),
    _Kind("a binary file of KenLM", KENLM, _open_kenlm_binary),
    _ARPA,
)


def _kind_of(path: Path) -> _Kind:
    """The kind of a model file; what cannot be read, or is empty, is left to `Model.load` to complain about."""
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise ModelFileError(f"{path}: a pipe or a device, not a model file")
        with path.open("rb") as file:
            head = file.read(_FIRST_BYTES)
    except ModelFileError:
        raise
    except (OSError, ValueError):  # also a name that no file can have
        return _OWN
    if not head:
        return _OWN
    for kind in _KINDS:
        if head.startswith(kind.first_bytes):
            return kind
    # Compressed, or with an introduction: a line that begins the data is there, but not at once.
    if _DATA_LINE.search(read_head(path, _MAX_INTRODUCTION_BYTES)):
        return _ARPA
    raise ModelFileError(
        f"{path}: not a model: expected a file that gapgram train, mix or convert has written, an ARPA file, "
        "or a binary file of KenLM; if it is the text, MODEL comes before it"
    )
