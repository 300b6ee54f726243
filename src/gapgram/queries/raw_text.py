"""Raw text as words of a model: cut by its tokeniser, where it has one, and put together again."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

from gapgram.arguments import wrong_type
from gapgram.arrays import Bytes
from gapgram.errors import UsageError
from gapgram.kernels.special_words import START
from gapgram.text.corpus import QUERY_RULES, TextRules
from gapgram.text.files import Block
from gapgram.text.tokenisers.tokeniser import Tokeniser
from gapgram.text.vocabulary import Vocabulary

Sentence = str | Sequence[str]

WHITE_SPACE = re.compile(r"[ \t\n\v\f\r]")  # as text is split: that of ASCII


class ReadsText(ABC):
    """What a model makes of a text: its words, which are tokens where it has a tokeniser."""

    @property
    @abstractmethod
    def vocabulary(self) -> Vocabulary:
        """The words the model knows, and their ids."""

    @property
    def tokeniser(self) -> Tokeniser | None:
        """What cuts raw text into the model's words, its tokens; None where words are what white space separates."""
        return None

    def tokens(self, text: str) -> list[str]:
        """The words of a text, one line, as the model has them: tokens, or what white space separates.

        >>> import gapgram
        >>> model = gapgram.train(sentences=["a cat", "a bat"] * 9, order=3, model="mkn", tokenizer="chars")
        >>> model.tokens("a cat"), model.text_of(["a", "▁", "b"])
        (['a', '▁', 'c', 'a', 't'], 'a b')
        """
        if self.tokeniser is not None:
            return self.tokeniser.encode(text)
        return [word.decode("utf-8", "surrogatepass") for word in text.encode("utf-8", "surrogatepass").split()]

    def text_of(self, tokens: Sequence[str]) -> str:
        """The text of words that the model has: what `tokens` has cut, put together again."""
        return " ".join(tokens) if self.tokeniser is None else self.tokeniser.decode(tokens)

    def tokenised(self, block: Block, rules: TextRules = QUERY_RULES) -> Block:
        """Lines of text as lines of the model's words: those of a model with a tokeniser are cut, once."""
        if self.tokeniser is None or block.is_tokenised or rules.tokenised:
            return block
        return self.tokeniser.tokenised(block, rules)

    def raw_text(self, block: Block, rules: TextRules) -> Bytes | None:
        """The bytes of lines as they were written; None where they came as tokens."""
        is_tokens = self.tokeniser is not None and (block.is_tokenised or rules.tokenised)
        return None if is_tokens else block.text

    def _context_words(self, context: Sentence) -> list[str]:
        """The words of a context: of a text, before which `<s>` may stand, or a list of words."""
        if not isinstance(context, str):
            return _listed(context)
        if self.tokeniser is None or context.split(" ", 1)[0] != START:
            return self.tokens(context)
        return [START, *self.tokens(context.removeprefix(START))]


def check_counts_words(model: ReadsText, work: str) -> None:
    """Refuse a model of tokens for work that is done word by word."""
    if model.tokeniser is not None:
        raise UsageError(f"{work} goes word by word, and the model counts tokens ({model.tokeniser}): use one of words")


def _listed(context: Sequence[str]) -> list[str]:
    """The words of a context that was given as a list."""
    if isinstance(context, bytes) or not isinstance(context, Iterable):
        raise wrong_type("context", context, "a string or a list of words")
    words = list(context)
    for word in words:
        if not isinstance(word, str):
            raise wrong_type("context", word, "words that are strings")
        if WHITE_SPACE.search(word):
            raise UsageError(f"context: {word!r}: a word of a list may not hold white space; give a string or words")
    return words
