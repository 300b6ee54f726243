"""A backoff model of a given size that is as near as can be to a model with gaps.

The model draws text, which says how often each context will be met. For each context, the shorter ones first, the model
says which words are more, or less, probable after it than shorter contexts say; those that gain enough become grams
(`longer_grams`). More are grown than there is room for; probabilities are fitted to the drawn text (`fitting`), the
grams go that lose least (`limits`), and what stays is fitted again. The same model gives the same file.

Drawn text does not say when more grams make new text less probable: held-out text does, where it is given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from gapgram.arguments import checked_whole
from gapgram.errors import UsageError
from gapgram.models.arpa.growing.drawn_text import draw_text
from gapgram.models.arpa.growing.fitting import GrownGrams
from gapgram.models.arpa.growing.limits import GramChoice, Limit, check_memory, limit_of
from gapgram.models.arpa.growing.longer_grams import grown
from gapgram.models.backoff import BackoffModel
from gapgram.models.model import Model
from gapgram.queries.language_model import LanguageModel, checked_model
from gapgram.system.parallel import checked_threads

_DRAWN, _MOST_DRAWN = 1.7, 20  # words for each gram that there is room for: at least, and
_ENOUGH_DRAWN = 16_000_000  # up to so many words
_MORE_SEED = 1 << 20  # of as many words more, in which grams are only counted
_LEAST_GAIN = 0.05  # nats that a gram must gain over the drawn text
_LEAST_MET = 3  # times that a context must be met for grams of its own
_TRIES = 3  # at growing enough
_FULL = 0.75  # of the room, below which fewer grams were better
_AT_ONCE = 4  # by how much grams are made fewer before they are fitted again


def grow(
    model: LanguageModel,
    *,
    grams: str | int | None = None,
    size: str | int | None = None,
    order: int | None = None,
    held_out: str | Path | None = None,
    threads: int | None = None,
    progress: bool = False,
) -> BackoffModel:
    """The backoff model of a size that is as near as can be to a model; options are those of `grow_arpa`.

    >>> import gapgram
    >>> model = gapgram.train(sentences=["the cat sat", "the dog sat", "a cat ran"] * 9, order=3)
    >>> small = grow(model, grams=20)
    >>> sum(small.grams.sizes()) <= 20, float(small.distribution("the").sum().round(6))
    (True, 1.0)
    """
    own, longest = checked_to_grow(model, order)
    limit = limit_of(own, grams, size, longest)
    measure = measure_on(own, held_out)
    fit = grown_fit(own, limit, longest, threads, measure=measure, progress=progress)
    return as_model(own, within(fit, limit, measure))


def checked_to_grow(model: LanguageModel, order: int | None) -> tuple[Model, int]:
    """A model that is worth growing from, and the order to grow to."""
    checked_model("grow", model)
    if not isinstance(model, Model):
        raise UsageError(f"{model.path or 'the model'}: no glm, and nothing to grow from: write it without --grow")
    if model.counts.lattice.name == "chain" and model.parts.weights.name in ("none", "uniform"):
        raise UsageError(
            f"{model.path or 'the model'}: an mkn has an exact ARPA file: write it without --grow, and where that is "
            "too large, prune it first (gapgram prune)"
        )
    longest = model.order if order is None else checked_whole("order", order)
    if not 1 <= longest <= model.order:
        raise UsageError(f"order {longest}: expected 1 to {model.order}, the order of the model")
    return model, longest


Measure = Callable[[GrownGrams], float]


def measure_on(model: Model, held_out: str | Path | None) -> Measure | None:
    """The perplexity of a text under grams that were grown; None without one."""
    if held_out is None:
        return None
    return lambda fit: as_model(model, fit).perplexity(held_out).perplexity


def grown_fit(
    model: Model,
    limit: Limit,
    order: int,
    threads: int | None = None,
    *,
    measure: Measure | None = None,
    enough: int = _ENOUGH_DRAWN,
    progress: bool = False,
) -> GrownGrams:
    """More grams than there is room for, with fitted figures.

    With a measure, where more text would have to be drawn than is `enough`, half is grown first, and all of it only if
    half of that half is worse.
    """
    check_memory(limit)
    if measure is not None and _DRAWN * limit.grams > enough:
        half = replace(limit, room=limit.room // 2)
        fit = grown_fit(model, half, order, threads, measure=measure, enough=enough, progress=progress)
        best = within(fit, half, measure)
        if GramChoice(best, half).taken < _FULL * half.room:
            return best
        whole = within(_grown_fit(model, limit, order, threads, enough, progress=progress), limit, measure)
        return whole if measure(whole) < measure(best) else best
    return _grown_fit(model, limit, order, threads, enough, progress=progress)


def _grown_fit(
    model: Model, limit: Limit, order: int, threads: int | None, enough: int, *, progress: bool
) -> GrownGrams:
    n_threads, n_grams = checked_threads(threads), limit.grams
    n_words = int(max(_DRAWN * n_grams, min(_MOST_DRAWN * n_grams, enough)))
    text = np.concatenate(list(draw_text(model, n_words, threads=n_threads, progress=progress)))
    for tried in range(_TRIES):
        least_met, least_gain = _LEAST_MET - min(tried, 2), _LEAST_GAIN / 3**tried
        grams = grown(model, text, least_met, least_gain, order=order, threads=n_threads, progress=progress)
        fit = GrownGrams.of(grams)
        if GramChoice(fit, limit).taken > limit.room:
            break
    more = draw_text(model, n_words, seed=_MORE_SEED, threads=n_threads, progress=progress)
    return fit.counted([text]).counted(more).fitted()


def within(fit: GrownGrams, limit: Limit, measure: Measure | None = None) -> GrownGrams:
    """The grams that have room, fitted again; with a measure half of them, as long as that is better."""
    while (taken := (choice := GramChoice(fit, limit)).taken) > limit.room:  # what is fitted anew may be longer
        fit = choice.best(max(limit.room, taken // _AT_ONCE)).fitted()
    found = measure(fit) if measure is not None else 0.0
    while measure is not None:
        fewer = choice.best(choice.taken // 2).fitted()
        choice, other = GramChoice(fewer, limit), measure(fewer)
        if other >= found:
            break
        fit, found = fewer, other
    return fit


def as_model(model: Model, fit: GrownGrams) -> BackoffModel:
    """A backoff model of what was grown from a model."""
    source = f"grown:backoff|of:({model.signature})"
    return BackoffModel(model.vocabulary, fit.grams(), source, tokeniser=model.tokeniser)
