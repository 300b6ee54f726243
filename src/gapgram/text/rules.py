"""How text is read: which words are kept, and what to do, and to say, where something is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass

from gapgram.arguments import checked_whole
from gapgram.arrays import Bytes
from gapgram.errors import TextError, UsageError
from gapgram.kernels.text import words as kernels
from gapgram.kernels.text.special_words import SPECIAL
from gapgram.text.files import Block

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


def invalid_utf8(block: Block, at: int) -> TextError:
    """What to say of a byte of a block."""
    line_begin = block.data.rfind(b"\n", 0, at) + 1
    line = block.first_line + block.data.count(b"\n", 0, at)
    if line == 1 and block.data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return TextError(f"{block.name}:1: starts with a UTF-16 byte-order mark: convert it to UTF-8 first")
    return TextError(
        f"{block.name}:{line}: byte {at - line_begin + 1} of the line (0x{block.data[at]:02x}) is not valid UTF-8: "
        "fix the file, or have such bytes replaced (--invalid replace)"
    )


def special_word(block: Block, text: Bytes, line_begin: int, rules: TextRules) -> TextError:
    """What to say of the line that a kernel stopped at, for a word that it may not hold."""
    data = text.tobytes()  # not block.data, whose places move where bytes were replaced
    line = block.first_line + data.count(b"\n", 0, line_begin)
    refused = SPECIAL if rules.special == "error" else SPECIAL[1:]
    words = data[line_begin : data.index(b"\n", line_begin)].split()
    word = next(w for w in refused if w.encode() in words)
    advice = "leave such words out (--special skip)"
    if word == SPECIAL[0]:
        advice += " or let it stand for unknown words (--special unk)"
    return TextError(f"{block.name}:{line}: the word {word} is the model's own: {advice}")
