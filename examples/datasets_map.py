"""Perplexity as columns of a Hugging Face dataset: a function for `datasets.Dataset.map`, in batches.

    pip install datasets
    python examples/datasets_map.py MODEL records.jsonl
"""

from __future__ import annotations

import sys
from typing import Any

import gapgram
from gapgram.queries.language_model import LanguageModel


class AddPerplexity:
    """Adds perplexity, words and the share of unknown words to batches; pickled by the path of its model."""

    def __init__(self, model: LanguageModel | str, *, column: str = "text") -> None:
        self.model = gapgram.load(model) if isinstance(model, str) else model
        self.column = column

    def __call__(self, batch: dict[str, list[Any]]) -> dict[str, list[Any]]:
        """The new columns of a batch."""
        scores = gapgram.DocumentScorer(self.model).score(batch[self.column])
        return {
            "perplexity": [score.perplexity for score in scores],
            "words": [score.words for score in scores],
            "unknown_share": [score.unknown_share for score in scores],
        }


def main(model: str, records: str) -> None:
    """Print the least surprising records of a file."""
    import datasets

    found = datasets.load_dataset("json", data_files=records, split="train")
    found = found.map(AddPerplexity(model), batched=True, batch_size=512)
    for record in found.sort("perplexity").select(range(min(5, len(found)))):
        print(f"{record['perplexity']:.1f}\t{record['text'][:80]}")


if __name__ == "__main__":
    main(*sys.argv[1:3])
