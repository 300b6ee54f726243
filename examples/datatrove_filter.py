"""A step of a datatrove pipeline that drops documents by perplexity.

    pip install datatrove
    python examples/datatrove_filter.py MODEL IN_FOLDER OUT_FOLDER LIMIT
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any

import gapgram
from gapgram.queries.language_model import LanguageModel

BATCH = 256  # documents that are scored at once, on one core: datatrove runs tasks side by side


class PerplexityFilter:
    """Documents with a perplexity of at most `limit`, their figures in `metadata`; a callable step of a pipeline."""

    def __init__(self, model: LanguageModel | str, *, limit: float, least_words: int = 20) -> None:
        self.model = gapgram.load(model) if isinstance(model, str) else model
        self.limit, self.least_words = limit, least_words

    def __call__(self, data: Iterable[Any], rank: int = 0, world_size: int = 1) -> Iterator[Any]:
        """Score the documents of a pipeline and pass the good ones on."""
        batch: list[Any] = []
        for document in data:
            batch.append(document)
            if len(batch) == BATCH:
                yield from self._good(batch)
                batch = []
        yield from self._good(batch)

    def _good(self, batch: list[Any]) -> Iterator[Any]:
        scores = gapgram.DocumentScorer(self.model).score([document.text for document in batch])
        for document, score in zip(batch, scores, strict=True):
            document.metadata |= {"perplexity": score.perplexity, "unknown_share": score.unknown_share}
            if score.words >= self.least_words and score.perplexity <= self.limit:
                yield document


def main(model: str, source: str, target: str, limit: str) -> None:
    """Filter a folder of JSON lines."""
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.writers import JsonlWriter

    steps = [JsonlReader(source), PerplexityFilter(model, limit=float(limit)), JsonlWriter(target)]
    LocalPipelineExecutor(pipeline=steps, tasks=2).run()


if __name__ == "__main__":
    main(*sys.argv[1:5])
