"""A gapgram model with the interface of nltk.lm."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from random import Random
from typing import Any, NoReturn

from gapgram.errors import UsageError, to_install
from gapgram.kernels.text.special_words import END, START, UNKNOWN
from gapgram.models.open import load
from gapgram.queries.generate import pick
from gapgram.queries.language_model import LanguageModel as AnyLanguageModel

try:
    from nltk.lm import Vocabulary
    from nltk.lm.api import LanguageModel
except ImportError as error:
    raise ImportError(f"this adapter needs NLTK: {to_install('nltk')}") from error


class NltkModel(LanguageModel):  # type: ignore[misc]
    """nltk.lm's `LanguageModel` with a gapgram model or a path to one: score, logscore, entropy, perplexity.

    Text is padded as NLTK does it. Several `<s>` in a row count as one. After `</s>` there is only padding: `</s>` has
    the score 1 there, all else 0. Padding is no prediction, and left out of entropy and perplexity: of
    `ngrams(pad_both_ends(sentence, n), n)` these are the model's own.
    """

    def __init__(self, model: AnyLanguageModel | str | os.PathLike[str]) -> None:
        self.model = load(model) if isinstance(model, str | os.PathLike) else model
        super().__init__(self.model.order, _vocabulary(self.model))

    def fit(self, text: Iterable[Any], vocabulary_text: Iterable[str] | None = None) -> NoReturn:
        """Refused: a model of gapgram is trained by `gapgram.train` and never changed."""
        raise UsageError("a gapgram model is never changed: train another with gapgram.train")

    def context_counts(self, context: Sequence[str]) -> NoReturn:
        """Refused: the counts of a gapgram model are in `model.counts`, by pattern."""
        raise UsageError("the counts of a gapgram model are in model.counts, by pattern")

    def unmasked_score(self, word: str, context: Sequence[str] | None = None) -> float:
        """P(word | context)."""
        if _is_padding(word, context or ()):
            return float(word == END)
        return float(10.0 ** self.model.log10_prob(word, _sentence_so_far(context or ())))

    def entropy(self, text_ngrams: Iterable[Sequence[str]]) -> float:
        """The mean of -log2 of the scores of the last words of n-grams, padding left out."""
        predictions = [gram for gram in text_ngrams if not _is_padding(gram[-1], gram[:-1])]
        return float(super().entropy(predictions))

    def generate(
        self, num_words: int = 1, text_seed: Sequence[str] | None = None, random_seed: Any = None
    ) -> str | list[str]:
        """One word, or a list of them, drawn from the model's distribution."""
        draw = random_seed if isinstance(random_seed, Random) else Random(random_seed)
        words = list(text_seed or ())
        for _ in range(num_words):
            if words[-1:] == [END]:
                words.append(END)
                continue
            chances = self.model.distribution(_sentence_so_far(words))
            words.append(self.model.vocabulary[pick(chances, draw.random())])
        drawn = words[len(words) - num_words :]
        return drawn[0] if num_words == 1 else drawn


def _vocabulary(model: AnyLanguageModel) -> Any:
    """NLTK's list of words; it puts `<unk>` there itself."""
    return Vocabulary([word for word in model.vocabulary if word != UNKNOWN], unk_cutoff=1, unk_label=UNKNOWN)


def _is_padding(word: str, context: Sequence[str]) -> bool:
    """Whether a word is there because NLTK pads sentences: `<s>`, or what comes after `</s>`.

    >>> _is_padding("a", ("</s>", "b")), _is_padding("</s>", ("a", "</s>")), _is_padding("<s>", ("<s>",))
    (False, True, True)
    """
    return word == START or tuple(context[-1:]) == (END,)


def _sentence_so_far(words: Sequence[str]) -> list[str]:
    """The words of a context from the last `<s>` on, or from the last `</s>`, after which a sentence begins.

    >>> _sentence_so_far(["<s>", "<s>", "a"]), _sentence_so_far(["a", "</s>", "b"]), _sentence_so_far(["a"])
    (['<s>', 'a'], ['<s>', 'b'], ['a'])
    """
    for word in words:
        if not isinstance(word, str):
            raise TypeError(f"a context is a sequence of words, found {word!r}")
    for i in reversed(range(len(words))):
        if words[i] in (START, END):
            return [START, *words[i + 1 :]]
    return list(words)
