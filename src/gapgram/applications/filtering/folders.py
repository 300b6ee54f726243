"""Folders of files, and patterns of names, filtered by workers, a file each at a time."""

from __future__ import annotations

import glob
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from gapgram.applications.filtering.choice import Choice
from gapgram.applications.filtering.run import FilterOptions, filter_records
from gapgram.applications.filtering.summary import FilterSummary, FilterTally
from gapgram.errors import TextError, UsageError
from gapgram.models.open import load
from gapgram.queries.language_model import LanguageModel
from gapgram.system.parallel import checked_threads


class _Task(NamedTuple):
    """What a worker does: models by their paths, so that all workers map the same files."""

    models: tuple[str, ...]
    against: str | None
    source: Path
    target: Path
    choice: Choice
    options: FilterOptions


def files_of(source: str) -> list[Path] | None:
    """The files of a folder, at any depth, or of a pattern such as `web/*.jsonl.gz`; None where it is one file.

    Hidden files are left out.
    """
    path = Path(source)
    if path.is_dir():
        found = [one for one in sorted(path.rglob("*")) if one.is_file()]
        found = [one for one in found if not any(part.startswith(".") for part in one.relative_to(path).parts)]
    elif glob.has_magic(source) and not path.exists():
        found = [Path(one) for one in sorted(glob.glob(source, recursive=True)) if Path(one).is_file()]
    else:
        return None
    if not found:
        raise TextError(f"{source}: no files")
    return found


def filter_files(
    models: Sequence[str],
    sources: Sequence[Path],
    output: str | Path,
    choice: Choice = Choice(),  # noqa: B008 - frozen
    *,
    against: str | None = None,
    options: FilterOptions = FilterOptions(),  # noqa: B008
    workers: int | None = None,
    told: Callable[[str], None] = lambda _: None,
) -> FilterSummary:
    """As `filter_records`, for each file, into files of the same names in the folder `output`.

    options.resume leaves out files that are there already: each appears when it is whole. told: takes a line a file.
    """
    if options.calibrate is None and (choice.shares or choice.buckets is not None):
        raise UsageError("shares of several files: name records to find their limits on (--calibrate FILE)")
    folder, options_of_one = Path(output), replace(options, resume=False)
    root = Path(os.path.commonpath([path.absolute().parent for path in sources]))
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{output}: several files need a folder to be written to, not a file")
    targets = {path: folder / path.absolute().relative_to(root) for path in sources}
    tasks = [
        _Task(tuple(models), against, path, target, choice, options_of_one)
        for path, target in targets.items()
        if not (options.resume and target.exists())
    ]
    if left := len(sources) - len(tasks):
        told(f"{left:,} files are there already")
    for task in tasks:
        task.target.parent.mkdir(parents=True, exist_ok=True)
    summaries = []
    for task, summary in zip(tasks, _summaries(tasks, checked_threads(workers)), strict=True):
        kept = ", ".join(f"{name} {n:,}" for name, n in summary.kept.items())
        told(f"{task.source}: {summary.tally.records:,} records; {kept}")
        summaries.append(summary)
    if not summaries:
        raise UsageError(f"{output}: all files are there already")
    return _summed(summaries)


def _summaries(tasks: Sequence[_Task], workers: int) -> Iterator[FilterSummary]:
    if workers == 1 or len(tasks) < 2:
        yield from map(_done, tasks)
        return
    with ProcessPoolExecutor(min(workers, len(tasks)), multiprocessing.get_context("spawn")) as pool:
        try:
            yield from pool.map(_done, tasks)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


@lru_cache(8)
def _opened(path: str) -> LanguageModel:
    return load(path)


def _done(task: _Task) -> FilterSummary:
    against = None if task.against is None else _opened(task.against)
    models = [_opened(path) for path in task.models]
    return filter_records(
        models, task.source, task.target, task.choice, against=against, options=task.options, threads=1
    )


def _summed(summaries: Sequence[FilterSummary]) -> FilterSummary:
    first, tally = summaries[0], FilterTally([0] * len(summaries[0].tally.kept))
    for summary in summaries:
        tally.add(summary.tally)
    kept = dict(zip(first.kept, tally.kept, strict=True))
    return replace(first, tally=tally, kept=kept, seconds=sum(summary.seconds for summary in summaries))
