"""Texts to begin with: of held-out text, where there is one; else the first model writes them."""

from __future__ import annotations

from collections.abc import Sequence

from gapgram.reporting.showcase import best_places, rule_of
from gapgram.text.splitting import as_written
from gapgram.web import limits
from gapgram.web.pool import Deadline
from gapgram.web.requests import GenerateQuestion, PredictQuestion
from gapgram.web.responses import Examples
from gapgram.web.served import ServedModel

_TRIES = limits.SENTENCES
_SHOWN = 3  # sentences


def make_examples(served: Sequence[ServedModel], held_out: Sequence[str] = ()) -> Examples:
    """The beginning of a sentence, the word that follows, and a text of some sentences."""
    return (_of_held_out(served, held_out) if held_out else None) or _of_model(served[0])


def _of_held_out(served: Sequence[ServedModel], held_out: Sequence[str]) -> Examples | None:
    """Places where the models differ most; None where no sentence has one."""
    chosen = next((one for one in served if one.description.skips), served[0])
    others = (one.model for one in served if one is not chosen and not one.description.skips)
    if chosen.model.tokeniser is not None:
        return None
    places = best_places(chosen.model, held_out, _SHOWN, beside=next(others, None))
    if not places:
        return None
    first = places[0]
    words = first.sentence.split(" ")
    seen = [*first.context, first.word]
    at = next(i for i in range(len(words)) if words[max(0, i - len(seen) + 1) : i + 1] == seen)
    return Examples(
        beginning=as_written(words[:at]),
        next_word=first.word,
        text="\n".join(as_written(place.sentence.split(" ")) for place in places),
        told=f"The examples are {rule_of(chosen.model)}.",
    )


def _of_model(served: ServedModel) -> Examples:
    """Of plain and odd sentences that the model writes."""
    plain = _sentences(served, temperature=0.4)
    odd = _sentences(served, temperature=1.2)
    words = plain[0].split()
    begin = " ".join(words[: max(1, min(4, len(words) - 1))])
    predictions = served.predict(PredictQuestion(model=served.name, context=begin, k=1)).predictions
    return Examples(
        beginning=begin,
        next_word=predictions[0].word if predictions else words[-1],
        text="\n".join([*plain[:2], odd[0]]),
        told=f"The examples were written by {served.name}; gapgram serve --text FILE takes them from held-out text.",
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
