"""Texts to begin with, in whatever language the models were trained on: the first model writes them."""

from __future__ import annotations

from gapgram.web import limits
from gapgram.web.pool import Deadline
from gapgram.web.requests import GenerateQuestion, PredictQuestion
from gapgram.web.responses import Examples
from gapgram.web.served import ServedModel

_TRIES = limits.SENTENCES


def make_examples(served: ServedModel) -> Examples:
    """The beginning of a plain sentence, a word that may follow, and a text of plain and of odd sentences."""
    plain = _sentences(served, temperature=0.4)
    odd = _sentences(served, temperature=1.2)
    words = plain[0].split()
    begin = " ".join(words[: max(1, min(4, len(words) - 1))])
    predictions = served.predict(PredictQuestion(model=served.name, context=begin, k=1)).predictions
    return Examples(
        beginning=begin,
        next_word=predictions[0].word if predictions else words[-1],
        text="\n".join([*plain[:2], odd[0]]),
    )


def _sentences(served: ServedModel, temperature: float) -> list[str]:
    """Sentences that the model writes, those of a handy length first."""
    question = GenerateQuestion(
        model=served.name, sentences=_TRIES, temperature=temperature, top_k=200, max_words=25, seed=5
    )
    drawn = served.generate(question, Deadline.never()).sentences
    return sorted(drawn, key=_awkwardness)


def _awkwardness(sentence: str) -> tuple[bool, int]:
    """Whether it does not begin like a sentence; how far it is from a dozen words, marks and the like held against it.

    >>> sorted(['A " b " c d e f', "A b c d e f g", ""], key=_awkwardness)[0]
    'A b c d e f g'
    """
    words = sentence.split()
    marks = sum(not word.isalnum() for word in words[:-1])
    return not sentence[:1].isupper(), 2 * abs(len(words) - 12) + 3 * marks
