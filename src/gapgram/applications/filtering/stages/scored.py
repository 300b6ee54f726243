"""A model that travels to workers as its path, and what it says of documents."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property

from gapgram.applications.filtering.documents import DocumentScore, DocumentScorer
from gapgram.errors import UsageError
from gapgram.models.open import load
from gapgram.queries.language_model import LanguageModel


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
