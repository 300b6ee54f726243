"""A filter of datatrove: a step of its pipelines, with its statistics and its writer of what is left out."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from gapgram.applications.filtering.documents import ScoredByPath
from gapgram.errors import to_install
from gapgram.queries.language_model import LanguageModel

try:
    from datatrove.pipeline.filters.base_filter import BaseFilter
except ImportError as error:
    raise ImportError(f"this filter needs datatrove: {to_install('datatrove')}") from error


class PerplexityFilter(BaseFilter):  # type: ignore[misc, unused-ignore]
    """Keeps documents by perplexity, length and unknown words; the figures are written into `metadata`.

    `pipeline=[JsonlReader("in"), PerplexityFilter("en", max_perplexity=500), JsonlWriter("out")]`
    """

    name = "gapgram perplexity"

    def __init__(
        self, model: LanguageModel | str | os.PathLike[str], *, max_perplexity: float = float("inf"),
        min_words: int = 1, max_unknown: float = 1.0, normalise: str | None = None, exclusion_writer: Any = None,
        batch_size: int = 256,
    ) -> None:  # fmt: skip
        super().__init__(exclusion_writer, batch_size)
        self.max_perplexity, self.min_words, self.max_unknown = max_perplexity, min_words, max_unknown
        self._scored = ScoredByPath(model, normalise)

    def filter(self, doc: Any) -> bool | tuple[bool, str]:
        """Whether a document stays, or why it does not."""
        return self.filter_batch([doc])[0]

    def filter_batch(self, batch: Sequence[Any]) -> list[bool | tuple[bool, str]]:
        """As `filter`, for a batch, which is scored at once."""
        return [self._told(*one) for one in zip(batch, self._scored([doc.text for doc in batch]), strict=True)]

    def _told(self, document: Any, score: Any) -> bool | tuple[bool, str]:
        document.metadata |= {"perplexity": score.perplexity, "unknown_share": score.unknown_share}
        if score.words < self.min_words:
            return False, "few words"
        if score.unknown_share > self.max_unknown:
            return False, "unknown words"
        return score.perplexity <= self.max_perplexity or (False, "perplexity")
