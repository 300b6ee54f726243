"""Files of records filtered on all cores: order kept, memory flat, interrupted runs go on where they stopped."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from gapgram.applications.filtering.choice import DIFFERENCE, MEASURE, Choice, figure_names
from gapgram.applications.filtering.documents import DocumentScorer
from gapgram.applications.filtering.lines import COMPRESSIONS, JsonLines, PlainLines
from gapgram.applications.filtering.outputs import GrowingFile, Output, target_of
from gapgram.applications.filtering.parquet import ParquetParts, ParquetRows, is_parquet
from gapgram.applications.filtering.pieces import DOCUMENT, ERROR, LINE, SKIP, Done, Records, Work, percentiles
from gapgram.applications.filtering.summary import FilterSummary, FilterTally
from gapgram.errors import UsageError
from gapgram.queries.language_model import LanguageModel
from gapgram.system.atomic_file import check_writable, short_name
from gapgram.system.parallel import parallel_map
from gapgram.system.progress import progress_bar
from gapgram.system.work_folder import WorkFolder, WorkSession, work_session
from gapgram.text.files import read_head

NOTE_BYTES = 1 << 26  # of records, after which it is noted how far a run has come
_AT = "position"
_JSON_NAMES = [[".jsonl"], [".json"], [".ndjson"]]


@dataclass(frozen=True)
class FilterOptions:
    """How records are read and written.

    field: of a record's text, in JSON lines and Parquet files. by: `document` or `line`.
    figures: whether they are written into records; None writes them, but not before chosen lines of plain text.
    normalise: `ccnet` for models of such text. prefix: of the names of figures. broken: `error` or `skip`.
    calibrate: a file of records on which percentiles are found; without it, on a sample of the input.
    resume: go on where an interrupted run of the same input and options stopped.
    """

    field: str = "text"
    by: str = DOCUMENT
    figures: bool | None = None
    normalise: str | None = None
    prefix: str = ""
    broken: str = ERROR
    calibrate: str | None = None
    resume: bool = False

    def __post_init__(self) -> None:
        for name, value, allowed in (("by", self.by, (DOCUMENT, LINE)), ("broken", self.broken, (ERROR, SKIP))):
            if value not in allowed:
                raise UsageError(f"{name} {value!r}: expected {' or '.join(allowed)}")


def filter_records(
    models: LanguageModel | Sequence[LanguageModel],
    source: str | Path,
    output: str | Path,
    choice: Choice = Choice(),  # noqa: B008 - frozen
    *,
    against: LanguageModel | None = None,
    options: FilterOptions = FilterOptions(),
    threads: int | None = None,
    progress: bool = False,
) -> FilterSummary:
    """Score the records of a file, and write those that are chosen, in their order, with their figures.

    source: JSON lines, plain text (both compressed or not) or Parquet; known by their content. `-` is standard input.
    output: of the same kind, compressed as its name says; with buckets, three files. `-` is standard output.
    models: records are chosen by the first one; figures of the others are written too.
    against: another model; records are chosen by the difference to it.
    """
    several = [models] if isinstance(models, LanguageModel) else list(models)
    begun = time.perf_counter()
    records = records_of(source, options, suffix=Path(output).suffix)
    paths = [model.path for model in [*several, *([against] if against else [])]]
    _check_output([source, options.calibrate, *paths], output, choice, records)
    work = _work(several, against, choice, options, records)
    identity = _identity(several, against, source, choice, options)
    with _session(source, output, options.resume) as session:
        resumed = session.resume(identity) if options.resume and session is not None else None
        at = resumed.done(_AT) if resumed is not None else None
        folder = session.begin(identity) if session is not None else None
        percentiles = _percentiles(work, records, source, options, at, threads, progress)
        work = replace(work, percentiles=percentiles)
        with closing(_Outputs(folder, output, records, work, at)) as outputs:
            tally = _run(records, work, outputs, at, percentiles, threads, progress)
    signatures = tuple(str(model.signature) for model in [*several, *([against] if against else [])])
    kept = dict(zip(choice.names, tally.kept, strict=True))
    measure, seconds = MEASURE if against is None else DIFFERENCE, time.perf_counter() - begun
    return FilterSummary(tally, kept, percentiles, choice.as_dict(), measure, signatures, seconds)


def records_of(source: str | Path, options: FilterOptions, *, suffix: str = "") -> Records:
    """The records of a file, by its content: Parquet, JSON objects, or lines of text."""
    if is_parquet(source):
        return ParquetRows(source, options.field)
    names = [suffix for suffix in Path(source).suffixes if suffix not in COMPRESSIONS]
    as_json = str(source) == "-" or names[-1:] in _JSON_NAMES or read_head(source, 4096).lstrip()[:1] == b"{"
    return (JsonLines if as_json else PlainLines)(source, suffix)


def _check_output(
    inputs: Sequence[str | Path | None], output: str | Path, choice: Choice, records: Records
) -> None:
    if str(output) == "-":
        if choice.buckets is not None or isinstance(records, ParquetRows):
            raise UsageError("standard output: buckets and Parquet need files; name an output (-o FILE)")
        return
    for name in choice.names:
        check_writable(target_of(Path(output), name, split=choice.buckets is not None), filter(None, inputs))
    if (Path(output).suffix == ".parquet") != isinstance(records, ParquetRows):
        raise UsageError(f"{output}: input and output must both be Parquet files, or both lines")


def _work(
    models: Sequence[LanguageModel], against: LanguageModel | None, choice: Choice, options: FilterOptions,
    records: Records,
) -> Work:  # fmt: skip
    if not models:
        raise UsageError("filter: name at least one model")
    if choice.max_difference is not None and against is None:
        raise UsageError("a limit of the difference needs another model: --against BAD --max-difference X")
    scorers = tuple(DocumentScorer(model, normalise=options.normalise) for model in models)
    other = DocumentScorer(against, normalise=options.normalise) if against is not None else None
    figures = options.figures
    if figures is None:
        figures = not (isinstance(records, PlainLines) and choice.chooses)
    others, buckets = _names(models[1:]), choice.buckets is not None
    names = figure_names(others, against=against is not None, buckets=buckets, prefix=options.prefix)
    if figures and isinstance(records, ParquetRows):
        records.check_names(names)
    return Work(scorers, other, choice, {}, names, options.prefix, options.field, options.by, figures, options.broken)


def _names(models: Sequence[LanguageModel]) -> tuple[str, ...]:
    """What further models are called: by their files, or their numbers."""
    names = [model.path.stem if model.path is not None else str(i) for i, model in enumerate(models, 2)]
    return tuple(f"{name}_{i}" if names.count(name) > 1 else name for i, name in enumerate(names, 2))


def _identity(
    models: Sequence[LanguageModel], against: LanguageModel | None, source: str | Path, choice: Choice,
    options: FilterOptions,
) -> dict[str, Any]:  # fmt: skip
    """What an interrupted run must have had for another to go on with it."""
    status = os.stat(source) if os.path.isfile(source) else None
    return {
        "input": [str(source), status.st_size, status.st_mtime_ns] if status else str(source),
        "models": [str(model.signature) for model in [*models, *([against] if against else [])]],
        "choice": choice.as_dict(),
        "options": {**asdict(options), "resume": True},
    }


def _session(
    source: str | Path, output: str | Path, resume: bool
) -> AbstractContextManager[WorkSession | None]:
    """The folder that outputs grow in, beside the output; none for standard output."""
    if str(output) == "-":
        if resume:
            raise UsageError("--resume: standard output cannot be gone on with; name an output (-o FILE)")
        return nullcontext()
    target = Path(os.path.realpath(output))
    path = target.with_name(f".{short_name(target.name)}.filter")
    return work_session(path, target, lasting=str(source) != "-", resume=resume)


def _percentiles(
    work: Work, records: Records, source: str | Path, options: FilterOptions, at: Any, threads: int | None,
    progress: bool,
) -> dict[float, float]:  # fmt: skip
    shares = work.choice.shares
    if not shares:
        return {}
    if at is not None:
        return dict(zip(shares, at["percentiles"], strict=True))
    sampled = options.calibrate or source
    if str(sampled) == "-":
        raise UsageError("standard input is read once: name records to find percentiles on (--calibrate FILE)")
    drawn = records_of(sampled, options) if options.calibrate else records
    with progress_bar("sampling", total=os.path.getsize(sampled), unit="B", progress=progress) as advance:
        return percentiles(drawn, work, shares, threads=threads, on_bytes=advance)


class _Outputs:
    """All outputs of a run, and how far it has come."""

    def __init__(self, folder: WorkFolder | None, output: str | Path, records: Records, work: Work, at: Any) -> None:
        self._folder = folder
        names, split = work.choice.names, work.choice.buckets is not None
        marks = at["marks"] if at else [None] * len(names)
        self.files: list[Output] = []
        for name, mark in zip(names, marks, strict=True):
            target = target_of(Path(output), name, split=split)
            if folder is None:
                self.files.append(Output())
            elif isinstance(records, ParquetRows):
                self.files.append(ParquetParts(folder.path, name, target, mark, records.schema(work)))
            else:
                self.files.append(GrowingFile(folder.path / name, target, mark))

    def append(self, done: Done) -> None:
        """Add what a piece gave to each output."""
        for file, payload in zip(self.files, done.payloads, strict=True):
            if payload is not None:
                file.append(payload)

    def note(self, end: Any, tally: FilterTally, percentiles: dict[float, float]) -> None:
        """Note how far the run has come; all that was added before is on disk."""
        marks = [file.mark() for file in self.files]
        if self._folder is not None:
            said = {"end": end, "marks": marks, "tally": asdict(tally), "percentiles": list(percentiles.values())}
            self._folder.note(_AT, said)

    def finish(self) -> None:
        """Put all files in their places."""
        for file in self.files:
            file.finish()

    def close(self) -> None:
        """Leave all files as they are."""
        for file in self.files:
            file.close()


def _run(
    records: Records, work: Work, outputs: _Outputs, at: Any, percentiles: dict[float, float], threads: int | None,
    progress: bool,
) -> FilterTally:  # fmt: skip
    tally = FilterTally(**at["tally"]) if at else FilterTally([0] * len(work.choice.names))
    begin, noted_bytes = at["end"] if at else None, 0
    total = os.path.getsize(records.path) if os.path.isfile(records.path) else None
    with progress_bar("filtering", total=total, unit="B", progress=progress) as advance:
        on_bytes: Callable[[int], None] = advance
        process: Callable[[Any], Done] = lambda piece: records.process(piece, work)  # noqa: E731
        pieces = records.pieces(begin, on_bytes)
        for done in parallel_map(process, pieces, threads, always_beside=True):
            outputs.append(done)
            tally.add(done.tally)
            noted_bytes += done.size_bytes
            if noted_bytes >= NOTE_BYTES:
                outputs.note(done.end, tally, percentiles)
                noted_bytes = 0
    outputs.finish()
    return tally
