"""Scores of documents: some lines of text each, of which a model has scored every one."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from gapgram.arguments import is_text
from gapgram.arrays import Floats, Integers
from gapgram.errors import TextError, UsageError
from gapgram.kernels.text.special_words import UNKNOWN_ID
from gapgram.models.open import load
from gapgram.queries.attached_marks import warn_of_attached_marks
from gapgram.queries.language_model import LanguageModel, checked_model
from gapgram.queries.perplexity import perplexity_of
from gapgram.text.corpus import TextRules
from gapgram.text.files import Block

_RULES = TextRules(special="skip")  # whatever stands in documents of other people


class DocumentScore(NamedTuple):
    """log10 of the probability of a document, its words, those of them that the model does not know, and its lines.

    lines: those that have words; each has an end that is predicted too.
    """

    log10_prob: float
    words: int
    unknown_words: int
    lines: int

    @property
    def perplexity(self) -> float:
        """Per word, ends of lines counted as words; not a number where there are none.

        >>> DocumentScore(-8.0, 3, 0, 1).perplexity
        100.0
        """
        return perplexity_of(self.log10_prob, self.words + self.lines)

    @property
    def unknown_share(self) -> float:
        """The share of words that the model does not know; 0 where there are no words."""
        return self.unknown_words / self.words if self.words else 0.0


@dataclass(frozen=True)
class ScoreArrays:
    """The scores of some units of text, lines or documents; arrays of one length."""

    log10: Floats
    words: Integers
    unknown: Integers
    lines: Integers

    @cached_property
    def log10_perplexity(self) -> Floats:
        """log10 of the perplexity of each; not a number where there are no words."""
        predictions = (self.words + self.lines).astype(float)
        predictions[predictions == 0] = np.nan
        out: Floats = -self.log10 / predictions
        return out

    @property
    def perplexity(self) -> Floats:
        """The perplexity of each; infinite where no float is as large."""
        with np.errstate(over="ignore"):
            out: Floats = np.power(10.0, self.log10_perplexity)
        return out

    @property
    def unknown_share(self) -> Floats:
        """The share of unknown words of each."""
        out: Floats = self.unknown / np.maximum(self.words, 1)
        return out

    def summed(self, begins: Integers) -> ScoreArrays:
        """Of units that are made of these: the first begins at begins[0], and none is empty."""
        columns = (self.log10, self.words, self.unknown, self.lines)
        return ScoreArrays(*(np.add.reduceat(column, begins) for column in columns))


class DocumentScorer:
    """Scores documents with one model, many at a time; safe to share between threads.

    A document is a text of any number of lines, each a sentence. Words `<s>`, `</s>` and `<unk>` in it are left out.
    normalise: `ccnet` for models that were trained on text normalised that way.

    >>> import gapgram
    >>> model = gapgram.train(sentences=["the cat sat", "the dog sat", "a cat ran"] * 9, order=3, model="mkn")
    >>> [(s.words, s.unknown_words) for s in DocumentScorer(model).score(["the cat\\nthe emu", ""])]
    [(4, 1), (0, 0)]
    """

    def __init__(self, model: LanguageModel, *, normalise: str | None = None) -> None:
        self.model, self._normalised, self._looked_at = checked_model("documents", model), normaliser(normalise), False

    def score(self, documents: Sequence[str]) -> list[DocumentScore]:
        """The scores of documents, in order."""
        for number, document in enumerate(documents, 1):
            if not is_text(document):
                raise TextError(f"document {number}: holds half of a surrogate pair, which is no text")
        scores = self.arrays(documents)
        columns = (scores.log10.tolist(), scores.words.tolist(), scores.unknown.tolist(), scores.lines.tolist())
        return [DocumentScore(*row) for row in zip(*columns, strict=True)]

    def arrays(self, documents: Sequence[str]) -> ScoreArrays:
        """As `score`, as arrays; documents must be text (`is_text`)."""
        if not documents:
            return ScoreArrays(np.empty(0), *(np.empty(0, np.int64) for _ in range(3)))
        texts = documents if self._normalised is None else [self._normalised(one) for one in documents]
        return self.by_line(texts).summed(line_begins(texts))

    def by_line(self, texts: Sequence[str]) -> ScoreArrays:
        """The scores of all lines of some documents that are normalised already, one after the other."""
        data = ("\n".join(texts) + "\n").encode()
        block = Block("documents", 1, data)
        if not self._looked_at:
            self._looked_at = True
            warn_of_attached_marks(self.model, block)
        scored = self.model.score_block(block, _RULES)
        words = np.diff(scored.begins) - 2
        unknown = np.add.reduceat((scored.ids == UNKNOWN_ID).astype(np.int64), scored.begins[:-1])
        return ScoreArrays(np.where(words > 0, scored.sums, 0.0), words, unknown, (words > 0).astype(np.int64))


class ScoredByPath:
    """Scores documents; a worker opens the model itself, and all of a machine share the pages of its file.

    model: a file, a name, an address, or an opened model that has a file.
    """

    def __init__(self, model: LanguageModel | str | os.PathLike[str], normalise: str | None = None) -> None:
        path = model.path if isinstance(model, LanguageModel) else os.fspath(model)
        if path is None:
            raise UsageError("a pipeline's workers open the model themselves: save it first, or name its file")
        self.path, self.normalise = str(path), normalise

    @cached_property
    def _scorer(self) -> DocumentScorer:
        return DocumentScorer(load(self.path), normalise=self.normalise)

    def __getstate__(self) -> dict[str, str | None]:
        return {"path": self.path, "normalise": self.normalise}

    def __call__(self, documents: Sequence[str]) -> list[DocumentScore]:
        """The scores of documents, in order."""
        return self._scorer.score(documents)


def line_begins(texts: Sequence[str]) -> Integers:
    """The number of the first line of each document among those of all.

    >>> line_begins(["a", "b\\nc", "d"]).tolist()
    [0, 1, 3]
    """
    n_lines = [text.count("\n") + 1 for text in texts[:-1]]
    return np.fromiter(accumulate(n_lines, initial=0), np.int64, len(texts))


Normaliser = Callable[[str], str]

# Marks of other scripts and their nearest of ASCII; three of them become several characters.
_NEAREST = dict(zip("，、。∶：；？！（）〈〉【】％～’´–━►", ",,.::;?!()<>[]%~''---", strict=True))
_MARKS = str.maketrans({**_NEAREST, **dict.fromkeys("„”“«»「」《》", '"'), "…": "...", "．": ". ", "—": " - "})
_DIGIT = re.compile(r"\d")
_NOT_PRINTED = re.compile(f"[{re.escape(''.join(map(chr, (*range(32), *range(127, 160)))))}]")


def ccnet(line: str) -> str:
    """A line as cc_net's `normalize` leaves it, which its models were trained on.

    >>> ccnet("  Á la carte – 25 ％ …")
    'a la carte - 00 % ...'
    """
    decomposed = unicodedata.normalize("NFD", line.strip().lower())
    line = _DIGIT.sub("0", "".join(c for c in decomposed if unicodedata.category(c) != "Mn"))  # without accents
    return _NOT_PRINTED.sub("", line.translate(_MARKS))


_NORMALISERS: dict[str, Normaliser] = {"ccnet": ccnet}


def normaliser(name: str | None) -> Normaliser | None:
    """The normaliser of a name, which takes lines of text; None for none."""
    if name is None:
        return None
    if name not in _NORMALISERS:
        raise UsageError(f"normalisation {name!r}: expected {', '.join(_NORMALISERS)}")
    one = _NORMALISERS[name]
    return lambda text: "\n".join(map(one, text.split("\n")))
