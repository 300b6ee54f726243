"""A filter of NeMo Curator: what its stages `Score`, `Filter` and `ScoreFilter` take."""

from __future__ import annotations

import os

from gapgram.applications.filtering.documents import ScoredByPath
from gapgram.errors import to_install
from gapgram.queries.language_model import LanguageModel

try:
    from nemo_curator.stages.text.filters.doc_filter import DocumentFilter  # type: ignore[import-not-found, unused-ignore]
except ImportError as error:
    raise ImportError(f"this filter needs NeMo Curator: {to_install('nemo-curator')}") from error


class PerplexityFilter(DocumentFilter):  # type: ignore[misc, unused-ignore]
    """Scores a document by its perplexity, and keeps it where that is low enough; one without words is left out.

    `pipeline.add_stage(ScoreFilter(PerplexityFilter("en", max_perplexity=500), score_field="perplexity"))`
    """

    def __init__(
        self, model: LanguageModel | str | os.PathLike[str], *, max_perplexity: float = float("inf"),
        normalise: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self._name = "gapgram_perplexity"
        self.max_perplexity, self._scored = max_perplexity, ScoredByPath(model, normalise)

    def score_document(self, text: str) -> float:
        """The perplexity of a document; not a number where it has no words."""
        (score,) = self._scored([text])
        return score.perplexity if score.words else float("nan")

    def keep_document(self, scores: float) -> bool:
        """Whether a document with this perplexity stays."""
        return scores <= self.max_perplexity
