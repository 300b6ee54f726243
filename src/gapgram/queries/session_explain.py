"""Where a probability of a session comes from: the model, and each view of what was read."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple


class SourceShare(NamedTuple):
    """What the model or one view of the history says of a word.

    weight: of the source among all; probability: that it gives the word; contribution: the product.
    """

    source: str
    weight: float
    probability: float
    contribution: float


@dataclass(frozen=True)
class SessionExplanation:
    """The probability of a word after a context, by source: the model first, then the views of what was read."""

    word: str
    context: tuple[str, ...]
    probability: float
    sources: tuple[SourceShare, ...]
    words_read: int
    signature: str

    def as_dict(self) -> dict[str, Any]:
        """All figures by name, for JSON."""
        return {**asdict(self), "sources": [source._asdict() for source in self.sources]}
