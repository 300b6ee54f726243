"""Sessions: what was read changes predictions as it should, every distribution sums to one, nothing else changes."""

from __future__ import annotations

import copy
import math
import pickle
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.corpora import toy_text
from tests.support.made_models import trained
from tests.support.running import HANGING_SECONDS

import gapgram
from gapgram import GapgramError, Model
from gapgram.estimation.history_weights import VIEWS_OF_WORDS, HistoryWeights, View
from gapgram.kernels.text.special_words import START_ID
from gapgram.queries.history import History, ReadSentences
from gapgram.queries.session import Session

READ = ["w1 w2 zebra w3", "w1 w2 zebra w4", "w9 zebra w1 w2 okapi"]
CONTEXTS = ["", "<s>", "<s> w1 w2", "w2 zebra", "w1 w2 okapi", "w7"]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, gapgram.Model]:
    folder, text = tmp_path_factory.mktemp("session"), toy_text(600, seed=5, vocabulary=300)
    kinds = {"mkn": {"model": "mkn"}, "learned": {"classes": "none"}, "classes": {"classes": "9"}}
    return {name: trained(text, order=4, output=folder / name, **options) for name, options in kinds.items()}


@pytest.fixture(params=["mkn", "learned", "classes"])
def model(models: dict[str, Model], request: pytest.FixtureRequest) -> Model:
    return models[request.param]


@given(read=st.lists(st.lists(st.sampled_from(["w1", "w2", "w3", "new", "other"]), min_size=1, max_size=6), max_size=6))
def test_every_distribution_sums_to_one_after_any_text(models: dict[str, Model], read: list[list[str]]) -> None:
    session = models["classes"].session()
    session.read(read)
    for context in CONTEXTS:
        assert session.distribution(context).sum() == pytest.approx(1.0, abs=1e-12)


def test_a_session_that_read_nothing_is_the_model(model: Model) -> None:
    session = model.session()
    for line in toy_text(20, seed=8, vocabulary=400):
        assert session.score(line) == pytest.approx(model.score(line), abs=1e-12)
    for context in CONTEXTS:
        assert np.array_equal(session.distribution(context), model.distribution(context))
        predicted, by_model = session.predict(context, 5), model.predict(context, 5)
        assert [p.word for p in predicted] == [p.word for p in by_model]
        assert [p.probability for p in predicted] == pytest.approx([p.probability for p in by_model], rel=1e-12)


def test_what_was_read_becomes_more_probable(model: Model) -> None:
    session = model.session()
    before = session.log10_prob("w3", "w1 w2"), session.log10_prob("w8", "w1 w2")
    session.read(["w1 w2 w3"] * 5)
    after = session.log10_prob("w3", "w1 w2"), session.log10_prob("w8", "w1 w2")
    assert after[0] > before[0] + 0.1
    assert after[1] < before[1]
    assert model.log10_prob("w3", "w1 w2") == pytest.approx(before[0], abs=1e-12)  # the model never changes


def test_new_words_become_known(model: Model) -> None:
    session = model.session()
    assert "zebra" not in session.vocabulary
    unknown = session.log10_prob("zebra", "w1 w2")
    assert unknown == pytest.approx(model.log10_prob("<unk>", "w1 w2"), abs=1e-12)
    session.read(READ)
    assert "zebra" in session.vocabulary
    assert session.log10_prob("zebra", "w1 w2") > unknown
    assert [p.word for p in session.predict("w1 w2", 2, prefix="ze")] == ["zebra"]
    place = session.vocabulary.id("zebra")
    assert session.distribution("w1 w2")[place] == pytest.approx(10 ** session.log10_prob("zebra", "w1 w2"), rel=1e-12)


def test_scores_distributions_and_explanations_agree(model: Model) -> None:
    session = model.session()
    session.read(READ)
    for context in CONTEXTS:
        distribution = session.distribution(context)
        for word in ("w1", "zebra", "w200", "</s>"):
            probability = 10 ** session.log10_prob(word, context)
            assert probability == pytest.approx(distribution[session.vocabulary.id(word)], rel=1e-12)
            explained = session.explain(word, context)
            assert explained.probability == pytest.approx(probability, rel=1e-12)
            assert sum(source.contribution for source in explained.sources) == pytest.approx(probability, rel=1e-12)
            assert sum(source.weight for source in explained.sources) == pytest.approx(1.0, rel=1e-12)


def test_predictions_are_the_head_of_the_distribution(model: Model) -> None:
    session = model.session()
    session.read([*READ, *toy_text(200, seed=3, vocabulary=300)])
    for context in CONTEXTS:
        for k, prefix in ((1, ""), (7, ""), (400, ""), (5, "w1"), (3, "z")):
            distribution = session.distribution(context)
            words = [i for i, word in enumerate(session.vocabulary) if i > 2 and word.startswith(prefix)]
            best = sorted(words, key=lambda i: (-distribution[i], i))[:k]
            predicted = session.predict(context, k, prefix=prefix)
            assert [p.probability for p in predicted] == pytest.approx(distribution[best].tolist(), rel=1e-12)


def test_scoring_word_by_word_equals_scoring_at_once(model: Model) -> None:
    lines = [*READ, *toy_text(30, seed=4, vocabulary=400)]
    at_once, by_line = model.session(), model.session()
    sums = at_once.score_many(lines, learn=True)
    assert sums.tolist() == [by_line.score(line, learn=True) for line in lines]
    assert at_once.words_read == by_line.words_read == sum(len(line.split()) + 1 for line in lines)
    words = ["<s>", *READ[0].split()]
    one_by_one = [at_once.log10_prob(word, words[:i]) for i, word in enumerate(words) if i]
    assert at_once.scores(READ[0], eos=False).tolist() == one_by_one


def test_scoring_line_by_line_equals_scoring_at_once_however_much_is_forgotten(model: Model) -> None:
    lines = [*toy_text(90, seed=4, vocabulary=400), " ".join(READ * 30), *READ]  # one is longer than all that is held
    at_once, by_line = model.session(max_words=300), model.session(max_words=300)
    assert at_once.score_many(lines, learn=True).tolist() == [by_line.score(line, learn=True) for line in lines]
    assert at_once._history.words_held <= 300 + 6
    for context in CONTEXTS:
        assert np.array_equal(at_once.distribution(context), by_line.distribution(context))


def test_reading_leaves_what_scoring_and_learning_leaves(model: Model) -> None:
    reader, scorer = model.session(), model.session()
    reader.read("\n".join([*READ, "", *READ]))
    scorer.score_many([*READ, *READ], learn=True)
    for context in CONTEXTS:
        assert np.array_equal(reader.distribution(context), scorer.distribution(context))


def test_what_was_read_before_comes_back_whole(model: Model) -> None:
    session = model.session()
    session.read(["under w1 w2 four of the act tenants pay", "under w1 w2 nine of the act owners pay"] * 2)
    for number, word, other in (("four", "tenants", "owners"), ("nine", "owners", "tenants")):
        context = f"<s> under w1 w2 {number} of the act"
        assert session.log10_prob(word, context) > session.log10_prob(other, context) + 0.3
        [longest] = [each for each in session.explain(word, context).sources if each.source == "longest end"]
        assert (longest.probability, longest.weight > 0.0) == (1.0, True)
        assert session.distribution(context).sum() == pytest.approx(1.0, abs=1e-12)
        assert session.predict(context, 1)[0].word == word


def test_streams_see_no_longest_end(model: Model) -> None:
    weights = HistoryWeights.shipped(classes=model._classes_of_words() is not None)
    plain, class_of = weights.without_longest(), model.session().history.views.class_of
    own, other = History(weights, class_of), History(plain, class_of)
    read = ReadSentences(np.array([1, 5, 6, 7, 2, 1, 6, 5, 7, 2], np.int32), np.array([0, 5, 10]))
    asked, scores = ReadSentences(np.array([1, 7, 5, 6, 8, 2], np.int32), np.array([0, 6])), np.full(6, -1.0)
    for history in (own, other):
        history.replay([read], 8)
    expected = own.score(asked, scores, learn=False)  # no three words of it were read
    assert other.score(asked, scores, learn=False).tolist() == pytest.approx(expected.tolist(), rel=1e-12)


def test_predictions_stay_exact_while_words_are_read(model: Model) -> None:
    session = model.session()
    session.read(toy_text(400, seed=3, vocabulary=1500))  # lists that are cut, and kept
    for line in toy_text(12, seed=8, vocabulary=1500):
        session.read([line])
        for context in (line.split()[:2], ["w1"], []):
            distribution = session.distribution(context)
            best = np.argsort(-distribution[3:], kind="stable")[:5] + 3
            found = session.predict(context, 5)
            assert [p.probability for p in found] == pytest.approx(distribution[best].tolist(), rel=1e-12)
    session.forget(0.5)
    assert session.predict("w1", 3)[0].probability == pytest.approx(session.distribution("w1")[3:].max(), rel=1e-12)


def test_scoring_learns_a_word_after_it_was_predicted(model: Model) -> None:
    session, reader = model.session(), model.session()
    first = session.score(READ[0], learn=True)
    assert first == pytest.approx(reader.score(READ[0]), abs=0.5)
    reader.read([READ[0]])
    assert session.score(READ[1]) == reader.score(READ[1])
    assert session.score(READ[0]) > first


def test_a_copy_is_independent(model: Model) -> None:
    session = model.session()
    session.read(toy_text(300, seed=6, vocabulary=300))  # enough to be shared instead of copied
    copies = [session.copy() for _ in range(2)]
    before = session.distribution("w1 w2")
    assert all(np.array_equal(before, copy.distribution("w1 w2")) for copy in copies)
    copies[0].read(READ)
    assert np.array_equal(session.distribution("w1 w2"), before)
    assert np.array_equal(copies[1].distribution("w1 w2"), before)
    session.read(READ)
    assert np.array_equal(session.distribution("w1 w2"), copies[0].distribution("w1 w2"))
    assert "zebra" not in copies[1].vocabulary


def test_saved_and_loaded_it_has_the_same_bits(model: Model, tmp_path: Path) -> None:
    session = model.session(max_words=500)
    session.read([*toy_text(120, seed=6, vocabulary=300), *READ])  # so much that some was forgotten
    session.forget(0.25)
    session.read(READ)
    session.save(tmp_path / "session")
    again = model.session()
    again.load(tmp_path / "session")
    for context in CONTEXTS:
        assert np.array_equal(session.distribution(context), again.distribution(context))
    assert (again.words_read, list(again.vocabulary)) == (session.words_read, list(session.vocabulary))


def test_a_session_of_another_model_is_refused(models: dict[str, Model], tmp_path: Path) -> None:
    session = models["mkn"].session()
    session.read(READ)
    session.save(tmp_path / "session")
    with pytest.raises(GapgramError, match="session of another model"):
        models["learned"].session().load(tmp_path / "session")
    with pytest.raises(GapgramError, match="holds a session, expected a model"):
        Model.load(tmp_path / "session")


def test_a_text_that_says_one_thing_only_leaves_room_for_others(model: Model) -> None:
    session = model.session()
    session.read(["zebra zebra zebra zebra"] * 800)
    assert session.log10_prob("zebra", "zebra zebra") > -0.5
    scores = session.scores("w1 w2 w3 okapi", learn=True)
    assert np.isfinite(scores).all()
    assert scores.min() > -16.0  # the gate trusts the model little by now, and still a little
    assert session.scores("w1 w2 w3 w4", learn=True).min() > scores.min()  # and soon more
    for context in CONTEXTS:
        assert session.distribution(context).sum() == pytest.approx(1.0, abs=1e-9)


def test_forgetting(model: Model) -> None:
    session = model.session()
    before = session.distribution("w1")
    session.read(READ)
    session.forget()
    assert np.array_equal(session.distribution("w1"), before)
    assert session.words_read == 0
    with pytest.raises(GapgramError, match="a share from 0 to 1"):
        session.forget(1.5)


def test_memory_is_bounded(model: Model) -> None:
    session = model.session(max_words=400)
    for n in range(12):
        session.read(toy_text(60, seed=n, vocabulary=300))
    assert session._history.words_held <= 400
    assert session.distribution("w1").sum() == pytest.approx(1.0, abs=1e-12)
    with pytest.raises(GapgramError, match="expected 2 or more"):
        model.session(max_words=1)


def test_documents_are_read_by_themselves(model: Model, tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("\n".join([*READ, "", "", *READ, " ", READ[0]]))
    whole = model.session().perplexity(path, documents=True)
    alone = [model.session().perplexity(sentences=lines) for lines in (READ, READ, READ[:1])]
    assert whole.log10_prob == pytest.approx(sum(one.log10_prob for one in alone), abs=1e-9)
    assert (whole.words, whole.sentences, whole.empty_lines) == (30, 7, 3)
    assert whole.unknown_words == sum(one.unknown_words for one in alone)
    together = model.session().perplexity(path)
    assert together.log10_prob > whole.log10_prob  # the second time it is no news


def test_models_of_other_kinds_can_be_read_with_too(models: dict[str, Model], tmp_path: Path) -> None:
    gapgram.write_arpa(models["mkn"], tmp_path / "arpa")
    mixture = gapgram.Mixture([models["mkn"], models["classes"]], [0.5, 0.5])
    for other in (gapgram.read_arpa(tmp_path / "arpa"), mixture):
        session = other.session()
        before = session.score(READ[1])
        assert before == pytest.approx(other.score(READ[1]), abs=1e-12)
        assert session.score(READ[0], learn=True) == pytest.approx(other.score(READ[0]), abs=1.0)
        assert session.score(READ[1]) > before
        assert session.distribution("w1 w2").sum() == pytest.approx(1.0, abs=1e-7)  # an ARPA file has seven digits
        assert session.predict("w1 w2", 1, prefix="ze")[0].word == "zebra"


def test_generating_uses_what_was_read(model: Model) -> None:
    session = model.session()
    session.read(["zebra okapi"] * 300)
    drawn = [word for sentence in session.generate(20) for word in sentence]
    assert {"zebra", "okapi"} & set(drawn)


# The history by its definition, in plain Python.


def by_definition(weights: HistoryWeights, view: View, ids: Sequence[int], t: int, first: int) -> dict[int, float]:
    """The decayed counts of the words that followed the context of position t; sentences begin with `<s>`."""
    counts: dict[int, float] = {}
    wanted = [ids[t - k] if t - k >= first else None for k in view.offsets]
    if None in wanted:
        return {}
    predicted = [u for u in range(t) if ids[u] != START_ID]
    for ago, u in enumerate(reversed(predicted), 1):
        begin = max(i for i in range(u) if ids[i] == START_ID)
        if all(u - k >= begin and ids[u - k] == word for k, word in zip(view.offsets, wanted, strict=True)):
            weight = 2.0 ** (view.boost * math.frexp(ids[u])[1])
            # A count decays with every word after the one that it was counted at.
            counts[ids[u]] = counts.get(ids[u], 0.0) + weight * view.decay ** ago
    return counts


def test_counts_are_what_their_definition_says() -> None:
    draw = np.random.default_rng(1)
    sentences = [np.concatenate([[1], draw.integers(3, 8, draw.integers(1, 7)), [2]]) for _ in range(12)]
    ids = np.concatenate(sentences).astype(np.int32)
    begins = np.append(np.flatnonzero(ids == START_ID), ids.size)
    weights = HistoryWeights.zeros(VIEWS_OF_WORDS)
    history = History(weights, np.zeros(9, np.int32))
    shares, _ = history.sources(ReadSentences(ids, begins), np.full(ids.size, -1.0))
    listed = ids.tolist()
    for t in np.flatnonzero(ids != START_ID).tolist():
        first = int(begins[np.searchsorted(begins, t, side="right") - 1])
        for v, view in enumerate(view for view in VIEWS_OF_WORDS if not view.longest):
            counts = by_definition(weights, view, listed, t, first)
            expected = counts.get(listed[t], 0.0) / sum(counts.values()) if counts else -1.0
            assert shares[t, v + 1] == pytest.approx(expected, rel=1e-9)


def test_sessions_say_what_they_are(model: Model) -> None:
    session = model.session()
    session.read("w1 w2\nw3\n")
    assert isinstance(session, Session)
    assert session.words_read == 5
    assert repr(session).startswith("<Session, 5 words read, of <Model ")
    assert session.signature.endswith("|history:shipped|read:5")


CALLS: dict[str, Callable[[Session, Path], object]] = {
    "read": lambda session, folder: session.read(["w1 new"]),
    "score": lambda session, folder: session.score("w1 new", learn=True),
    "scores": lambda session, folder: session.scores("w1"),
    "predict": lambda session, folder: session.predict("w1"),
    "predict prefix": lambda session, folder: session.predict("w1", prefix="n"),
    "distribution": lambda session, folder: session.distribution("w1"),
    "log10_prob": lambda session, folder: session.log10_prob("w1"),
    "explain": lambda session, folder: session.explain("w1"),
    "generate": lambda session, folder: list(session.generate(1, seed=1)),
    "perplexity": lambda session, folder: session.perplexity(sentences=["w1"]),
    "forget": lambda session, folder: session.forget(0.5),
    "copy": lambda session, folder: session.copy(),
    "save": lambda session, folder: session.save(folder / "s.session"),
    "pickle": lambda session, folder: pickle.dumps(session),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_thread_waits_for_the_call_of_another(models: dict[str, Model], tmp_path: Path, name: str) -> None:
    session, began, ended = models["mkn"].session(), threading.Event(), threading.Event()
    session.read(["w1 new w2"])
    CALLS[name](session.copy(), tmp_path)  # so that kernels are there

    def call() -> None:
        began.set()
        CALLS[name](session, tmp_path)
        ended.set()

    with session._lock:  # as if a call ran
        other = threading.Thread(target=call)
        other.start()
        began.wait()
        assert not ended.wait(0.05)
    other.join()
    assert ended.is_set()


def test_while_a_text_is_read_others_are_answered(models: dict[str, Model]) -> None:
    """A thread that reads from a source that says nothing for long keeps nobody waiting."""
    session, answered = models["mkn"].session(), threading.Event()

    def ask() -> None:
        session.predict("w1")
        answered.set()

    def source() -> Iterator[str]:
        yield "w1 new"
        other = threading.Thread(target=ask)
        other.start()
        other.join(HANGING_SECONDS)
        yield "new w2"

    session.read(source())
    assert answered.is_set()


def test_a_pickled_session_has_read_the_same(models: dict[str, Model]) -> None:
    session = models["mkn"].session()
    session.read(["w1 new w2"])
    for other in (pickle.loads(pickle.dumps(session)), copy.deepcopy(session)):
        assert other.distribution("w1").tolist() == session.distribution("w1").tolist()
        other.read(["w1 w1"])
        assert other.words_read > session.words_read
