"""Faults: the n-th write, sync, rename or allocation fails, for every n, in all that writes a file.

    python -m fuzz.faults             every n
    python -m fuzz.faults --step 3    less often as n grows

Whatever fails, the file under the output's name is the old one or the new one, the error is one of gapgram's, and the
next run removes what was left.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from tests.support.faults import Fault

import gapgram
from fuzz.seeds import made_lines
from gapgram.errors import DiscountWarning, GapgramError
from gapgram.models.arpa.writing import as_backoff, write_arpa
from gapgram.models.backoff import write_backoff
from gapgram.preparation.conversion import Options
from gapgram.preparation.plain import prepare_text

OLD = b"the old file\n"
_ALLOCATORS = ("empty", "zeros", "full", "concatenate")


class AllocationFault:
    """Lets the n-th array that NumPy makes, outside of kernels, find no memory."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, n: int) -> None:
        self._monkeypatch, self._left, self.met = monkeypatch, n, ""

    def __enter__(self) -> AllocationFault:
        self._patched = self._monkeypatch.context()
        patch = self._patched.__enter__()
        for name in _ALLOCATORS:
            patch.setattr(np, name, self._watched(name, getattr(np, name)))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        self._patched.__exit__(None, None, None)
        return isinstance(error, MemoryError | GapgramError)

    def _watched(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*arguments: Any, **options: Any) -> Any:
            self._left -= 1
            if self._left == 0:
                self.met = name
                raise MemoryError
            return call(*arguments, **options)

        return watched


def jobs(folder: Path) -> dict[str, Callable[[Path], object]]:
    """All that writes a model, by name; each takes the path of its output."""
    text, lines = folder / "text", made_lines(40)
    text.write_text("\n".join([*lines, ""]), "utf-8")
    model = gapgram.train(sentences=lines, order=3, output=folder / "model", classes="none")
    chain = gapgram.train(sentences=lines, order=3, model="mkn", output=folder / "chain")
    backoff = as_backoff(chain)
    train: dict[str, Any] = {"order": 3, "model": "mkn", "threads": 1}
    return {
        "train": lambda path: gapgram.train(text, output=path, **train),
        "train --memory": lambda path: gapgram.train(text, output=path, memory=20_000, **train),
        "train --layout": lambda path: gapgram.train(text, output=path, layout="compact", **train),
        "train --prune": lambda path: gapgram.train(text, output=path, prune="0,0,1", **train),
        "train glm": lambda path: gapgram.train(text, output=path, order=3, classes=3, threads=1),
        "save": model.save,
        "convert": lambda path: model.with_layout("compact", output=path),
        "quantise": lambda path: model.quantised(3, output=path),
        "prune": lambda path: model.pruned(counts="0,1,1", output=path),
        "counts": model.counts.save,
        "arpa": lambda path: write_arpa(backoff, path),
        "backoff": lambda path: write_backoff(backoff, path),
        "mixture": lambda path: gapgram.Mixture([model, chain], [0.5, 0.5]).save(path, whole=True),
        "prepare": lambda path: prepare_text([text], path, "en", Options(processes=1)),
    }


def steps(step: float) -> Iterator[int]:
    """1, 2, 3 … or, with a step above 1, less and less often."""
    n = 1.0
    while True:
        yield int(n)
        n = max(n + 1, n * step)


def tried(job: Callable[[Path], object], folder: Path, kinds: tuple[Any, ...], step: float) -> int:
    """Let a job fail at one operation after the other; returns how often. An `AssertionError` says what is wrong."""
    output, before = folder / "output", {path.name for path in folder.iterdir()}
    job(output)
    new, count = output.read_bytes(), 0
    for kind in kinds:
        for n in steps(step):
            output.write_bytes(OLD)
            fault = kind(pytest.MonkeyPatch(), n)
            with fault:
                job(output)
            assert output.read_bytes() in (OLD, new), f"another file after {fault.met} {n}"
            if not fault.met:
                break
            count += 1
        job(output)
        assert output.read_bytes() == new
        left = {path.name for path in folder.iterdir()} - before - {"output"}
        assert not left, f"left behind: {left}"
    return count


@click.command()
@click.option("--step", default=1.0, show_default=True, help="Factor from one n to the next.")
def main(step: float) -> None:
    """Let everything fail at every place."""
    warnings.simplefilter("ignore", DiscountWarning)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name, job in jobs(folder).items():
            print(f"{name}: {tried(job, folder, (Fault, AllocationFault), step):,} faults, no other file", flush=True)


if __name__ == "__main__":
    main()
