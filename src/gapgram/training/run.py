"""One training run: the text read, counted and weighed, in memory, through files or on a cluster."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gapgram.arrays import Ids, Integers
from gapgram.counting.in_memory import count
from gapgram.counting.on_disk.count import SpilledCount
from gapgram.counting.on_disk.piece_files import SpilledPieces
from gapgram.counting.on_disk.stored_text import StoredClasses, StoredText, read_text
from gapgram.counts.assemble import NO_COUNTS
from gapgram.counts.counts import Counts, TextInfo
from gapgram.counts.streaming import Pieces, WordsAndClasses
from gapgram.errors import TextError, UsageError
from gapgram.estimation.discounts import Discounts, estimate_discounts
from gapgram.estimation.parts import ModelParts
from gapgram.estimation.weights import Weights, by_counts, held_out, learned, left_out, uniform
from gapgram.estimation.weights.sample import sample_positions, threads_within
from gapgram.lattice import Lattice
from gapgram.models.model import Model
from gapgram.models.streamed_file import build_model_file
from gapgram.queries.language_model import Sentence
from gapgram.system.atomic_file import temporary_folder
from gapgram.system.parallel import checked_threads
from gapgram.system.work_folder import WorkFolder
from gapgram.text import corpus as text
from gapgram.text.files import Block, open_raw
from gapgram.text.vocabulary import Vocabulary
from gapgram.training.choose_classes import Classing, ClassSource, choose_classes, finding_bytes
from gapgram.training.limits import Limits, Work, guessed_positions, identity
from gapgram.training.spark_options import Cluster

if TYPE_CHECKING:
    from gapgram.counting.spark import CountedText

@dataclass(frozen=True)
class Run:
    """What `train` was asked for, checked."""

    texts: text.Paths | None
    sentences: Iterable[Sentence] | None
    held_out_texts: text.Paths | None
    model: str
    lattice: Lattice
    weights: str
    classes: ClassSource | None
    seed: int
    reading: dict[str, Any]
    threads: int | None
    progress: bool

    def settled(self, positions: int) -> Run:
        """The run as a text of so many positions has it: a small one without classes."""
        if self.classes is None or positions >= self.classes.least:
            return self
        return replace(self, classes=None, lattice=self.lattice.of_words)

    def blocks(self) -> Iterator[Block]:
        if self.sentences is not None:
            return text.blocks_of_sentences(self.sentences)
        return text.blocks_of_files(self.texts or [], progress=self.progress)

    def in_memory(self, corpus: text.Corpus) -> Model:
        """The model of a text that, with all that is counted, is in memory."""
        run = self.settled(corpus.ids.size)
        if run is not self:
            return run.in_memory(corpus)
        unseen = self._unseen(corpus.vocabulary)
        classing = None
        if self.classes is not None:
            word_counts = np.bincount(corpus.ids, minlength=len(corpus.vocabulary))
            classing = self._classing(lambda _: [corpus.ids], corpus.ids.size, corpus.vocabulary, word_counts)
        classes = classing.classes if classing is not None else None
        counts = count(corpus, self.lattice, classes, threads=self.threads, progress=self.progress)
        chosen, discounts = self._weigh(counts, corpus.ids, unseen, classing)
        return Model(ModelParts.of(self.model, counts, discounts, chosen))

    def within(self, limits: Limits, *, resume: bool) -> Model:
        """The same model, written, whether or not all of it fits into memory."""
        lasting = self.sentences is None and "-" not in map(str, text.as_paths(self.texts or []))
        if resume and not lasting:
            raise UsageError("resume: sentences in memory and standard input cannot be read again; name text files")
        with Work(limits, self._identity(), resume=resume, lasting=lasting) as work:
            stored = StoredText.of_folder(work.found) if work.found is not None else None
            if stored is None:
                found = self._read(limits, work)
                if isinstance(found, text.Corpus):
                    trained = self.in_memory(found)
                    trained.save(limits.output)
                    return trained
                stored = found
            self.settled(stored.facts.positions)._build(stored, limits, work.folder())
        return Model.load(limits.output, most_resident=limits.most_resident)

    def on(self, cluster: Cluster, limits: Limits, *, resume: bool) -> Model:
        """The same model, counted on a cluster."""
        if self.sentences is not None:
            raise UsageError("the engine spark reads text files: name them, or use the local engine")
        if resume:
            raise UsageError("resume: a run on Spark cannot be resumed; leave it out")
        for path in text.as_paths(self.held_out_texts) if self.held_out_texts is not None else []:
            if str(path) != "-":  # found missing now, not after hours of counting
                open_raw(path).close()
        texts = text.as_paths(self.texts or [])
        with cluster.counted(texts, self.lattice.of_words, limits.tmp, **self.reading) as counted:
            self.settled(counted.positions)._build_from(counted, limits)
        return Model.load(limits.output, most_resident=limits.most_resident)

    def _build_from(self, counted: CountedText, limits: Limits) -> None:
        """Write the model of a text whose words were counted on a cluster; its classes are counted there, too."""
        classing: Classing | None = None
        pieces: Pieces = counted.pieces
        with contextlib.ExitStack() as stack:
            if self.classes is not None and self.lattice.of_classes is not None:
                if self.classes.path is None:
                    limits.check_memory(finding_bytes(counted.positions), "finding classes", "bring a file of classes")
                classing = self._classing(
                    lambda most: [counted.sample(seed=self.seed, limit=most)],
                    counted.positions, counted.vocabulary, counted.word_counts,
                )  # fmt: skip
                classes = counted.counted_classes(classing.classes, self.lattice.of_classes)
                pieces = WordsAndClasses(counted.pieces, stack.enter_context(classes))

            def weigh(counts: Counts) -> tuple[Weights, Discounts]:
                unseen = self._unseen(counts.vocabulary)
                ids = np.empty(0, np.int32)
                if self.weights == "learned" and unseen is None and (classing is None or classing.apart is None):
                    ids = counted.sample(seed=self.seed, limit=sample_positions(len(counts.patterns)))
                with temporary_folder(limits.output, limits.tmp) as folder:
                    in_file = None if limits.sample_fits(self.lattice) else folder
                    return self._weigh(counts, ids, unseen, classing, in_file, limits.left())

            build_model_file(
                limits.output,
                name=self.model,
                lattice=self.lattice,
                vocabulary=counted.vocabulary,
                text=counted.text,
                pieces=lambda: pieces,
                weigh=weigh,
                classes=classing.classes if classing is not None else None,
                word_counts=counted.word_counts if classing is not None else NO_COUNTS,
                memory=limits.most_resident,
            )

    def _identity(self) -> dict[str, Any]:
        reading = {**self.reading, "rules": vars(self.reading["rules"])}
        options = {"order": self.lattice.order, "lattice": str(self.lattice), "model": self.model}
        options |= {"weights": self.weights, "seed": self.seed, **reading}
        classes = self.classes.path if self.classes is not None else None
        if self.classes is not None:
            options["number of classes"] = self.classes.k
        return identity({"text": self.texts, "held-out text": self.held_out_texts, "classes": classes}, options)

    def _read(self, limits: Limits, work: Work) -> text.Corpus | StoredText:
        most = limits.most_held(self.lattice, learned=self.weights == "learned")
        guess = guessed_positions(self.texts) if self.texts is not None else 0
        if guess > most:
            limits.check_room(guess, self.lattice)
        return read_text(self.blocks(), text.Reader(**self.reading), most=most, folder=work.folder)

    def _build(self, stored: StoredText, limits: Limits, folder: WorkFolder) -> None:
        limits.check_room(stored.facts.positions, self.lattice, used=folder.bytes)
        unseen = self._unseen(stored.vocabulary)
        facts = stored.facts
        classing = self._stored_classing(stored, limits, folder)

        def spilled(source: StoredText | StoredClasses, lattice: Lattice, folder: WorkFolder) -> SpilledPieces:
            counting = SpilledCount(source, lattice, folder, memory=limits.left(), threads=self.threads)
            return counting.pieces(progress=self.progress)

        def pieces() -> Pieces:
            words = spilled(stored, self.lattice.of_words, folder)
            if classing is None or self.lattice.of_classes is None:
                return words
            source = StoredClasses(stored, classing.classes)
            return WordsAndClasses(words, spilled(source, self.lattice.of_classes, folder.inside("classes")))

        def weigh(counts: Counts) -> tuple[Weights, Discounts]:
            sample_folder = None if limits.sample_fits(self.lattice) else folder.path
            return self._weigh(counts, stored.chunks(1 << 20), unseen, classing, sample_folder, limits.left())

        build_model_file(
            limits.output,
            name=self.model,
            lattice=self.lattice,
            vocabulary=stored.vocabulary,
            text=TextInfo(facts.sentences, facts.words, facts.digest, facts.rule),
            pieces=pieces,
            weigh=weigh,
            classes=classing.classes if classing is not None else None,
            word_counts=stored.word_counts if classing is not None else NO_COUNTS,
            memory=limits.most_resident,
            folder=folder,
        )

    def _stored_classing(self, stored: StoredText, limits: Limits, folder: WorkFolder) -> Classing | None:
        if self.classes is None:
            return None
        found = Classing.of_folder(folder)
        if found is None:
            positions = stored.facts.positions
            if self.classes.path is None:
                limits.check_memory(finding_bytes(positions), "finding classes", "bring a file of classes")
            found = self._classing(lambda _: stored.chunks(1 << 20), positions, stored.vocabulary, stored.word_counts)
            found.store(folder)
        return found

    def _unseen(self, vocabulary: Vocabulary) -> Ids | None:
        """The held-out text, or as much of it as a sample holds; all of it is read."""
        if self.held_out_texts is None:
            return None
        most, parts = sample_positions(len(self.lattice.stored)), [np.empty(0, np.int32)]
        for part in text.encode(text.blocks_of_files(self.held_out_texts), vocabulary, self.reading["rules"]):
            if sum(map(len, parts)) < most:
                parts.append(part.ids)
        ids = np.concatenate(parts)
        if not ids.size:
            raise TextError("the held-out text is empty: expected one sentence a line")
        return ids

    def _classing(
        self,
        ids: Callable[[int], Iterable[Ids]],
        positions: int,
        vocabulary: Vocabulary,
        word_counts: Integers,
    ) -> Classing:
        return choose_classes(
            self.classes or ClassSource(), ids, positions, vocabulary, word_counts,
            n_patterns=len(self.lattice.stored), seed=self.seed, set_apart=self.held_out_texts is None,
            threads=self.threads, progress=self.progress,
        )  # fmt: skip

    def _weigh(
        self,
        counts: Counts,
        ids: Ids | Iterable[Ids],
        unseen: Ids | None,
        classing: Classing | None = None,
        sample_folder: Path | None = None,
        memory: int | None = None,
    ) -> tuple[Weights, Discounts]:
        threads = checked_threads(self.threads)
        looking_up = threads if memory is None else min(threads, threads_within(memory, len(counts.patterns)))
        discounts = estimate_discounts(counts, threads=threads)
        if self.weights == "none":
            return replace(uniform(counts), name="none"), discounts
        if self.weights == "uniform":
            return uniform(counts), discounts
        if self.weights == "counts":
            return by_counts(counts, discounts), discounts
        if unseen is not None:
            sample, source = held_out(counts, unseen, folder=sample_folder, threads=looking_up), "held-out text"
        else:
            found = classing.apart if classing is not None else None
            sample = left_out(
                counts, ids if found is None else found,
                seed=self.seed, folder=sample_folder, threads=looking_up, apart=found is not None,
            )  # fmt: skip
            source = f"training text, left out, seed {self.seed}"
        return learned(counts, discounts, sample, source=source, threads=threads, progress=self.progress)
