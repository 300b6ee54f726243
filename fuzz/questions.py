"""What a model is asked, and which answers are possible: numbers that are finite, probabilities that are some."""

from __future__ import annotations

from typing import Any

import numpy as np

CONTEXTS: tuple[tuple[str, ...], ...] = ((), ("<s>",), ("w1", "w2"), ("<s>", "w3", "w1", "w2"), ("never", "w5"))
SENTENCES = ("w1 w2 w3 w4 w5", "w9 never w1 w2 w1 w2 w3", "w7", "")
CLOSE = 1e-6


class Impossible(Exception):
    """An answer that no model can give."""


def expect(holds: bool, what: str) -> None:
    """Fail unless an answer is possible."""
    if not holds:
        raise Impossible(what)


def ask(model: Any, *, sums_to_one: bool = True, most: float = 0.0) -> None:
    """Ask a model all kinds of questions; `sums_to_one`: whether distributions must, and scores must be theirs.

    most: a score is not above it. Figures of backoff files may say anything.
    """
    scores = model.score_many(SENTENCES)
    expect(bool(np.isfinite(scores).all() and (scores <= most).all()), f"scores {scores}")
    each = model.scores(SENTENCES[0])
    expect(bool(np.isfinite(each).all() and (each <= most).all()), f"scores of words {each}")
    if model.open_vocabulary:
        opened = model.score_many(SENTENCES, open_vocabulary=True)
        expect(bool(np.isfinite(opened).all() and (opened <= 0).all()), f"scores with spelling {opened}")
    for context in CONTEXTS:
        whole = model.distribution(context)
        expect(bool((whole >= 0).all() and (whole <= 1).all()), f"probabilities from {whole.min()} to {whole.max()}")
        if sums_to_one:
            expect(abs(float(whole.sum()) - 1) < CLOSE, f"a distribution that sums to {whole.sum()}")
            for word_id in (0, 2, len(whole) - 1):
                shown = model.vocabulary[word_id]
                score, probability = model.log10_prob(shown, context), whole[model.vocabulary.id(shown)]
                expect(abs(10.0**score - probability) < CLOSE, f"a score of {score} for {probability}")
    for options in ({"k": 3}, {"k": 200}, {"k": 3, "prefix": "w1"}, {"k": 3, "special": True}):
        for found in model.predict(("w1", "w2"), **options):
            expect(0 <= found.probability <= 1, f"predicted {found}")
    state, total = model.begin_sentence(), 0.0
    for word in ("w1", "w2", "never", "w3"):
        score, state = model.extend(state, word)
        total += score
    expect(bool(np.isfinite(total) and total <= most + 1e-9), f"extended to {total}")
    if hasattr(model, "explain"):
        explained = model.explain("w3", ("w1", "w2"))
        expect(0 <= explained.probability <= 1 + CLOSE, f"explained as {explained.probability}")


def ask_library(model: Any) -> None:
    """The same of a model of the library for C, a `CModel` of `tests.support.c_library`."""
    for line in SENTENCES:
        score = model.score(line)
        expect(bool(np.isfinite(score)), f"a score of {score}")
        state = model.begin()
        for word in line.split():
            score, state = model.extend(state, model.find(word))
            expect(bool(np.isfinite(score)), f"extended to {score}")
    model.extend_many([model.begin()] * 3, np.array([0, 2, len(model) - 1], np.int32))
    for context in ([], [1], [model.find("w1"), model.find("w2")]):
        whole = model.distribution(context)
        expect(bool((whole >= 0).all() and (whole <= 1).all()), f"probabilities from {whole.min()} to {whole.max()}")
        for prefix in ("", "w1"):
            for _, probability in model.predict(context, 3, prefix=prefix):
                expect(0 <= probability <= 1, f"predicted with {probability}")
        model.predict(context, 3, letters="w12")
    model.next_characters([1], "w")
    if not model.is_backoff:
        model.explain([1], 3)
    with model.session(50) as session:
        for line in SENTENCES[:2] * 3:
            session.score(line, learn=True)
        session.predict([1], 2)
        saved = session.save()
        session.forget(0.5)
        session.restore(saved)
