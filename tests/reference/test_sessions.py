"""Sessions equal their reference: what was read, how it is mixed, and how the gate learns."""

from __future__ import annotations

import random

import pytest
from reference.sessions import Feature, ReadingView, ReferenceReader, Table

from gapgram import Model
from gapgram.estimation.history_weights import HistoryWeights
from gapgram.kernels.probability.gate import WORD_BUCKETS
from gapgram.kernels.sessions.history_gate import AGES, FOLLOWERS, SUMS

SENTENCES, LENGTH = 14, 7


def row_of(feature: Feature, n_views: int) -> int:
    """The row of a feature in the table of a gate."""
    kind, which, bucket = feature
    words_read = n_views * (SUMS + FOLLOWERS)
    begins = {
        "sum": which * SUMS,
        "followers": n_views * SUMS + which * FOLLOWERS,
        "words read": words_read,
        "word": words_read + AGES + (which - 1) * WORD_BUCKETS,
    }
    return begins[kind] + bucket


def all_features(n_views: int) -> list[Feature]:
    sizes = {"sum": (range(n_views), SUMS), "followers": (range(n_views), FOLLOWERS), "words read": (range(1), AGES)}
    found = [(kind, which, b) for kind, (numbers, n) in sizes.items() for which in numbers for b in range(n)]
    return [*found, *(("word", k, b) for k in (1, 2) for b in range(WORD_BUCKETS))]


def reader_of(model: Model, weights: HistoryWeights) -> ReferenceReader:
    class_of = model.counts.tables.class_of
    views = [ReadingView(v.offsets, v.decay, v.of_classes, v.boost, v.longest) for v in weights.views]
    logits: Table = {}
    squares: Table = {}
    for feature in all_features(len(views)):
        for source in range(len(views) + 1):
            row = row_of(feature, len(views))
            logits[feature, source] = float(weights.logits[row, source])
            squares[feature, source] = float(weights.squares[row, source])
    n_known = len(model.vocabulary)
    return ReferenceReader(
        views, logits, squares, n_known, lambda word: int(class_of[word]) if word < class_of.size else 0
    )


@pytest.mark.parametrize("kind", ["mkn", "classes"])
def test_a_session_equals_its_reference(made: dict[str, Model], kind: str) -> None:
    model, draw = made[kind], random.Random(5)
    vocabulary = [f"w{i}" for i in range(9)] + ["w300", "zebra", "okapi"]
    session = model.session()
    weights = HistoryWeights.shipped(classes=model._classes_of_words() is not None)
    reader = reader_of(model, weights)
    for _ in range(SENTENCES):
        words = [draw.choice(vocabulary) for _ in range(draw.randint(1, LENGTH))]
        static = model.scores(words)
        learned = session.scores(words, learn=True)
        ids = [1, *(session.vocabulary.id(word) for word in words), 2]
        expected = [
            reader.learn(ids[i + 1], ids[: i + 1], 10.0 ** float(static[i])) for i in range(len(static))
        ]
        assert (10.0**learned).tolist() == pytest.approx(expected, rel=1e-9)
    n_views = len(weights.views)
    for (feature, source), value in reader.logits.items():
        assert session._history.gate.logits[row_of(feature, n_views), source] == pytest.approx(value, abs=1e-9)


def test_what_a_session_predicts_equals_its_reference(made: dict[str, Model]) -> None:
    model = made["classes"]
    session = model.session()
    reader = reader_of(model, HistoryWeights.shipped(classes=True))
    for words in (["w1", "w2", "zebra"], ["w1", "w2", "w3"], ["zebra", "w1", "w2"]):
        static = model.scores(words)
        session.read([words])
        ids = [1, *(session.vocabulary.id(word) for word in words), 2]
        for i in range(len(static)):
            reader.learn(ids[i + 1], ids[: i + 1], 10.0 ** float(static[i]))
    context = ["<s>", "w1", "w2"]
    before = [session.vocabulary.id(word) for word in context]
    for found in session.predict(context, 4):
        of_model = 10 ** model.log10_prob(found.word, context)
        word = session.vocabulary.id(found.word)
        assert found.probability == pytest.approx(reader.probability(word, before, of_model), rel=1e-9)
