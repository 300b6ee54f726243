"""Places of held-out text that show what skipping a word buys, chosen by one rule.

A place is a word after other words, all of letters and known to the model, as many as it can see, in a sentence of 6 to
25 words. Its gain is the bits that it would cost more without the patterns with gaps and classes; of a model that has
none of them, without its context. Only words with a probability of `LEAST` or more are asked about, since a guess that
nobody would make shows nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from gapgram.models.model import Model
from gapgram.queries.explain import Explanation
from gapgram.queries.language_model import LanguageModel

LEAST = 0.05  # the probability of a word that is shown
_OF = "those of held-out text, among words of 5 % or more and sentences of 6 to 25 words, where"
RULE = f"{_OF} gaps and classes save most bits; one of a sentence"
RULE_OF_CONTEXT = f"{_OF} the context saves most bits; one of a sentence"
_LETTERS = 3  # that a word has
_LENGTHS = range(6, 26)  # of sentences, in words
_ASKED = 400  # words whose explanation is computed; those on which another model fares worst first


@dataclass(frozen=True)
class TellingPlace:
    """A word of a sentence, and what its probability gains; `sentence` has its words with blanks between them."""

    sentence: str
    context: tuple[str, ...]
    word: str
    gain: float


def best_places(
    model: LanguageModel, sentences: Iterable[str], n: int = 5, *, beside: LanguageModel | None = None
) -> list[TellingPlace]:
    """The places with the largest gains, each of another sentence.

    beside: a model without gaps, beside which the model saves bits; it is asked to find places, and those where it
        fares better are left out.
    """
    found = sorted(_places(model, list(sentences), beside), key=lambda place: -place[0])[:_ASKED]
    places: dict[str, TellingPlace] = {}
    for _, context, word, sentence in found:
        place = TellingPlace(sentence, tuple(context), word, _gain(model, context, word))
        if place.gain > places.get(sentence, place).gain or sentence not in places:
            places[sentence] = place
    return sorted(places.values(), key=lambda place: -place.gain)[:n]


def rule_of(model: LanguageModel) -> str:
    """The rule that places of a model are chosen by, in a sentence."""
    return RULE if skips(model) else RULE_OF_CONTEXT


def skips(model: LanguageModel) -> bool:
    """Whether a model has patterns with gaps or classes."""
    return isinstance(model, Model) and any(
        pattern.classes or not pattern.is_contiguous for pattern in model.counts.lattice.stored
    )


def gain_of(explanation: Explanation) -> float:
    """The bits that a word would cost more without patterns with gaps and classes."""
    rest = explanation.uniform_contribution + sum(
        p.contribution for p in explanation.patterns if p.kind == "contiguous"
    )
    return math.log2(explanation.probability / max(rest, 1e-300))


def _gain(model: LanguageModel, context: Sequence[str], word: str) -> float:
    if isinstance(model, Model) and skips(model):
        return gain_of(model.explain(word, context))
    return (model.log10_prob(word, context) - model.log10_prob(word)) / math.log10(2)


def _places(
    model: LanguageModel, sentences: Sequence[str], beside: LanguageModel | None
) -> Iterator[tuple[float, list[str], str, str]]:
    """(bits that it saves, context, word, sentence) of each place."""
    least, reach = math.log10(LEAST), model.order - 1
    for sentence in sentences:
        words = model.tokens(sentence)
        if len(words) not in _LENGTHS:
            continue
        scores = model.scores(words).tolist()
        others = beside.scores(words).tolist() if beside is not None else None
        for i in range(reach, len(words)):
            saved = scores[i] - others[i] if others else scores[i]
            seen = words[i - reach : i + 1]
            plain = len(words[i]) >= _LETTERS and all(word.isalpha() and word in model for word in seen)
            if plain and scores[i] >= least and (others is None or saved > 0):
                yield saved, seen[:-1], words[i], sentence
