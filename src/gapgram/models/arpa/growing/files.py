"""Grown backoff models as ARPA files: one, or several of different sizes from one growth."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gapgram.arguments import checked_path
from gapgram.errors import UsageError
from gapgram.models.arpa.growing.grow import Measure, as_model, checked_to_grow, grown_fit, measure_on, within
from gapgram.models.arpa.growing.limits import Limit, limit_of
from gapgram.models.arpa.writing import write_arpa
from gapgram.models.backoff import BackoffModel
from gapgram.models.grams import single_words, with_ends
from gapgram.models.model import Model
from gapgram.models.nemo import nemo_words
from gapgram.queries.language_model import LanguageModel
from gapgram.system.atomic_file import check_writable
from gapgram.system.memory import show_size


def grow_arpa(  # noqa: PLR0913 - options, by keyword
    model: LanguageModel,
    path: str | Path,
    *,
    grams: str | int | None = None,
    size: str | int | None = None,
    order: int | None = None,
    encoding: str = "words",
    held_out: str | Path | None = None,
    threads: int | None = None,
    progress: bool = False,
) -> BackoffModel:
    """Write an ARPA file that is as near as can be to a model with gaps; compressed where its name ends in `.gz`.

    grams: number of grams to grow, such as 1000000, or 4x: 4 times those of a modified Kneser-Ney model of the same
        text; by default 1x.
    size: size of the grown file at most, before it is compressed, such as 200MB.
    order: length of the longest grown grams; by default that of the model.
    encoding: write words as they are (`words`), or tokens as NeMo's decoders expect them (`nemo`): the character of the
        token's id + 100, without grams of `<unk>`.
    held_out: text that was not trained on: where half as many grams are better on it, these are taken.
    """
    own, longest = checked_to_grow(model, order)
    wanted = [_Wanted(checked_path("file to write", path), limit_of(own, grams, size, longest))]
    words, measure = _words(own, encoding), measure_on(own, held_out)
    ((_, made),) = _written(own, _checked(own, wanted), longest, words, measure, threads, progress)
    return made


def grow_arpas(  # noqa: PLR0913 - options, by keyword
    model: LanguageModel,
    path: str | Path,
    *,
    grams: Sequence[str | int] = (),
    sizes: Sequence[str | int] = (),
    order: int | None = None,
    encoding: str = "words",
    held_out: str | Path | None = None,
    threads: int | None = None,
    progress: bool = False,
) -> Iterator[tuple[Path, BackoffModel]]:
    """Write ARPA files of several sizes from one growth, the largest first; each is given with its path once written.

    The size becomes part of the name: `lm.arpa` is `lm.4x.arpa`. Options are those of `grow_arpa`.
    """
    own, longest = checked_to_grow(model, order)
    target = checked_path("file to write", path)
    asked = [(n, limit_of(own, n, None, longest)) for n in grams]
    asked += [(n, limit_of(own, None, n, longest)) for n in sizes]
    wanted = {name: _Wanted(named(target, name), limit) for name, limit in asked}
    if len(wanted) < len(asked) or not asked:
        raise UsageError(f"sizes {', '.join(str(name) for name, _ in asked)}: expected one or more, each once")
    checked = _checked(own, sorted(wanted.values(), key=lambda one: -one.limit.grams))
    words, measure = _words(own, encoding), measure_on(own, held_out)
    return _written(own, checked, longest, words, measure, threads, progress)


def named(path: Path, size: str | int) -> Path:
    """The name of the file of a size.

    >>> [named(Path(name), "4x").name for name in ("lm.arpa", "my.lm.arpa.gz", "lm")]
    ['lm.4x.arpa', 'my.lm.4x.arpa.gz', 'lm.4x']
    """
    name, ends = path.name, ""
    for end in (".gz", ".arpa"):
        if name.endswith(end):
            name, ends = name.removesuffix(end), end + ends
    return path.with_name(f"{name}.{size}{ends}")


class _Wanted(NamedTuple):
    """A file to write, and how large it may be."""

    path: Path
    limit: Limit


def _checked(model: Model, wanted: list[_Wanted]) -> list[_Wanted]:
    """Files that can be written, and that the disk has room for."""
    n_bytes = 0
    for path, limit in wanted:
        check_writable(path, [model.path] if model.path else [])
        n_bytes += limit.bytes if path.suffix != ".gz" else 0
    free = shutil.disk_usage(wanted[0].path.resolve().parent).free
    if n_bytes > free:
        what = "the file" if len(wanted) == 1 else f"the {len(wanted)} files"
        raise UsageError(
            f"{wanted[0].path}: {what} will have about {show_size(n_bytes)}, and the disk has {show_size(free)} left: "
            "ask for less (--size, --grams), or name a place on another disk"
        )
    return wanted


def _words(model: Model, encoding: str) -> list[str] | None:
    """What to write for each word; None for the words themselves."""
    if encoding not in ("words", "nemo"):
        raise UsageError(f"encoding {encoding!r}: expected words or nemo")
    zeros = np.zeros(len(model.vocabulary))
    alone = BackoffModel(model.vocabulary, with_ends(single_words(zeros, zeros)), "")
    return nemo_words(model, alone) if encoding == "nemo" else None


def _written(
    model: Model, wanted: list[_Wanted], order: int, words: list[str] | None, measure: Measure | None,
    threads: int | None, progress: bool,
) -> Iterator[tuple[Path, BackoffModel]]:  # fmt: skip
    """Grow for the first file, which is the largest, and write all."""
    fit = grown_fit(model, wanted[0].limit, order, threads, measure=measure, progress=progress)
    for path, limit in wanted:
        fit = within(fit, limit, measure)
        made = as_model(model, fit if words is None else fit.only(fit.without_unknown()))
        write_arpa(made, path, words=words)
        yield path, made
