"""A warning where the words of a text touch punctuation marks that its model knows as words of their own."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gapgram.errors import SplitWarning
from gapgram.text.files import Block
from gapgram.text.splitting import split_marks

if TYPE_CHECKING:
    from gapgram.queries.language_model import LanguageModel

_LOOKED_AT = 1 << 13  # bytes of a text
_LEAST_SHARE, _FEWEST = 0.03, 2  # of its words
_NAMED = 3
CURE = "let the model cut raw text (gapgram about MODEL --split marks -o NEW), or give it text that is cut"


def warn_of_attached_marks(model: LanguageModel, block: Block, cure: str = CURE) -> None:
    """Look at the beginning of a text; many words that would be known without their marks are warned of."""
    if model.cuts_text or block.is_tokenised:
        return
    words = block.text[:_LOOKED_AT].tobytes().decode("utf-8", "replace").split()
    attached = words_with_marks(model, words)
    if len(attached) >= max(_FEWEST, _LEAST_SHARE * len(words)):
        named = ", ".join(dict.fromkeys(attached[:_NAMED]))
        warnings.warn(
            f"{block.name}: {len(attached) / len(words):.0%} of the words are unknown for the punctuation marks that "
            f"they touch ({named}), which the model knows as words of their own:\n{cure}",
            SplitWarning,
            stacklevel=2,
        )


def words_with_marks(model: LanguageModel, words: Sequence[str]) -> list[str]:
    """The words that a model does not know, but for the marks that they touch, all of which it knows."""
    known, attached = model.vocabulary, []
    for word in words:
        parts = [word] if word.isalnum() else split_marks(word)
        if len(parts) > 1 and word not in known and all(map(known.id, parts)):
            attached.append(word)
    return attached
