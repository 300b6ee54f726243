"""What a number depends on, in one line: no figure without its signature."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass

__version__ = "1.0.0"


@dataclass(frozen=True)
class Signature:
    """The model behind a figure.

    `tokenizer`, `splitting`, `unbounded`, `pruned` and `counts` are said only where a model has a tokeniser, cuts marks
    off words, keeps its text, is pruned, its counts not exact.

    >>> print(Signature(order=3, model="mkn", lattice="chain", classes="none", weights="none", discounts="modified",
    ...                 vocabulary="min_count=1", corpus="00c0ffee"))
    order:3|model:mkn|lattice:chain|classes:none|weights:none|discounts:modified|vocabulary:min_count=1|unknown:uniform|log:10|corpus:00c0ffee|gapgram:1.0.0
    """

    order: int
    model: str
    lattice: str
    classes: str
    weights: str
    discounts: str
    vocabulary: str
    tokenizer: str = ""
    splitting: str = ""
    unbounded: str = ""
    pruned: str = ""
    unknown: str = "uniform"
    counts: str = ""
    log: int = 10
    corpus: str = ""
    gapgram: str = __version__

    def __str__(self) -> str:
        left_out = ("tokenizer", "splitting", "unbounded", "pruned", "counts")
        shown = {name: value for name, value in asdict(self).items() if value or name not in left_out}
        return "|".join(f"{name}:{value}" for name, value in shown.items())


def is_same_model(a: str, b: str) -> bool:
    """Whether two signatures name the same model, whichever versions of gapgram said so.

    >>> is_same_model("order:3|corpus:c0ffee|gapgram:1.0.0", "order:3|corpus:c0ffee|gapgram:1.2.0")
    True
    """
    return _without_version(a) == _without_version(b)


def _without_version(signature: str) -> str:
    return re.sub(r"\|gapgram:[^|)]*", "", signature)
