"""One training run, in the same steps for every engine.

    read        the text, in memory, into files, or with Spark: a `TextSource`
    classes     a user's own, or found in the text
    count       all patterns, into tables in memory or in the model's own file
    discounts   from counts of counts
    weights     by an estimator, which may fit them, and the discounts, on a sample of text
    documents   how far sessions trust what they read, fitted on documents, if that was asked for
    finish      what queries need; pruned and laid out anew where that was asked for
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gapgram.arrays import Ids
from gapgram.compression.pruning.by_count import Thresholds
from gapgram.compression.pruning.prune import prune, store_for
from gapgram.compression.pruning.to_size import check_size
from gapgram.counting.in_memory import TextInMemory
from gapgram.counting.memory_needs import max_held_positions, reading_threads, sample_positions
from gapgram.counting.on_disk.count import TextInFiles
from gapgram.counting.on_disk.stored_text import StoredText, store_text
from gapgram.counting.text_source import TextSource
from gapgram.counts.counts import Counts
from gapgram.errors import LineWarning, PruningWarning, TextError, UsageError
from gapgram.estimation.discounts import estimate_discounts
from gapgram.estimation.lmplz import as_lmplz
from gapgram.estimation.parts import ModelParts
from gapgram.estimation.spelling import learn_spelling
from gapgram.estimation.weights.estimators import ESTIMATORS, Fitted
from gapgram.models import file as model_file
from gapgram.models.model import Model
from gapgram.models.streamed_file import TablesInFile
from gapgram.system import array_store
from gapgram.system.array_file import MODEL, written_ahead
from gapgram.system.work_folder import WorkFolder, WorkSession, work_session
from gapgram.text.corpus import Reader, encode
from gapgram.text.files import blocks_of_files, guessed_positions
from gapgram.text.splitting import MARKS
from gapgram.text.vocabulary import Vocabulary
from gapgram.training.choose_classes import ChosenClasses, choose_classes
from gapgram.training.choose_lattice import TextToChooseOn, choose_lattice
from gapgram.training.documents import LineMarks, LocalText, fit_documents
from gapgram.training.fitting_sample import fitting_sample
from gapgram.training.keep_text import keep_text
from gapgram.training.limits import IN_MEMORY, TrainingLimits, Workspace
from gapgram.training.spark_options import SparkOptions
from gapgram.training.task import TrainingTask

LONG_LINE = 1_000_000  # words, above which a line is said to take more memory than there is meant to be
_DOCUMENTS = "documents.npy"  # of a text in files: where they begin


def train_in_memory(task: TrainingTask) -> Model:
    """The model of a text, all in memory, and not written."""
    parts = estimate(count_text(task, read_text(task)))
    if task.is_pruned:
        parts = prune(parts, counts=task.prune_after, size=task.size, layout=task.layout)
    return Model(parts.in_layout(task.layout))


def train_to_file(task: TrainingTask, limits: TrainingLimits, *, resume: bool) -> Model:
    """The same model, written, whether or not all that training takes fits into memory."""
    if resume and not task.can_be_repeated:
        raise UsageError("resume: sentences in memory and standard input cannot be read again; name text files")
    is_rewritten = task.is_rewritten
    with work_session(limits.work_folder, limits.output, lasting=task.can_be_repeated, resume=resume) as session:
        text = read_text(task, Workspace(limits, session), resume=resume)
        if isinstance(text, TextInFiles):
            used, copies = text.folder.bytes, int(is_rewritten)
            limits.check_disk(text.positions, task.lattice, used=used, copies=copies)
            return train_in_file(task, text, limits, text.folder)
        counted = count_text(task, text)
        if is_rewritten:
            return write_rewritten(task, estimate(counted), limits, None)
        with written_ahead(limits.output, MODEL, counted.counts.contents) as complete:
            parts = estimate(counted)
            complete(*parts.estimates())
        return Model(parts, limits.output)


def train_with_spark(
    task: TrainingTask, limits: TrainingLimits, spark: SparkOptions, *, resume: bool, place: str | None = None
) -> Model:
    """The same model, counted on a cluster; moved to a place that Spark knows, if one is named."""
    with work_session(limits.work_folder, limits.output, lasting=True, resume=resume) as session:
        if resume:
            session.resume(task.identity())
        folder = session.begin(task.identity())
        folder.note("begun", True)  # what workers have counted is worth going on with
        with spark.open_text(task.inputs()["text"], task.rules, folder.path, resume=resume) as text:
            model = train_in_file(task, text, limits, folder)
            if place is None:
                return model
            text.move_to(limits.output, place)
            return Model(model.parts)


def train_in_file(task: TrainingTask, text: TextSource, limits: TrainingLimits, folder: WorkFolder) -> Model:
    """The model of a text whose tables are made in a file: that of the model, or one aside if it is rewritten."""
    path = folder.path / "model" if task.is_rewritten else limits.output
    tables = TablesInFile(path, folder, most_resident=limits.memory.most_resident)
    parts, workspace = tables.finished() if task.is_rewritten else None, Workspace(limits, None, folder, tables)
    if parts is None:
        parts = tables.finish(estimate(count_text(task, text, workspace), workspace))
    return write_rewritten(task, parts, limits, folder) if task.is_rewritten else Model(parts, limits.output)


def read_text(
    task: TrainingTask, workspace: Workspace = IN_MEMORY, *, resume: bool = False
) -> TextInMemory | TextInFiles:
    """Read the text: into memory if there is enough for all that follows, else into files; not again if resumed."""
    limits, session = workspace.limits, workspace.session
    if limits is not None and session is not None and resume:
        resumed = resumed_text(task, limits, session)
        if resumed is not None:
            return resumed
    marks, blocks = LineMarks(task.rules), task.blocks()
    if task.documents or task.unbounded:
        blocks = marks.watch(blocks)
    max_positions: float = math.inf
    threads = task.threads
    if limits is not None:
        memory, is_fitted = limits.memory.bytes, task.is_fitted
        max_positions = max_held_positions(memory, task.lattice, threads=threads, fitted=is_fitted)
        threads = reading_threads(memory, threads)
        if task.documents:  # most of the text is counted twice
            max_positions //= 2
        guess = guessed_positions(task.texts) if task.texts is not None else 0
        if guess > max_positions:
            limits.check_disk(guess, task.lattice)
    reader = Reader(task.rules, threads=threads)
    pieces = reader.read(blocks)
    held = reader.take(pieces, max_positions)
    options: dict[str, Any] = {"threads": task.threads, "progress": task.progress}
    if limits is None or session is None or sum(piece.size for piece in held) <= max_positions:
        _warn_of_long_lines(reader.tally.longest_sentence)
        corpus, documents = reader.corpus(held), marks.begins if task.documents else None
        return TextInMemory(corpus, documents=documents, lines=marks if task.unbounded else None, **options)
    folder = session.begin(task.identity())
    stored = store_text(held, pieces, reader, folder)
    _warn_of_long_lines(reader.tally.longest_sentence)
    documents = marks.begins if task.documents else None
    if documents is not None:
        with folder.written(_DOCUMENTS) as file:
            np.save(file, documents)
    return TextInFiles(stored, folder, memory=limits.memory, documents=documents, **options)


def _warn_of_long_lines(n_words: int) -> None:
    """Lines are held whole, so that a few long ones may take more than a limit of memory says."""
    if n_words > LONG_LINE:
        warnings.warn(
            f"a line of {n_words:,} words: lines are held whole, which may take 150 bytes for each of its words beside "
            "the limit of memory (--memory); is it a sentence?",
            LineWarning,
            stacklevel=2,
        )


def resumed_text(task: TrainingTask, limits: TrainingLimits, session: WorkSession) -> TextInFiles | None:
    """The text that an interrupted run has read into files; None where there is none."""
    folder = session.resume(task.identity())
    stored = StoredText.of_folder(folder) if folder is not None else None
    if folder is None or stored is None:
        return None
    documents = None
    if task.documents:
        if not (folder.path / _DOCUMENTS).is_file():
            return None
        documents = np.load(folder.path / _DOCUMENTS)
    return TextInFiles(
        stored, folder, memory=limits.memory, threads=task.threads, progress=task.progress, documents=documents
    )


@dataclass(frozen=True)
class CountedText:
    """A text that was counted: what discounts and weights are estimated from.

    task: as a text of this size has it. unseen: the held-out text, if there is one.
    """

    task: TrainingTask
    text: TextSource
    unseen: Ids | None
    chosen: ChosenClasses
    counts: Counts


def count_text(task: TrainingTask, text: TextSource, workspace: Workspace = IN_MEMORY) -> CountedText:
    """Choose the classes of a text that was read, and count all patterns."""
    task = task.for_text_of(text.positions)
    if task.size is not None:
        check_size(task.size, text.vocabulary)
    unseen = read_held_out(task, text.vocabulary)
    memory, folder = workspace.memory, workspace.folder
    chosen = choose_classes(
        task.classes, text, task.lattice, seed=task.seed, hold_apart=unseen is None, memory=memory, folder=folder,
        threads=task.threads, progress=task.progress, counts_ahead=task.lattice_budget is None,
        max_positions=task.class_words,
    )  # fmt: skip
    if task.lattice_budget is not None:
        seen = TextToChooseOn(text, chosen, task.lattice.order, task.seed, unseen, memory, task.threads)
        lattice, chosen = choose_lattice(seen, task.lattice_budget, folder=folder, progress=task.progress)
        task = replace(task, lattice=lattice)
    counts = workspace.count(text, task.lattice, chosen.classes, task.threads, task.cuts)
    splitting = MARKS if task.split is not None else ""
    counts = replace(counts, about=task.about, tokeniser=task.tokeniser, splitting=splitting)
    if task.cuts and task.prune is not None:
        counts = replace(counts, pruned=Thresholds.parse(task.prune, task.lattice).said)
        _warn_of_emptied(counts)
    return CountedText(task, text, unseen, chosen, counts)


def _warn_of_emptied(counts: Counts) -> None:
    """Say so where no gram of some length is frequent enough to stay."""
    empty = [str(pattern) for pattern in counts.seen if not counts.size(pattern)]
    if empty:
        warnings.warn(
            f"prune: no gram is left of {'pattern' if len(empty) == 1 else 'patterns'} {' '.join(empty)}, none occurs "
            "more often than the threshold; lower it, or the order (-n)",
            PruningWarning,
            stacklevel=2,
        )


def estimate(counted: CountedText, workspace: Workspace = IN_MEMORY) -> ModelParts:
    """Discounts, weights and, if that is asked for, how far sessions trust what they read: all but counts."""
    task, text, chosen, counts = counted.task, counted.text, counted.chosen, counted.counts
    discounts, estimator, sample = estimate_discounts(counts, threads=task.threads), ESTIMATORS[task.weights], None
    if task.discounts == "lmplz":
        if not isinstance(text, TextInMemory):
            raise UsageError("discounts lmplz: taken from a text in memory alone; give more (--memory)")
        discounts = as_lmplz(discounts, counts, text.ids)
    if isinstance(estimator, Fitted):
        crosswise = text.positions if chosen.crosswise else 0
        threads, path = workspace.of_sample(counts.lattice, task.threads, crosswise=crosswise)
        sample = fitting_sample(text, counts, chosen, counted.unseen, seed=task.seed, folder=path, threads=threads)
        weights, discounts = estimator.fit(counts, discounts, sample, threads=task.threads, progress=task.progress)
    else:
        weights = estimator.weigh(counts, discounts)
    history = None
    if task.documents and isinstance(text, LocalText):
        history = fit_documents(
            text, (task.model, counts, discounts, weights), chosen.classes, seed=task.seed, threads=task.threads,
            workspace=workspace,
        )  # fmt: skip
    spelling = learn_spelling(text.word_sample, text.vocabulary) if text.word_sample is not None else None
    parts = ModelParts.of(task.model, counts, discounts, weights, history, spelling)
    if not task.unbounded or sample is None or not isinstance(text, LocalText):
        return parts
    kept = keep_text(text, parts, sample, workspace, threads=task.threads, progress=task.progress)
    return replace(parts, unbounded=kept)


def read_held_out(task: TrainingTask, vocabulary: Vocabulary) -> Ids | None:
    """The held-out text, or as much of it as a sample holds; all of it is read."""
    if task.held_out_texts is None:
        return None
    max_positions, ids = sample_positions(len(task.lattice.stored)), np.empty(0, np.int32)
    for block in encode(task.tokenised(blocks_of_files(task.held_out_texts)), vocabulary, task.rules):
        if ids.size < max_positions:
            ids = np.concatenate([ids, block.ids])
    if not ids.size:
        raise TextError("the held-out text is empty: expected one sentence a line")
    return ids


def write_rewritten(
    task: TrainingTask, parts: ModelParts, limits: TrainingLimits, folder: WorkFolder | None
) -> Model:
    """Prune a model and lay it out as asked for, under the name of the output, which it takes when it is whole."""
    if task.is_pruned:
        store = store_for(parts.counts, folder.inside("pruned").path) if folder is not None else array_store.IN_MEMORY
        parts = prune(parts, counts=task.prune_after, size=task.size, layout=task.layout, store=store)
    model_file.write(limits.output, parts, task.layout)
    return Model.load(limits.output, most_resident=limits.memory.most_resident)
