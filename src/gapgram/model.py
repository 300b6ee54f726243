"""A frozen model: probabilities, scores, distributions, perplexity; in memory or mapped from one file."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gapgram import model_file
from gapgram.counting import checked_threads
from gapgram.counts import Counts
from gapgram.errors import ModelFileError
from gapgram.explain import Explanation, explain
from gapgram.kernels import lookup
from gapgram.model_file import ModelParts
from gapgram.predict import Prediction, Predictor
from gapgram.queries import Begins, Floats, Ids, Queries, Sentence
from gapgram.signature import Signature
from gapgram.vocabulary import Vocabulary

_CHUNK = 1 << 15  # words that one thread scores at a time


class Model(Queries):
    """An n-gram model that may skip words. Made by `gapgram.train` or `gapgram.load`; never changed.

    >>> import gapgram
    >>> model = gapgram.train(sentences=["the cat sat", "the dog sat", "a cat ran"] * 9, order=3, model="mkn")
    >>> model.order, "cat" in model.vocabulary
    (3, True)
    >>> float(model.distribution(["the"]).sum().round(9))
    1.0
    >>> model.score("the cat sat") > model.score("sat cat the")
    True
    """

    def __init__(self, parts: ModelParts, path: Path | None = None) -> None:
        self._parts, self._path = parts, path
        for array in parts.arrays().values():
            array.flags.writeable = False

    @classmethod
    def load(cls, path: str | Path, *, verify: bool | None = None) -> Model:
        """Map a model file. Large files are checked in full only if `verify`."""
        return cls(model_file.read(path, verify=verify), Path(path).resolve())

    def save(self, path: str | Path) -> None:
        """Write the model to one file, aside and renamed."""
        model_file.write(path, self._parts)
        self._path = Path(path).resolve()

    def __reduce__(self) -> tuple[Any, ...]:
        if self._path is None:
            raise ModelFileError("a model is pickled by the path of its file: save it first")
        return type(self).load, (str(self._path),)

    @property
    def path(self) -> Path | None:
        """The file of the model, once it has one."""
        return self._path

    @property
    def order(self) -> int:
        """A prediction sees at most order - 1 earlier words."""
        return self.counts.lattice.order

    @property
    def counts(self) -> Counts:
        """The counts the model was made from."""
        return self._parts.counts

    @property
    def parts(self) -> ModelParts:
        """Everything the model file holds."""
        return self._parts

    @property
    def vocabulary(self) -> Vocabulary:
        """The words the model knows, and their ids."""
        return self.counts.vocabulary

    @property
    def name(self) -> str:
        """The estimator: `mkn` or `glm`."""
        return self._parts.name

    @property
    def signature(self) -> Signature:
        """What every figure of this model depends on."""
        lattice, info = self.counts.lattice, self.counts.text
        return Signature(
            order=self.order,
            model=self.name,
            lattice=str(lattice).replace(" ", ",") if lattice.name == "custom" else lattice.name,
            classes=self.counts.classes_digest,
            weights=self._parts.weights.name,
            discounts=str(self._parts.discounts),
            vocabulary=info.rule,
            corpus=info.digest,
        )

    @cached_property
    def arrays(self) -> lookup.ModelArrays:
        """What the lookup kernels take."""
        arrays = self._parts.arrays()
        return lookup.ModelArrays(self.counts.tables, *(arrays[name] for name in lookup.ModelArrays._fields[1:]))

    @cached_property
    def uniform(self) -> float:
        """The probability of a word when nothing is known: `<s>` is never predicted."""
        return 1.0 / (len(self.vocabulary) - 1)

    def distribution(self, context: Sentence = ()) -> Floats:
        """P(· | context) as an array over the ids of the vocabulary; it sums to one."""
        ids = np.append(self.context_ids(context), np.int32(0))
        out: Floats = lookup.distribution(ids, self.order, self.uniform, self.arrays)
        return out

    @cached_property
    def _predictor(self) -> Predictor:
        return Predictor(self)

    def predict(
        self, context: Sentence = (), k: int = 10, *, prefix: str = "", special: bool = False
    ) -> list[Prediction]:
        """The k most probable next words, exactly; only those that start with `prefix`.

        special: `<unk>` and `</s>` may be among them.
        """
        return self._predictor.predict(context, k, prefix=prefix, special=special)

    def explain(self, context: Sentence, word: str) -> Explanation:
        """Where P(word | context) comes from: what each pattern of the lattice contributes."""
        return explain(self, word, context)

    def positions(self, ids: Ids, begins: Begins, threads: int | None = 1) -> Floats:
        """log10 of the probability of every position, in chunks of whole sequences, a chunk a thread."""
        threads = checked_threads(threads)
        out = np.empty(ids.size)
        available = lookup.availability(ids, begins, self.order)

        def work(bounds: tuple[int, int]) -> None:
            a, b = bounds
            lookup.score_positions(ids[a:b], available[a:b], self.uniform, self.arrays, out[a:b])

        chunks = _chunks(begins)
        if threads == 1 or len(chunks) == 1:
            for chunk in chunks:
                work(chunk)
        else:
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(work, chunks))
        return out

    def __repr__(self) -> str:
        return f"<Model {self.signature}>"


def _chunks(begins: npt.NDArray[np.int64]) -> list[tuple[int, int]]:
    """Bounds of runs of whole sequences, each of about as many words as a thread takes at a time."""
    goals = np.arange(0, int(begins[-1]), _CHUNK)
    cuts = np.unique(np.append(begins[np.searchsorted(begins, goals)], begins[-1])).tolist()
    return list(pairwise(cuts))
