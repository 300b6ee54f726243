"""Models: in memory and mapped, alone and in batches, in threads and other processes; what they refuse."""

from __future__ import annotations

import hashlib
import math
import pickle
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.corpora import toy_text
from tests.support.made_models import KINDS

import gapgram
from gapgram import GapgramError, Model
from gapgram.text.corpus import blocks_of_sentences

pytestmark = pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning")
SAVED = ["mkn", "glm", "custom"]  # models that all tests share


def texts() -> list[str]:
    """Sentences to score: of the toy text, with unknown words, empty, and longer than a block of the kernel."""
    return [*toy_text(60, seed=8), "", "w1", "zzz w1 zzz", " ".join(toy_text(300, seed=9))]


@pytest.mark.parametrize("kind", SAVED)
def test_mapped_equals_built_bit_for_bit(models: dict[str, Model], kind: str) -> None:
    built = models[kind]
    mapped = gapgram.load(built.path)  # type: ignore[arg-type]
    assert np.array_equal(built.score_many(texts()), mapped.score_many(texts()))
    assert np.array_equal(built.distribution(["<s>", "w1"]), mapped.distribution(["<s>", "w1"]))
    assert built.signature == mapped.signature
    (arrays, plain), (mapped_arrays, mapped_plain) = built.parts.contents(), mapped.parts.contents()
    assert plain == mapped_plain
    for name, array in arrays.items():
        assert np.array_equal(array, mapped_arrays[name]), name
        assert not array.flags.writeable


@pytest.mark.parametrize("kind", SAVED)
def test_batch_equals_single_bit_for_bit(models: dict[str, Model], kind: str) -> None:
    model = models[kind]
    for bos in (True, False):
        for eos in (True, False):
            batch = model.score_many(texts(), bos, eos)
            assert batch.tolist() == [model.score(s, bos, eos) for s in texts()]
    assert model.scores(texts()[-1]).size == len(texts()[-1].split()) + 1


@pytest.mark.parametrize("kind", SAVED)
def test_a_sentence_longer_than_a_block_of_the_kernel(models: dict[str, Model], kind: str) -> None:
    model, words = models[kind], texts()[-1].split()
    assert len(words) > 2000
    scores = model.scores(words)
    for i in [0, 1, 1021, 1022, 1023, 1024, 1025, 1026, 2047, 2048, 2050, len(words) - 1]:
        assert scores[i] == model.log10_prob(words[i], ["<s>", *words[:i]])


@pytest.mark.parametrize("kind", SAVED)
def test_threads_do_not_change_a_bit(models: dict[str, Model], kind: str) -> None:
    lines, model = texts(), models[kind]
    expected = [model.score(line) for line in lines]
    for block_bytes in (1, 200):
        assert len(list(blocks_of_sentences(lines, block_bytes=block_bytes))) > 5
        for threads in (1, 2, 5, None):
            assert model.score_many(lines, threads=threads, block_bytes=block_bytes).tolist() == expected


@pytest.mark.parametrize("kind", SAVED)
def test_threads_do_not_change_a_bit_of_the_scores_of_ids(models: dict[str, Model], kind: str) -> None:
    model = models[kind]
    lines = [model.vocabulary.ids(["<s>", *line.split(), "</s>"]) for line in toy_text(2500, seed=8)]
    ids, begins = np.concatenate(lines), np.cumsum([0, *map(len, lines)])
    assert ids.size > 2 * 8192  # words that a thread takes at a time
    expected = np.concatenate([model.score_ids(line, np.array([0, line.size])) for line in lines])
    for threads in (1, 2, 5, None):
        assert np.array_equal(model.score_ids(ids, begins, threads=threads), expected)


def test_a_model_is_shared_between_threads(models: dict[str, Model]) -> None:
    model = models["glm"]
    expected = [model.score(s) for s in texts()]
    with ThreadPoolExecutor(8) as pool:
        for found in [pool.map(model.score, texts()) for _ in range(4)]:
            assert list(found) == expected


def test_id_arrays_are_scored_like_text(models: dict[str, Model]) -> None:
    model = models["glm"]
    ids = model.vocabulary.ids(["<s>", "w1", "w2", "</s>", "w2", "zzz"])
    scores = model.score_ids(ids, np.array([0, 4, 4, 6]))
    assert scores[0] == 0  # <s> is given
    assert scores[:4].sum() == pytest.approx(model.score("w1 w2"), rel=1e-15)
    assert scores[4:].tolist() == model.scores("w2 zzz", bos=False, eos=False).tolist()
    as_lists = model.score_ids(ids.astype(np.int64).tolist(), [0, 4, 4, 6])  # type: ignore[arg-type]
    assert np.array_equal(as_lists, scores)
    assert model.score_ids(np.array([], np.int32), np.array([0])).size == 0
    assert model.score_checked_ids(np.array([], np.int32), np.array([0])).size == 0


@pytest.mark.parametrize(("ids", "begins", "message"), [
    ([3, 4], [0, 1], "begins: expected where each sequence begins, rising from 0, and last the number of ids"),
    ([3, 4], [1, 2], "begins: expected where"),
    ([3, 4], [], "begins: expected where"),
    ([3, 4], [0, 2, 1, 2], "begins: expected where"),
    ([3, -1], [0, 2], "word ids: expected 0 to .*, found -1 to 3"),
    ([3, 10**6], [0, 2], "word ids: expected 0 to .*, found 3 to 1000000"),
    ([3, 2**32 + 3], [0, 2], "word ids: expected 0 to .*, found 3 to 4294967299"),
    ([3, 1], [0, 2], "word ids: <s> .id 1. may only begin a sequence"),
    ([3.5, 4], [0, 2], "word ids: expected whole numbers"),
])  # fmt: skip
def test_id_arrays_that_make_no_sense(
    models: dict[str, Model], ids: list[int], begins: list[int], message: str
) -> None:
    with pytest.raises(GapgramError, match=message):
        models["mkn"].score_ids(np.array(ids), np.array(begins))


@pytest.mark.parametrize("kind", KINDS)
def test_two_runs_and_any_order_of_lines_give_the_same_file(tmp_path: Path, kind: str) -> None:
    lines = toy_text(80)
    shuffled = list(lines)
    random.Random(1).shuffle(shuffled)
    for name, text, threads in (("one", lines, 1), ("two", lines, 2), ("three", shuffled, 2)):
        gapgram.train(sentences=text, order=4, output=tmp_path / name, threads=threads, **KINDS[kind])
    assert len({hashlib.sha256((tmp_path / n).read_bytes()).hexdigest() for n in ("one", "two", "three")}) == 1


def test_lines_of_a_file_and_sentences_in_memory_give_the_same_model(tmp_path: Path) -> None:
    lines = toy_text(80)
    (tmp_path / "text").write_text("\n".join(lines))
    one = gapgram.train(tmp_path / "text", order=3, model="mkn")
    two = gapgram.train(sentences=[line.split() for line in lines], order=3, model="mkn")
    assert one.signature == two.signature
    assert one.score(lines[0]) == two.score(lines[0])


def test_a_model_is_pickled_by_its_path(models: dict[str, Model]) -> None:
    data = pickle.dumps(models["glm"])
    assert len(data) < 1000
    assert pickle.loads(data).score("w1 w2") == models["glm"].score("w1 w2")


def test_a_model_without_a_file_is_not_pickled() -> None:
    model = gapgram.train(sentences=["a b", "b a"], order=2, model="mkn")
    with pytest.raises(GapgramError, match="a model is pickled by the path of its file: save it first"):
        pickle.dumps(model)


def test_perplexity_by_hand(models: dict[str, Model], tmp_path: Path) -> None:
    model = models["mkn"]
    lines = ["w1 w2 zzz", "", "w3"]
    found = model.perplexity(sentences=lines)
    scores = [*model.scores("w1 w2 zzz"), *model.scores("w3")]
    assert (found.words, found.unknown_words, found.sentences, found.empty_lines) == (4, 1, 2, 1)
    assert found.log10_prob == pytest.approx(math.fsum(scores), rel=1e-12)
    # Four words and two ends of sentences are predicted; without the unknown word, five predictions.
    assert found.perplexity == pytest.approx(10 ** (-math.fsum(scores) / 6), rel=1e-12)
    known = math.fsum(scores) - model.scores("w1 w2 zzz")[2]
    assert found.perplexity_known == pytest.approx(10 ** (-known / 5), rel=1e-12)
    (tmp_path / "t").write_text("\n".join([*lines, ""]))
    assert model.perplexity(tmp_path / "t") == found


@pytest.mark.parametrize("word", ["on the", " on", "", "on\n", ["on", "the"], None])
def test_a_context_in_the_place_of_the_word_is_refused(models: dict[str, Model], word: str) -> None:
    """P(word | context): the word comes first."""
    for ask in (models["glm"].log10_prob, models["glm"].explain):
        with pytest.raises(ValueError, match="expected one word, without white space; its context comes after it"):
            ask(word, "mat")
    assert models["glm"].log10_prob("on\u00a0the", "mat") == models["glm"].log10_prob("<unk>", "mat")


def test_what_a_model_does_not_predict(models: dict[str, Model]) -> None:
    model = models["glm"]
    with pytest.raises(GapgramError, match="the word <s> starts a sentence and is never predicted"):
        model.log10_prob("<s>", ["w1"])
    with pytest.raises(GapgramError, match="the word <s> starts a sentence and is never predicted"):
        model.explain("<s>", ["w1"])
    for context in (["w1", "<s>"], ["w1", "</s>"], "</s>", ["</s>", *["w1"] * 9]):
        with pytest.raises(GapgramError, match="<s> may stand first, </s> nowhere"):
            model.distribution(context)
    with pytest.raises(GapgramError, match="the word <s> is the model's own"):
        model.score("<s> w1")


def test_a_context_in_a_string_has_the_words_that_training_finds() -> None:
    # A no-break space parts no words in a text, so it may not part them in a context.
    model = gapgram.train(sentences=["x\u00a0y a", "x b", "y c"] * 3, order=2, model="mkn")
    assert model.log10_prob("a", "x\u00a0y") == model.log10_prob("a", ["x\u00a0y"])


def test_a_context_of_the_empty_sentence_and_of_words_as_a_string(models: dict[str, Model]) -> None:
    model = models["glm"]
    assert np.array_equal(model.distribution("<s> w1"), model.distribution(["<s>", "w1"]))
    assert model.score("") == model.log10_prob("</s>", ["<s>"])
    assert model.score("", bos=False, eos=False) == 0
    assert model.score_many([]).size == 0


@pytest.mark.parametrize(("arguments", "message"), [
    ({}, "train: give text files or sentences, one of the two"),
    ({"sentences": ["a b"], "texts": "x"}, "train: give text files or sentences, one of the two"),
    ({"sentences": ["a b"], "model": "kn"}, "model 'kn': expected mkn or glm"),
    ({"sentences": ["a b"], "order": 0}, "order 0: expected a whole number from 1"),
    ({"sentences": ["a b"], "order": 5, "model": "mkn"}, "order 5 is larger than any sentence"),
    ({"sentences": "the cat sat", "order": 2}, "expected a list of sentences, found one string"),
    ({"sentences": []}, "the text is empty"),
])  # fmt: skip
def test_training_that_makes_no_sense(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(GapgramError, match=message):
        gapgram.train(**arguments)


@pytest.mark.parametrize("given", [{}, {"sentences": ["w1"], "texts": "x"}])
def test_a_perplexity_is_of_files_or_of_sentences(models: dict[str, Model], given: dict[str, Any]) -> None:
    for asked in (models["glm"], models["glm"].session()):
        with pytest.raises(GapgramError, match="perplexity: give text files or sentences, one of the two"):
            asked.perplexity(**given)


def test_the_signature_tells_what_a_figure_depends_on(models: dict[str, Model]) -> None:
    signature = str(models["custom"].signature)
    for part in ("order:4", "model:glm", "lattice:custom,1,11,1001,1011", "weights:uniform", "log:10", "corpus:"):
        assert part in signature.split("|") or any(p.startswith(part) for p in signature.split("|"))
    assert models["mkn"].signature != models["glm"].signature
