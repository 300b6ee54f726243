"""What all sources share: documents in, sentences out, counted; malformed ones refused or skipped."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import IO, TypeVar

from gapgram.errors import TextError, UsageError, to_install
from gapgram.preparation.languages import Language
from gapgram.preparation.output import text_outputs
from gapgram.preparation.records import Malformed, Record
from gapgram.preparation.sentences import lines_of
from gapgram.system.parallel import checked_threads, results_in_order
from gapgram.system.progress import progress_bar
from gapgram.text.files import bytes_on_disk, open_raw

_BATCH_BYTES = 1 << 19
BATCH_DOCUMENTS = 256
_LIBRARIES = ("sentencex", "mwparserfromhell")

Document = TypeVar("Document", bound=Record)


@dataclass(frozen=True)
class Options:
    """How to prepare text.

    malformed: `error` (stop, keep the documents before it), or `skip` (count it and go on).
    processes: how many to use; all cores if not given. The text is the same for any number.
    progress: show a progress bar.
    """

    malformed: str = "error"
    processes: int | None = None
    progress: bool = False

    def __post_init__(self) -> None:
        if self.malformed not in ("error", "skip"):
            raise UsageError(f"malformed documents: {self.malformed!r}; expected error or skip")


@dataclass(frozen=True)
class Converted:
    """What a document became: lines that end in a newline. One that is no article is left out."""

    text: bytes
    sentences: int
    words: int
    left_out: bool = False


@dataclass(frozen=True)
class Prepared:
    """What was read and written; `left_out` are documents of other kinds (redirects, talk pages …)."""

    language: str
    documents: int
    left_out: int
    malformed: int
    sentences: int
    words: int
    first_malformed: str = ""

    def signature(self) -> dict[str, str | int]:
        """The figures, and the versions of what they depend on."""
        return asdict(self) | {name: _version(name) for name in _LIBRARIES}


Outcome = Converted | Malformed
NOT_AN_ARTICLE = Converted(b"", 0, 0, left_out=True)


def converted(paragraphs: Iterable[str], language: Language) -> Converted:
    """The sentences of a document."""
    lines = lines_of(paragraphs, language)
    text = "".join(f"{line}\n" for line in lines)
    return Converted(text.encode("utf-8", "replace"), len(lines), sum(line.count(" ") + 1 for line in lines))


def prepare(
    paths: list[str | Path],
    output: str | Path,
    language: Language,
    *,
    read: Callable[[str | Path, Callable[[int], None]], Iterator[Document | Malformed]],
    convert: Callable[[Document], Outcome],
    options: Options,
) -> Prepared:
    """Read documents from files in order, convert them on all cores, write their sentences."""
    need("sentencex")
    for path in paths:
        if str(path) != "-":
            open_raw(path).close()
    with text_outputs([output], paths) as (target,):
        with progress_bar("preparing", total=bytes_on_disk(paths), unit="B", progress=options.progress) as advance:
            documents = (item for path in paths for item in read(path, advance))
            results = in_order(partial(_convert_batch, convert), _batches(documents), options.processes)
            outcomes = (outcome for batch in results for outcome in batch)
            prepared, failure = _write(outcomes, target, language.code, options)
        if failure is not None and not prepared.documents:
            raise TextError(f"{failure}; there is no good document before it (--malformed skip goes on)")
        if not (prepared.documents or prepared.left_out or prepared.malformed):
            raise TextError(f"{', '.join(map(str, paths))}: empty, nothing to prepare")
    if failure is not None:
        kept = f"the {prepared.documents:,} good documents before it are in {output}"
        raise TextError(f"{failure}; {kept} (--malformed skip goes on)")
    return prepared


def _write(
    outcomes: Iterable[Outcome], target: IO[bytes], language: str, options: Options
) -> tuple[Prepared, Malformed | None]:
    """Write until the end, or until the first malformed document if that is an error."""
    documents = left_out = malformed = sentences = words = 0
    first: Malformed | None = None
    failure: Malformed | None = None
    for outcome in outcomes:
        if isinstance(outcome, Malformed):
            malformed, first = malformed + 1, first or outcome
            if options.malformed == "error":
                failure = outcome
                break
        else:
            target.write(outcome.text)
            documents, left_out = documents + (not outcome.left_out), left_out + outcome.left_out
            sentences, words = sentences + outcome.sentences, words + outcome.words
    said = "" if first is None else str(first)
    return Prepared(language, documents, left_out, malformed, sentences, words, said), failure


def _batches(documents: Iterable[Document | Malformed]) -> Iterator[list[Document | Malformed]]:
    """Documents in order, about half a megabyte together."""
    batch: list[Document | Malformed] = []
    size = 0
    for document in documents:
        batch.append(document)
        size += len(document.data) if isinstance(document, Record) else 0
        if size >= _BATCH_BYTES or len(batch) >= BATCH_DOCUMENTS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def need(package: str) -> None:
    """Refuse early where a package of the extra is not installed."""
    if find_spec(package) is None:
        raise UsageError(f"{package} is not installed: {to_install('prepare')}")


def _convert_batch(convert: Callable[[Document], Outcome], batch: list[Document | Malformed]) -> list[Outcome]:
    return [item if isinstance(item, Malformed) else convert(item) for item in batch]


def _version(library: str) -> str:
    try:
        return version(library)
    except ImportError:
        return "not installed"


Work = TypeVar("Work")
Result = TypeVar("Result")


def in_order(function: Callable[[Work], Result], batches: Iterable[Work], processes: int | None) -> Iterator[Result]:
    """The results of a function for each batch, in the order of the batches.

    At most four batches a process wait, so memory does not grow with the input. The function and
    the batches must be picklable; with one process nothing is started.

    >>> list(in_order(abs, [-1, -2], 1))
    [1, 2]
    """
    processes = checked_threads(None) if processes is None else processes  # all cores
    if processes < 1:
        raise UsageError(f"processes {processes}: expected 1 or more")
    if processes == 1:
        yield from map(function, batches)
        return
    pool = ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), _start_worker)
    try:
        yield from results_in_order(pool, function, batches, 4 * processes)
    except BrokenProcessPool:
        raise TextError("a worker process died, perhaps for lack of memory: try fewer processes") from None
    finally:
        pool.shutdown(cancel_futures=True)


def _start_worker() -> None:
    """Leave interrupts to the parent, and end when it is gone, however it went."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
