"""Text to model in one call."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gapgram import container
from gapgram import corpus as text
from gapgram.bounded import Limits, Work, guessed_positions, identity
from gapgram.building import build_model_file
from gapgram.classing import Classing, ClassSource, choose_classes, finding_bytes
from gapgram.cluster import Cluster
from gapgram.counting import checked_threads, count
from gapgram.counting.assemble import NO_COUNTS
from gapgram.counting.piece_files import SpilledPieces
from gapgram.counting.spilled import SpilledCount
from gapgram.counting.streaming import Pieces, WordsAndClasses
from gapgram.counts import Counts, TextInfo
from gapgram.discounts import Discounts, estimate_discounts
from gapgram.errors import TextError, UsageError
from gapgram.lattice import Lattice
from gapgram.layouts import check_layout
from gapgram.memory import most_resident, parse_size
from gapgram.model import Model
from gapgram.model_file import ModelParts
from gapgram.pruning import Thresholds
from gapgram.queries import Sentence
from gapgram.stored_text import StoredClasses, StoredText, read_text
from gapgram.textfile import Block, open_raw
from gapgram.vocabulary import Vocabulary
from gapgram.weights import Weights, by_counts, held_out, learned, left_out, uniform
from gapgram.weights.sample import sample_positions, threads_within
from gapgram.work_folder import WorkFolder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from gapgram.counting.spark import CountedText

MODELS = {"mkn": "chain", "glm": "full"}
WEIGHTS = ("uniform", "counts", "learned")


def train(
    texts: text.Paths | None = None,
    *,
    sentences: Iterable[Sentence] | None = None,
    output: str | Path | None = None,
    order: int = 5,
    model: str = "glm",
    lattice: str | Lattice | None = None,
    weights: str | None = None,
    classes: str | int | Path | None = None,
    held_out_texts: text.Paths | None = None,
    seed: int = 1,
    min_count: int = 1,
    vocab_limit: int | None = None,
    rules: text.TextRules | None = None,
    threads: int | None = None,
    layout: str = "fast",
    memory: str | int | None = None,
    tmp: str | Path | None = None,
    resume: bool = False,
    engine: str = "local",
    spark: SparkSession | None = None,
    master: str | None = None,
    spark_conf: Mapping[str, str] | None = None,
    shards: str | None = None,
    prune: str | None = None,
    size: str | int | None = None,
    shown: bool = False,
) -> Model:
    """Train a model on text files, or on sentences in memory.

    model: `mkn` (modified Kneser-Ney) or `glm` (generalized language model).
    lattice: other patterns than the model's own: `chain`, `full`, or patterns such as "1,11,101".
    weights: of a glm: `learned` (the default), `counts` or `uniform`.
    classes: of a glm with learned weights, patterns of word classes beside those of words: how many classes to find in
        the text at most; `auto`, by its size, and none where it is small; the path of a file of words and their
        classes; or `none`. The default is `auto`, and `none` where the lattice is named.
    held_out_texts: text to learn weights from; by default the training text, each word left out in turn.
    seed: of the sample that weights are learned from.
    output: where to write the model file; without it the model stays in memory.
    layout: of the tables: `fast`, or `compact`, a third of the size; both give the same probabilities.
    memory: bytes, or a size such as "4G", that training to an output may take beside the program itself; by default
        half of what the machine has. A text that needs more is counted through files. The model is the same.
    tmp: the folder for those files; by default that of the output.
    resume: go on where an interrupted run with the same texts and options stopped, if there is one.
    engine: `local`, or `spark` to count on a cluster, with the same result; the texts are then any that Spark reads.
    spark: a session to count with; without it one is started, with `master` and `spark_conf`, and stopped again.
    shards: a new folder for the counts of a cluster, which all its machines reach; kept. By default a temporary one
        beside the model, which does where all run on this machine.
    prune, size: drop grams once the weights are fitted; `counts` and `size` of `Model.pruned`.
    """
    kind = _checked_weights(model, lattice, weights, held_out_texts)
    if (texts is None) == (sentences is None):
        raise UsageError("train: give text files or sentences, one of the two")
    patterns = lattice if isinstance(lattice, Lattice) else Lattice.parse(lattice or MODELS[model], order)
    patterns, source = _with_classes(patterns, classes, kind, named=lattice is not None)
    check_layout(layout)
    reading = {"min_count": min_count, "vocab_limit": vocab_limit, "rules": rules or text.TextRules()}
    cluster = Cluster.of(engine, spark, master, spark_conf, shards)
    run = _Run(texts, sentences, held_out_texts, model, patterns, kind, source, seed, reading, threads, shown)
    smaller = prune is not None or size is not None
    if prune is not None:
        Thresholds.parse(prune, patterns)
    if size is not None:
        parse_size(size, "size")
    if output is not None:
        inputs = (texts, held_out_texts, source.path if source is not None else None)
        read = [path for paths in inputs if paths is not None for path in text.as_paths(paths)]
        container.check_place(output, read)
        limits = Limits.of(memory, threads, output, tmp)
        if cluster is not None:
            trained = run.on(cluster, limits, resume=resume)
        else:
            trained = run.within(limits, resume=resume)
    elif cluster is not None:
        raise UsageError("the engine spark writes a model file: name an output")
    elif memory is not None or tmp is not None or resume:
        raise UsageError("memory, tmp and resume are for a model that is written: name an output")
    else:
        trained = run.in_memory(text.read_corpus(run.blocks(), **run.reading))
    if output is None:
        changed = trained.pruned(counts=prune, size=size) if smaller else trained
        return changed if changed.layout == layout else changed.with_layout(layout)
    if smaller:
        trained.save_pruned(output, counts=prune, size=size, layout=layout)
    elif trained.layout != layout:
        trained.save(output, layout=layout)
    else:
        return trained
    return Model.load(output, most_resident=limits.most_resident)


@dataclass(frozen=True)
class _Run:
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
    shown: bool

    def settled(self, positions: int) -> _Run:
        """The run as a text of so many positions has it: a small one without classes."""
        if self.classes is None or positions >= self.classes.least:
            return self
        return replace(self, classes=None, lattice=self.lattice.of_words)

    def blocks(self) -> Iterator[Block]:
        if self.sentences is not None:
            return text.blocks_of_sentences(self.sentences)
        return text.blocks_of_files(self.texts or [], shown=self.shown)

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
        counts = count(corpus, self.lattice, classes, threads=self.threads, shown=self.shown)
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
                with TemporaryDirectory(prefix=".sample-", dir=limits.tmp) as folder:
                    in_file = None if limits.sample_fits(self.lattice) else Path(folder)
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
            return counting.pieces(shown=self.shown)

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

    def _unseen(self, vocabulary: Vocabulary) -> text.Ids | None:
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
        ids: Callable[[int], Iterable[text.Ids]],
        positions: int,
        vocabulary: Vocabulary,
        word_counts: npt.NDArray[np.int64],
    ) -> Classing:
        return choose_classes(
            self.classes or ClassSource(), ids, positions, vocabulary, word_counts,
            n_patterns=len(self.lattice.stored), seed=self.seed, set_apart=self.held_out_texts is None,
            threads=self.threads, shown=self.shown,
        )  # fmt: skip

    def _weigh(
        self,
        counts: Counts,
        ids: text.Ids | Iterable[text.Ids],
        unseen: text.Ids | None,
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
        return learned(counts, discounts, sample, source=source, threads=threads, shown=self.shown)


def _with_classes(
    lattice: Lattice, asked: str | int | Path | None, weights: str, *, named: bool
) -> tuple[Lattice, ClassSource | None]:
    """The lattice with patterns of classes where there are to be classes, and where these come from."""
    has_patterns = lattice.of_classes is not None
    if asked is None:
        asked = "auto" if has_patterns or (weights == "learned" and not named) else "none"
    source = ClassSource.parse(asked)
    if source is None:
        if has_patterns:
            raise UsageError("the lattice has patterns of classes: say which classes (auto, a number, or a file)")
        return lattice, None
    if weights != "learned":
        raise UsageError("classes are for a glm with learned weights: nothing else knows how far to trust them")
    return (lattice, replace(source, least=0)) if has_patterns else (lattice.with_classes("chain"), source)


def _checked_weights(
    model: str, lattice: str | Lattice | None, weights: str | None, held_out_texts: text.Paths | None
) -> str:
    if model not in MODELS:
        raise UsageError(f"model {model!r}: expected {' or '.join(MODELS)}")
    if model == "mkn":
        if lattice is not None:
            raise UsageError("a lattice of your own is for model glm; modified Kneser-Ney has the chain")
        if weights not in (None, "none"):
            raise UsageError(f"weights {weights!r}: modified Kneser-Ney has none to choose; they are for model glm")
        kind = "none"
    else:
        kind = weights or "learned"
        if kind not in WEIGHTS:
            raise UsageError(f"weights {kind!r}: expected {', '.join(WEIGHTS)}")
    if held_out_texts is not None and kind != "learned":
        raise UsageError("held-out text is for learned weights")
    return kind


def load(path: str | Path, *, verify: bool | None = None, memory: str | int | None = None) -> Model:
    """Open a model file; it is mapped, so that this takes no longer for a large one.

    memory: bytes, or a size such as "4G", that reading the file from end to end, as saving it in another layout does,
        may take beside the program itself. What queries read stays mapped.
    """
    return Model.load(path, verify=verify, most_resident=None if memory is None else most_resident(memory))
