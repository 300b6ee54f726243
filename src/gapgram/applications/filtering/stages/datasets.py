"""A function for `datasets.Dataset.map(…, batched=True, num_proc=N)` of Hugging Face."""

from __future__ import annotations

import os
from typing import Any

from gapgram.applications.filtering.documents import ScoredByPath
from gapgram.queries.language_model import LanguageModel


class AddPerplexity:
    """Adds perplexity, words and the share of unknown words as columns.

    `dataset.map(AddPerplexity("en"), batched=True, num_proc=4).filter(lambda row: row["perplexity"] < 500)`

    column: of the text. prefix: of the names of the new columns.

    >>> import gapgram, tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "my.model")
    >>> model = gapgram.train(sentences=["the cat sat", "the dog sat"] * 9, order=3, model="mkn", output=path)
    >>> AddPerplexity(path)({"text": ["the emu sat", ""]})["unknown_share"]
    [0.3333333333333333, 0.0]
    """

    def __init__(
        self, model: LanguageModel | str | os.PathLike[str], *, column: str = "text", prefix: str = "",
        normalise: str | None = None,
    ) -> None:  # fmt: skip
        self._scored, self.column, self.prefix = ScoredByPath(model, normalise), column, prefix

    def __call__(self, batch: dict[str, list[Any]]) -> dict[str, list[Any]]:
        """The new columns of a batch; an empty text has a perplexity of None."""
        scores = self._scored([text or "" for text in batch[self.column]])
        return {
            f"{self.prefix}perplexity": [score.perplexity if score.words else None for score in scores],
            f"{self.prefix}words": [score.words for score in scores],
            f"{self.prefix}unknown_share": [score.unknown_share for score in scores],
        }
