"""How text is read: which words are kept, and what to do with what may be wrong with it."""

from __future__ import annotations

from dataclasses import dataclass

from gapgram.arguments import checked_whole
from gapgram.errors import UsageError
from gapgram.kernels.text import words as kernels

SPECIAL_RULES = {
    "error": kernels.REFUSE_SPECIAL,
    "skip": kernels.SKIP_SPECIAL,
    "unk": kernels.ALLOW_UNKNOWN,
}


@dataclass(frozen=True)
class TextRules:
    """How text is read: which words are kept, and what to do with special words and bytes that are not UTF-8.

    special: `error`, `skip` (leave such words out), or `unk` (`<unk>` in the text stands for unknown
        words; `<s>` and `</s>` are still errors).
    invalid: `error`, or `replace` (by U+FFFD).
    empty_lines: where a model is trained, `skip` them, or `count` each as a sentence of no words, as lmplz does.
    min_count, vocab_limit: where a vocabulary is learned, words met less often, and all but the N most frequent
        (ties by the order of their bytes), become `<unk>`.
    tokenised: of a model with a tokeniser, whether the text is cut into its tokens already.
    open_vocabulary: where a vocabulary is learned, whether words are sampled for a model of how words are spelled.
    """

    special: str = "error"
    invalid: str = "error"
    min_count: int = 1
    vocab_limit: int | None = None
    empty_lines: str = "skip"
    tokenised: bool = False
    open_vocabulary: bool = False

    def __post_init__(self) -> None:
        if self.special not in SPECIAL_RULES:
            raise UsageError(f"special words: {self.special!r}; expected error, skip or unk")
        if self.invalid not in ("error", "replace"):
            raise UsageError(f"invalid UTF-8: {self.invalid!r}; expected error or replace")
        if self.empty_lines not in ("skip", "count"):
            raise UsageError(f"empty lines: {self.empty_lines!r}; expected skip or count")
        if checked_whole("minimum count", self.min_count) < 1:
            raise UsageError(f"minimum count {self.min_count}: expected 1 or more")
        if self.vocab_limit is not None and checked_whole("vocabulary limit", self.vocab_limit) < 1:
            raise UsageError(f"vocabulary limit {self.vocab_limit}: expected 1 or more words")


MIN_COUNT_OPEN = 2  # by default, where the vocabulary is open: words met once show how often unknown ones come
QUERY_RULES = TextRules(special="unk")  # of a text that a model is asked about
