"""What to say of lines that may not be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapgram.arrays import Bytes
from gapgram.errors import TextError
from gapgram.kernels.text.special_words import SPECIAL
from gapgram.text.files import Block

if TYPE_CHECKING:
    from gapgram.text.corpus import TextRules


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
