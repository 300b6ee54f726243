"""The words of a model of tokens as NeMo's decoders expect them in an ARPA file.

NeMo's decoders know tokens by their ids, and write an id as one character: the one with the number id + 100, so that no
white space is among them. What characters the tokeniser does not know become is a token with an id like any other;
`<s>`, `</s>` and `<unk>` stay what they are, and `<unk>` may only stand by itself, as in files that NeMo's own script
makes.
"""

from __future__ import annotations

from gapgram.errors import UsageError
from gapgram.kernels.text.special_words import SPECIAL, UNKNOWN, UNKNOWN_ID
from gapgram.models.backoff import BackoffModel
from gapgram.queries.language_model import LanguageModel

OFFSET = 100  # of characters, before the first id
_SURROGATES = range(0xD800, 0xE000)  # numbers that are no characters
_CHARACTERS = 0x110000


def nemo_words(model: LanguageModel, written: BackoffModel) -> list[str]:
    """The words of an ARPA file of a model, in the order of its vocabulary; `written` is what goes into the file."""
    if model.tokeniser is None:
        raise UsageError("the encoding nemo writes ids of tokens: train with the tokeniser of the acoustic model first")
    ids = model.tokeniser.engine.ids
    if not ids:
        raise UsageError(f"the encoding nemo writes ids of tokens: those of {model.tokeniser} have none")
    if (written.grams.words[written.grams.base[1] :] == UNKNOWN_ID).any():
        raise UsageError(
            f"the encoding nemo: NeMo reads no grams with {UNKNOWN} among their words; train without --min-count and "
            "--vocab-limit"
        )
    return [*SPECIAL, *(_character(word, ids.get(word)) for word in list(written.vocabulary)[len(SPECIAL) :])]


def nemo_labels(model: LanguageModel, n_labels: int | None = None) -> tuple[list[int | None], int]:
    """(the label of each word, None for special ones, how many labels the recogniser has).

    By the model's tokeniser; of a model without one, which was read from a file in this encoding, by its characters:
    n_labels must say then how many there are.
    """
    words = list(model.vocabulary)[len(SPECIAL) :]
    if model.tokeniser is not None and model.tokeniser.engine.ids:
        ids = model.tokeniser.engine.ids
        numbers = [ids.get(word, -1) for word in words]
        n_labels = max(ids.values()) + 1 if n_labels is None else n_labels
    elif n_labels is None:
        raise UsageError("NeMo's file has ids of tokens, and the model no tokeniser that has them: say --labels N, how "
                         "many the recogniser has, for a file that gapgram arpa --encoding nemo wrote")  # fmt: skip
    else:
        numbers = [ord(word) - OFFSET if len(word) == 1 else -1 for word in words]
    for word, number in zip(words, numbers, strict=True):
        if not 0 <= number < n_labels:
            raise UsageError(f"{word!r} is none of {n_labels:,} labels of the recogniser")
    return [*[None] * len(SPECIAL), *numbers], n_labels


def _character(word: str, number: int | None) -> str:
    """The character of a token.

    >>> _character("▁the", 3), ord(_character("x", 1023))
    ('g', 1123)
    """
    if number is None:
        raise UsageError(f"the encoding nemo: {word!r} is no token of the model's tokeniser, and has no id")
    if number + OFFSET in _SURROGATES or number + OFFSET >= _CHARACTERS:
        raise UsageError(f"the encoding nemo: id {number} of {word!r}: there is no character {number + OFFSET:#x}")
    return chr(number + OFFSET)
