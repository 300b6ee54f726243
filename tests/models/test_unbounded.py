"""Contexts without a limit: equal to the reference, normalised, the same by all ways of asking, kept in files."""

from __future__ import annotations

import contextlib
import dataclasses
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from reference.unbounded import ReferenceText

import gapgram
from gapgram.errors import ModelFileError, UsageError
from gapgram.kernels.unbounded import mixing
from gapgram.models.unbounded import UnboundedModel
from gapgram.models.verify import verify
from gapgram.queries.continuations import beam_of
from gapgram.reporting.tracing import Tracer
from gapgram.text.corpus import TextRules, blocks_of_sentences, sentence_begins
from gapgram.text.files import Block
from gapgram.training.documents import LineMarks
from gapgram.training.keep_text import indexed

FORMS = (
    "the council of the union has adopted this regulation on {} of may",
    "having regard to the opinion of {} of the day",
    "this regulation shall enter into force on the {} day after that of its publication in the journal",
    "a b a b a b {} b a b a b", "{} {} {} {} {} {} {}",
)  # fmt: skip


def _sentences(n: int, seed: int) -> list[str]:
    draw = np.random.default_rng(seed)
    words = [f"w{i}" for i in range(40)]
    out = []
    for _ in range(n):
        form = FORMS[int(draw.integers(len(FORMS)))].replace("{}", words[int(draw.integers(40))]).split()
        if draw.random() < 0.3:
            form[int(draw.integers(len(form)))] = words[int(draw.integers(40))]
        out.append(" ".join(form))
    return out


@pytest.fixture(scope="module")
def model() -> UnboundedModel:
    trained = gapgram.train(sentences=_sentences(300, 1), order=3, unbounded=True, threads=1)
    assert isinstance(trained, UnboundedModel)
    return trained


def _ids(n_words: int, seed: int) -> npt.NDArray[np.int32]:
    draw = np.random.default_rng(seed)
    lines = [[1, *draw.integers(3, n_words, draw.integers(1, 14)), 2] for _ in range(60)]
    lines += [lines[int(i)] for i in draw.integers(0, 60, 12)]
    return np.concatenate(lines).astype(np.int32)


def _feature_rows(features: list[tuple[int, ...]]) -> list[int]:
    """The rows of the gate that features of the reference stand for."""
    (_, *end), (_, *gap), (_, *crowd), (_, last) = features
    return [
        1 + (end[0] * mixing.SIZES + end[1]) * mixing.FOLLOWERS + end[2] - 1 if end else 0,
        mixing.ENDS + (1 + gap[0] * 10 + gap[1] if gap else 0),
        mixing.ENDS + mixing.GAPS + (1 + (crowd[0] * 4 + crowd[1] - 1) * 3 + crowd[2] - 1 if crowd else 0),
        mixing.ENDS + mixing.GAPS + mixing.CROWDS + last,
    ]


@pytest.mark.parametrize("is_own", [False, True])
@pytest.mark.parametrize("order", [2, 3])
def test_sources_are_those_of_the_reference(order: int, is_own: bool) -> None:
    text = _ids(6, 1)
    asked = text if is_own else _ids(6, 2)
    kept = indexed([text], text.size, 6, order)
    rows, shares = np.empty((asked.size, 4), np.int64), np.empty((asked.size, 3))
    begins = sentence_begins(asked)
    mixing.positions_left_out(kept.index, asked, begins, is_own, rows, shares)
    bounds = sentence_begins(text)
    sentences = [text[a:b].tolist() for a, b in pairwise(bounds)]
    reference = ReferenceText(sentences, order)
    for s, (begin, end) in enumerate(pairwise(begins)):
        reader, words = reference.reader(), asked[begin:end].tolist()
        number = sentences.index(words) if is_own else s
        for t, word in enumerate(words):
            own = (number, t) if is_own else None
            if t:
                given = reader.given(word, own)
                assert shares[begin + t, 1:].tolist() == [given.get(1, -1.0), given.get(2, -1.0)], (s, t)
                assert rows[begin + t].tolist() == _feature_rows(reader.features(own))
            reader.read(word, own)


def test_suffixes_are_in_order_for_any_threads() -> None:
    text = _ids(4, 3)
    one, three = (indexed([text], text.size, 4, 2, threads=n) for n in (1, 3))
    begins = sentence_begins(text)
    end_of = begins[np.searchsorted(begins, np.arange(text.size), side="right")]
    in_order = sorted(range(text.size), key=lambda i: (text[i : end_of[i]].tolist(), i))
    assert one.index.suffixes.tolist() == in_order
    for a, b in zip(one.index[:3], three.index[:3], strict=True):
        assert np.array_equal(a, b)


def test_every_way_of_asking_gives_the_same(model: UnboundedModel) -> None:
    for sentence in _sentences(12, 2):
        words = sentence.split()
        scores = model.scores(sentence)
        state, stepped = model.begin_sentence(), []
        for i, word in enumerate([*words, "</s>"]):
            context = ["<s>", *words[:i]]
            distribution = model.distribution(context)
            assert distribution.sum() == pytest.approx(1, abs=1e-12)
            assert 10.0 ** scores[i] == pytest.approx(distribution[model.vocabulary.id(word)], rel=1e-9)
            assert model.log10_prob(word, context) == scores[i]
            score, state = model.extend(state, word)
            stepped.append(score)
        assert stepped == scores.tolist()
        assert model.score(sentence) == pytest.approx(scores.sum())


def test_the_most_probable_words_are_exact(model: UnboundedModel) -> None:
    for sentence in _sentences(6, 3):
        words = sentence.split()
        for i in range(len(words)):
            context = ["<s>", *words[:i]]
            found, whole = model.predict(context, 5), model.distribution(context)
            best = sorted((-whole[j], j) for j in range(3, whole.size))[:5]
            assert [p.word for p in found] == [model.vocabulary[j] for _, j in best]
            assert [p.probability for p in found] == pytest.approx([-p for p, _ in best], rel=1e-9)
    assert all(p.word.startswith("w1") for p in model.predict("a b a b a b", prefix="w1"))


def test_an_explanation_adds_up_and_names_sentences(model: UnboundedModel) -> None:
    context = ["<s>", "the", "council", "of", "the", "union", "has", "adopted", "this"]
    told = model.explain("regulation", context)
    assert sum(p.contribution for p in told.patterns) + told.uniform_contribution + sum(
        s.contribution for s in told.of_text
    ) == pytest.approx(told.probability)
    assert told.probability == pytest.approx(10 ** model.log10_prob("regulation", context), rel=1e-9)
    assert told.of_text[0].source == "longest end" and "longest end" in told.summary
    named = {e.source: e for e in model.evidence("regulation", context)}
    text = _sentences(300, 1)
    for source in ("longest end", "11", "111"):
        for sentence in named[source].sentences:
            assert sentence.text == text[sentence.number - 1]
            assert sentence.text.split()[sentence.at - 1] == "regulation"
    assert named["11"].places == sum(t.count("this regulation") for t in text)


def test_files_layouts_pruned_models_and_mixtures_keep_it(model: UnboundedModel, tmp_path: Path) -> None:
    sentences = _sentences(20, 4)
    scores = model.score_many(sentences)
    model.save(tmp_path / "a.glm")
    opened = gapgram.load(tmp_path / "a.glm")
    assert isinstance(opened, UnboundedModel)
    assert np.array_equal(opened.score_many(sentences), scores)
    assert np.array_equal(opened.with_layout("compact").score_many(sentences), scores)
    assert verify(tmp_path / "a.glm").largest_miss_of_one < 1e-9
    pruned = opened.pruned(counts="0,0,1")
    assert isinstance(pruned, UnboundedModel) and pruned.distribution("a b a b a").sum() == pytest.approx(1)
    both = gapgram.Mixture([opened, pruned], [0.5, 0.5])
    assert both.distribution("a b a b a").sum() == pytest.approx(1)
    assert both.scores("a b a b a b w3").sum() == pytest.approx(both.score("a b a b a b w3"))
    session = opened.session()
    session.read("the council of the zebra\n")
    assert session.distribution("<s> the council of the union").sum() == pytest.approx(1)
    assert len({" ".join(s) for s in gapgram.generate(opened, 3, seed=2)}) == 3


def test_it_is_the_same_for_any_threads_and_pays(model: UnboundedModel) -> None:
    sentences = _sentences(300, 1)
    again = gapgram.train(sentences=sentences, order=3, unbounded=True, threads=3)
    assert np.array_equal(again.text.logits, model.text.logits)  # type: ignore[attr-defined]
    plain = gapgram.train(sentences=sentences, order=3)
    test = _sentences(100, 9)
    assert model.perplexity(sentences=test).perplexity < plain.perplexity(sentences=test).perplexity


def test_lines_are_known(tmp_path: Path) -> None:
    first, second = tmp_path / "a.txt", tmp_path / "b.txt"
    first.write_text("\na b c\n\n\nb c d\nc d e\n")
    second.write_text("e f g\n \nf g h")
    model = gapgram.train([first, second], order=2, unbounded=True)
    found = model.evidence("h", "f g")[0].sentences[0]
    assert (found.number, Path(found.file).name, found.line) == (5, "b.txt", 3)
    assert model.evidence("e", "c d")[0].sentences[0].line == 6


def test_lines_over_blocks() -> None:
    marks = LineMarks(TextRules())
    blocks = [Block("a", 1, b"x\n\n"), Block("a", 3, b"y\nz\n"), Block("a", 5, b"\nw\n"), Block("b", 1, b"v\n")]
    assert list(marks.watch(blocks)) == blocks
    assert marks.lines.tolist() == [[0, 0, 1], [1, 0, 3], [3, 0, 6], [4, 1, 1]]
    assert marks.files == ["a", "b"]


def test_what_cannot_be_is_refused(model: UnboundedModel, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="use learned weights"):
        gapgram.train(sentences=["a b"], order=2, model="mkn", unbounded=True)
    plain = gapgram.train(sentences=_sentences(20, 1), order=2, model="mkn")
    with pytest.raises(UsageError, match="keeps no text"):
        plain.evidence("a", "b")
    with pytest.raises(UsageError, match="scored by the CPU"):
        model.on("cuda")
    numbers: Any = np.full(model.text.width, 1 << 40, np.int64)
    key = model._stepper.beginning[: -8 * model.text.width] + numbers.tobytes()
    assert np.isfinite(model._stepper.one(key, 5)[0])
    broken = dataclasses.replace(model.text, index=model.text.index._replace(suffixes=model.text.index.suffixes[::-1]))
    gapgram.Model(dataclasses.replace(model.parts, unbounded=broken)).save(tmp_path / "b.glm")
    with pytest.raises(ModelFileError, match="not in its order"):
        gapgram.load(tmp_path / "b.glm")


@pytest.mark.parametrize(("section", "number"), [("text", -64), ("text", 1 << 28), ("suffixes", 1 << 30)])
def test_a_damaged_text_is_said_where_it_is_looked_into(model: UnboundedModel, section: str, number: int) -> None:
    """As of a model too large to be checked when it is opened."""
    index = model.text.index
    array = np.array(getattr(index, section))
    array[5:] = number
    changes: Any = {section: array}
    changed = dataclasses.replace(model.text, index=index._replace(**changes))
    odd = UnboundedModel(dataclasses.replace(model.parts, unbounded=changed))
    for word in ("w1", "of", "council"):
        odd.predict("council of the")  # kernels read inside of their arrays
        for ask in (odd.evidence, odd.explain):
            with contextlib.suppress(ModelFileError):
                ask(word, "the council")
    with pytest.raises(ModelFileError, match=r"the text that it keeps is damaged \(.*\); gapgram verify says more"):
        list(Tracer(odd, least=1).documents(blocks_of_sentences(["the council of the union has"])))


@pytest.mark.parametrize("k", [1, 4])
def test_continuations_are_those_of_a_beam_over_distributions(k: int, model: UnboundedModel) -> None:
    plain = gapgram.train(sentences=_sentences(200, 1), order=3)
    ids = plain.vocabulary.ids(["<s>", "the", "council"])
    found = plain.continue_ids(ids.tolist(), 5, k)
    words = list(plain.vocabulary)
    expected = beam_of(lambda some: plain.distribution([words[i] for i in some]), ids.astype(np.int32), 5, k, ends=True)
    assert [c.ids for c in found] == [c.ids for c in expected]
    assert [c.log10_prob for c in found] == pytest.approx([c.log10_prob for c in expected])
    (best, *_) = model.continue_ids(model.vocabulary.ids(["<s>", "having", "regard"]), 4, k)
    assert [model.vocabulary[i] for i in best.ids] == ["to", "the", "opinion", "of"]
    assert best.log10_prob == pytest.approx(model.scores("having regard to the opinion of")[2:-1].sum())
    with pytest.raises(UsageError, match="expected 1 to"):
        model.continue_ids([1], 0)
    with pytest.raises(UsageError, match="expected whole numbers in a row"):
        model.continue_ids([[1.5]])


def test_sessions_go_on_inside_a_sequence_and_take_words_back(model: UnboundedModel) -> None:
    read = "<s> the council of the union has adopted this regulation on w3 of may"
    ids = model.vocabulary.ids(read.split()).tolist()
    whole, pieces, undone = model.session(), model.session(), model.session()
    whole.read_ids(ids)
    pieces.read_ids(ids[:4])
    pieces.read_ids(np.array(ids[4:9]), goes_on=True)
    pieces.read_ids(ids[9:], goes_on=True)
    undone.read_ids(ids[:6])
    undone.read_ids([*ids[6:], 7, 8, 9], goes_on=True)
    undone.take_back(3)
    for session in (pieces, undone):
        assert session.sequence.tolist() == ids and session.words_read == whole.words_read
        for context in (ids, ids[:7], ids[:0]):
            assert np.array_equal(session.distribution_of(context), whole.distribution_of(context))
    assert whole.distribution_of(ids).sum() == pytest.approx(1)
    said = model.session()
    said.read(read.removeprefix("<s> "))
    whole.read_ids([2], goes_on=True)
    assert np.array_equal(said.distribution("the council"), whole.distribution("the council"))
    found = whole.continue_ids(ids[:3], 3, 2)
    assert [model.vocabulary[i] for i in found[0].ids] == ["of", "the", "union"]
    with pytest.raises(UsageError, match="take back 99 words"):
        pieces.take_back(99)
    with pytest.raises(UsageError, match="begins a sequence"):
        pieces.read_ids([1], goes_on=True)


def test_sessions_predict_exactly(model: UnboundedModel) -> None:
    session = model.session()
    session.read(["w1 w2 zebra w3", *_sentences(40, seed=8)])
    for context in ("", "<s> having regard to the", "w2 zebra", "<s> w1 shall enter into force on"):
        distribution = session.distribution(context)
        assert distribution.sum() == pytest.approx(1.0, abs=1e-12)
        for k, prefix in ((1, ""), (6, ""), (4, "w1"), (2, "z")):
            words = [i for i, word in enumerate(session.vocabulary) if i > 2 and word.startswith(prefix)]
            best = sorted(words, key=lambda i: (-distribution[i], i))[:k]
            found = session.predict(context, k, prefix=prefix)
            assert [p.probability for p in found] == pytest.approx(distribution[best].tolist(), rel=1e-12)
