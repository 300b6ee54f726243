"""Folders of files, and patterns of names, filtered by workers, a file each at a time."""

from __future__ import annotations

import glob
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path

from gapgram.applications.filtering.choice import Choice
from gapgram.applications.filtering.run import FilterOptions, filter_records
from gapgram.applications.filtering.summary import FilterSummary, FilterTally
from gapgram.errors import TextError, UsageError
from gapgram.models.open import load
from gapgram.queries.language_model import LanguageModel
from gapgram.system.parallel import checked_threads


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
    tasks = [(path, target) for path, target in targets.items() if not (options.resume and target.exists())]
    if left := len(sources) - len(tasks):
        told(f"{left:,} files are there already")
    for _, target in tasks:
        target.parent.mkdir(parents=True, exist_ok=True)
    work, summaries = partial(_filtered, tuple(models), against, choice, options_of_one), []
    for (source, _), summary in zip(tasks, _in_workers(work, tasks, checked_threads(workers)), strict=True):
        kept = ", ".join(f"{name} {n:,}" for name, n in summary.kept.items())
        told(f"{source}: {summary.tally.records:,} records; {kept}")
        summaries.append(summary)
    if not summaries:
        raise UsageError(f"{output}: all files are there already")
    first, total = summaries[0], FilterTally([0] * len(summaries[0].tally.kept))
    for summary in summaries:
        total.add(summary.tally)
    seconds = sum(summary.seconds for summary in summaries)
    return replace(first, tally=total, kept=dict(zip(first.kept, total.kept, strict=True)), seconds=seconds)


def _in_workers(
    work: Callable[[tuple[Path, Path]], FilterSummary], tasks: Sequence[tuple[Path, Path]], workers: int
) -> Iterator[FilterSummary]:
    if workers == 1 or len(tasks) < 2:
        yield from map(work, tasks)
        return
    with ProcessPoolExecutor(min(workers, len(tasks)), multiprocessing.get_context("spawn")) as pool:
        try:
            yield from pool.map(work, tasks)
        except BrokenProcessPool:
            raise TextError("a worker died, perhaps for lack of memory: try fewer (--threads), and --resume") from None
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


@lru_cache(8)
def _opened(path: str) -> LanguageModel:
    return load(path)


def _filtered(
    models: tuple[str, ...], against: str | None, choice: Choice, options: FilterOptions, task: tuple[Path, Path]
) -> FilterSummary:
    """What a worker does: models come by their paths, so that all workers map the same files."""
    other = None if against is None else _opened(against)
    return filter_records([_opened(path) for path in models], *task, choice, against=other, options=options, threads=1)
