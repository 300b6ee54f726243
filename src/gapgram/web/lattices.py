"""Where a probability comes from, as the page draws it: a lattice, or the chain of an ARPA file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gapgram.models.model import Model
from gapgram.queries.explain import PatternShare
from gapgram.queries.language_model import LanguageModel
from gapgram.web import responses

_NAMED_MEMBERS = 8  # of a class


def explained(model: LanguageModel, word: str, context: Sequence[str]) -> dict[str, Any]:
    """What an answer says of a probability, beside the question itself."""
    return _of_counts(model, word, context) if isinstance(model, Model) else _of_grams(model, word, context)


def _of_counts(model: Model, word: str, context: Sequence[str]) -> dict[str, Any]:
    whole = model.explain(word, context)
    named = {str(pattern): i for i, pattern in enumerate(model.counts.lattice.stored)}
    discounts = model.parts.arrays.discounts
    return {
        "probability": whole.probability,
        "patterns": [
            _pattern(share, whole.probability, discounts[named[share.pattern]][1:4].tolist())
            for share in whole.patterns
        ],
        "classes": _classes(model, [*whole.context, word]),
        "uniform_share": whole.uniform_share,
        "uniform_contribution": whole.uniform_contribution,
    }


def _pattern(share: PatternShare, probability: float, discounts: list[float]) -> responses.ExplainedPattern:
    return responses.ExplainedPattern(
        **vars(share),
        kept=_kept(share),
        chain=share.kind == "contiguous",
        classes=share.classes,
        discounts=discounts,
        part=share.contribution / probability,
    )


def _kept(share: PatternShare) -> list[str | None]:
    """The words of a pattern's context, None for a gap; a word of the text may itself be written `_`."""
    words = share.context.split(" ") if share.context else []
    kept = [mark != "0" for mark in share.pattern[:-1]]
    return [word if keep else None for word, keep in zip(words, kept, strict=True)]


def _classes(model: Model, words: list[str]) -> list[responses.WordClass]:
    """The classes of words in each clustering, each word once; of the members those that are most frequent."""
    arrays, vocabulary = model.parts.arrays, model.vocabulary
    clusterings = arrays.tables.class_of.reshape(-1, len(vocabulary))
    classes = []
    for word in dict.fromkeys(words):
        for clustering, class_of in enumerate(clusterings, 1):
            number = int(class_of[vocabulary.id(word)])
            begin, end = map(int, arrays.member_base[number : number + 2])
            members = [vocabulary[int(i)] for i in arrays.members[begin : min(end, begin + _NAMED_MEMBERS)]]
            classes.append(responses.WordClass(word=word, clustering=clustering, words=end - begin, members=members))
    return classes


def _of_grams(model: LanguageModel, word: str, context: Sequence[str]) -> dict[str, Any]:
    """A file of probabilities and backoff weights has no counts: all comes from the longest n-gram that it holds."""
    ids = np.array([model.vocabulary.id(one) for one in [*context, word]], np.int32)
    found = max(1, int(model.gram_lengths(ids)[-1]))
    probability = 10.0 ** model.log10_prob(word, context)
    patterns, arrived = [], [1.0]
    for length in range(len(ids), 0, -1):
        own = list(context[len(context) - (length - 1) :])
        if length > found:
            arrived.append(probability / 10.0 ** model.log10_prob(word, own[1:]))
        weight = arrived[len(ids) - length] if length >= found else 0.0
        passed = arrived[-1] / weight if length > found else 0.0
        patterns.append(
            responses.ExplainedPattern(
                pattern="1" * length, kept=list(own), chain=True, classes=False, given_class=1.0, total=None,
                count=None, discount=0.0, discounts=[], backoff=passed, share=weight,
                discounted=probability / weight if length == found else 0.0,
                contribution=probability if length == found else 0.0, part=float(length == found),
                below=["1" * (length - 1)] if length > 1 else [],
            )
        )  # fmt: skip
    return {
        "probability": probability, "patterns": patterns[::-1], "classes": [], "uniform_share": 0.0,
        "uniform_contribution": 0.0,
    }  # fmt: skip
