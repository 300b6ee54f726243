"""What a study found: every figure with the text, model, protocol and signature it belongs to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from studies.config import StudyConfig
from studies.protocols import Tally

Values = dict[str, Any]


@dataclass(frozen=True)
class TextKey:
    """A training text of the study."""

    corpus: str
    lines: int
    is_main: bool
    is_size: bool


@dataclass(frozen=True)
class Measurement:
    """The perplexity of one model by one protocol; `part` is complete, unseen or observed."""

    text: TextKey
    model: str
    order: int
    protocol: str
    part: str
    tally: Tally
    signature: str

    def as_dict(self) -> Values:
        """All figures by name, for JSON."""
        return {
            "corpus": self.text.corpus, "training_lines": self.text.lines, "model": self.model, "order": self.order,
            "protocol": self.protocol, "part": self.part, "perplexity": _figure(self.tally.perplexity),
            "perplexity_known": _figure(self.tally.perplexity_known), **asdict(self.tally),
            "signature": self.signature,
        }  # fmt: skip


@dataclass
class Findings:
    """All results of a study, in the order in which they were asked for."""

    config: StudyConfig
    statistics: dict[TextKey, Values] = field(default_factory=dict)
    once: dict[TextKey, Values] = field(default_factory=dict)
    sizes: dict[tuple[TextKey, str, int], Values] = field(default_factory=dict)
    measurements: list[Measurement] = field(default_factory=list)

    def select(self, protocol: str, part: str = "complete", *, sizes: bool = False) -> Iterator[Measurement]:
        """The measurements of the corpora's main texts, or of the texts of various sizes."""
        for measurement in self.measurements:
            chosen = measurement.text.is_size if sizes else measurement.text.is_main
            if chosen and measurement.protocol == protocol and measurement.part == part:
                yield measurement

    def as_dict(self) -> Values:
        """Everything, for JSON."""
        return {
            "statistics": [{**_place(text), **values} for text, values in self.statistics.items()],
            "once": [{**_place(text), "patterns": values} for text, values in self.once.items()],
            "models": [
                {**_place(text), "model": model, "order": order, **values}
                for (text, model, order), values in self.sizes.items()
            ],
            "measurements": [measurement.as_dict() for measurement in self.measurements],
        }


def _place(text: TextKey) -> Values:
    return {"corpus": text.corpus, "training_lines": text.lines}


def _figure(value: float) -> float | None:
    return None if value != value else value
