"""All results of a study: each is looked up, or computed and kept.

Models are trained only for results that are not there yet, and one model serves all that need it.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cached_property

from gapgram.arrays import Ids, Mask
from gapgram.errors import DiscountWarning
from gapgram.models.model import Model
from gapgram.reporting.model_info import model_info
from gapgram.signature import __version__
from gapgram.training.train import train
from studies.cache import Cache, Values, program_digest
from studies.config import CLASSES, CorpusConfig, StudyConfig
from studies.findings import Findings, Measurement, TextKey
from studies.protocols import PARTS, Sequences, Tally, draw_sequences, observed, place_tallies
from studies.statistics import once_by_pattern, word_statistics
from studies.texts import TestText, TrainingText, corpus_texts

Say = Callable[[str], None]


def run_experiments(
    config: StudyConfig, cache: Cache, *, threads: int | None = None, say: Say = lambda _: None, progress: bool = False
) -> Findings:
    """Everything that the configuration asks for."""
    findings = Findings(config)
    for number, corpus in enumerate(config.corpora, 1):
        where = f"[corpus {number} of {len(config.corpora)}]"
        say(f"{where} {corpus.name}: reading")
        for text in _corpus_experiments(config, corpus, cache, threads, progress):
            for message in text.add_to(findings):
                say(f"{where} {message}")
    return findings


def _corpus_experiments(
    config: StudyConfig, corpus: CorpusConfig, cache: Cache, threads: int | None, progress: bool
) -> Iterator[_TextExperiments]:
    sizes = next((s for s in config.sizes if s.corpus == corpus.name), None)
    trainings, test = corpus_texts(corpus, sizes, seed=config.seed, progress=progress)
    sequences = None
    if "sequences" in config.protocols:
        sequences = draw_sequences(test.lines, number=config.number, length=config.length, seed=config.seed)
    for training in trainings:
        yield _TextExperiments(config, cache, training, test, sequences, threads)


@dataclass(frozen=True)
class _TextExperiments:
    """The experiments with one training text."""

    config: StudyConfig
    cache: Cache
    training: TrainingText
    test: TestText
    sequences: Sequences | None
    threads: int | None

    def add_to(self, findings: Findings) -> Iterator[str]:
        """Add everything that is found; says what has been done, a sentence a model."""
        key = self._key
        findings.statistics[key] = self._cached(
            {"what": "statistics", "test": self.test.digest}, lambda: word_statistics(self.training, self.test)
        )
        order = max(self.config.orders)
        if self.training.is_main:
            findings.once[key] = self._cached(
                {"what": "once", "order": order}, lambda: dict(once_by_pattern(self.training.encoded.ids, order))
            )
        for model in self.config.models:
            results = {n: self._model_results(model, n) for n in self._orders}
            by_order = {n: values for n, (values, _) in results.items()}
            seconds = [spent for _, spent in results.values() if spent]
            for n in self.config.orders:
                findings.sizes[key, model, n] = by_order[n]["size"]
                findings.measurements += self._measurements(model, n, by_order)
            state = f"trained in {sum(seconds):.1f} s" if seconds else "found"
            yield f"{self.training.label}: {model}: {state}"

    @property
    def _key(self) -> TextKey:
        text = self.training
        return TextKey(text.corpus, len(text.lines), text.is_main, text.is_size)

    @property
    def _orders(self) -> tuple[int, ...]:
        """The orders to train; sequences need all up to the highest, one a place."""
        return tuple(range(1, max(self.config.orders) + 1)) if self.sequences else self.config.orders

    def _cached(self, depends: Values, compute: Callable[[], Values]) -> Values:
        program = {"gapgram": __version__, "program": program_digest()}
        depends = {**depends, **program, "training": self.training.encoded.facts.digest}
        values = self.cache.get(depends)
        if values is None:
            began = time.perf_counter()
            values = compute()
            self.cache.put(depends, values, time.perf_counter() - began)
        return values

    def _model_results(self, model: str, order: int) -> tuple[dict[str, Values], float]:
        """The size of a model and what each protocol finds; the seconds that training took."""
        trained = _OnDemand(self, model, order)
        of_model: Values = {"model": model, "order": order, "seed": self.config.seed}
        results = {}
        if order in self.config.orders:
            results["size"] = self._cached({"what": "size", **of_model}, trained.size)
            if "running" in self.config.protocols:
                depends = {"what": "running", "test": self.test.digest, **of_model}
                results["running"] = self._cached(depends, lambda: self._running(trained.model))
        if self.sequences is not None:
            depends = {"what": "sequences", "test": self.sequences.digest, **of_model}
            results["sequences"] = self._cached(depends, lambda: self._places(trained.model))
        return results, trained.seconds

    def _running(self, model: Model) -> Values:
        measured = model.perplexity(sentences=self.test.lines, threads=self.threads)
        tally = Tally(measured.predictions, measured.unknown_words, measured.log10_prob, measured.log10_prob_known)
        return {"signature": measured.signature, "tally": asdict(tally)}

    def _places(self, model: Model) -> Values:
        ids, seen = self._encoded_sequences
        tallies = place_tallies(model, ids, seen, threads=self.threads)
        by_length = {str(n): [asdict(tally) for tally in parts] for n, parts in tallies.items()}
        return {"signature": str(model.signature), "tallies": by_length}

    @cached_property
    def _encoded_sequences(self) -> tuple[Ids, Mask]:
        assert self.sequences is not None
        ids = self.sequences.ids(self.training.encoded.vocabulary)
        return ids, observed(self.training.encoded.ids, ids)

    def _measurements(self, model: str, order: int, by_order: dict[int, dict[str, Values]]) -> Iterator[Measurement]:
        if self.sequences is not None:
            by_length = [by_order[i]["sequences"]["tallies"][str(order)] for i in range(1, order + 1)]
            rule = f"protocol:sequences,length={self.sequences.length},number={len(self.sequences.words)}"
            signature = (
                f"{by_order[order]['sequences']['signature']}|{rule},seed={self.config.seed},words=1-{order},"
                f"orders=1-{order}|test:{self.sequences.digest}"
            )
            for p, part in enumerate(PARTS):
                tally = Tally.sum(Tally(**tallies[p]) for tallies in by_length)
                yield Measurement(self._key, model, order, "sequences", part, tally, signature)
        if "running" in self.config.protocols:
            running = by_order[order]["running"]
            signature = f"{running['signature']}|protocol:running,end=predicted|test:{self.test.digest}"
            tally = Tally(**running["tally"])
            yield Measurement(self._key, model, order, "running", "complete", tally, signature)


class _OnDemand:
    """A model that is trained when it is first asked for."""

    def __init__(self, text: _TextExperiments, name: str, order: int) -> None:
        self._text, self._name, self._order = text, name, order
        self.seconds = 0.0

    @cached_property
    def model(self) -> Model:
        name, _, weights = self._name.partition(" ")
        classes = "none"
        if self._name == CLASSES:
            weights, classes = "learned", "auto"
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DiscountWarning)
            model = train(
                sentences=self._text.training.lines, order=self._order, model=name, weights=weights or None,
                classes=classes, seed=self._text.config.seed, threads=self._text.threads,
            )  # fmt: skip
        self.seconds = time.perf_counter() - began
        return model

    def size(self) -> Values:
        """Grams, bytes and training time."""
        info = model_info(self.model)
        kept = ("grams", "bytes", "bytes_per_gram", "vocabulary", "signature")
        by_pattern = {p["pattern"]: p["grams"] for p in info["patterns"]}
        return {**{k: info[k] for k in kept}, "grams_by_pattern": by_pattern, "seconds": round(self.seconds, 2)}
