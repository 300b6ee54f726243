"""What scoring is fast by gives what the plain way gives."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from tests.support.sample_kernels import Samples

import gapgram
from gapgram.kernels.probability import query
from gapgram.kernels.probability.gate import LIMIT, add_logits, add_to_row, exponentials, sum_logits
from gapgram.kernels.tables import keys
from gapgram.kernels.tables.arrays import REACH, TAIL, GramFormat
from gapgram.kernels.text.words import DONE, encode_lines
from gapgram.models.model import Model
from gapgram.text.vocabulary import Vocabulary


def test_exponentials_are_those_of_the_library() -> None:
    values = np.concatenate([np.linspace(-LIMIT, LIMIT, 20001), [0.0, -0.0, 1e-300, -1e-300, 0.34657, -0.34658]])
    found = np.empty(values.size)
    exponentials(values, found)
    expected = np.array([math.exp(x) for x in values])
    assert np.max(np.abs(found - expected) / np.spacing(expected)) <= 2


@pytest.mark.parametrize(("n", "step"), [(1, 1), (7, 2), (8, 1), (13, 1), (21, 5), (32, 1), (33, 1), (71, 3)])
def test_sums_of_logits_have_the_bits_of_adding_one_row_after_the_other(n: int, step: int) -> None:
    draw = np.random.default_rng(n)
    table, features = draw.normal(0, 3, 40 * n), draw.integers(0, 40, 11) * n
    expected, found = np.zeros(n), np.full(n, np.nan)
    add_logits(table, features, 11, expected)
    sum_logits(table, np.repeat(features, step), step, 11, found)
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("n", [1, 7, 8, 9, 21, 32, 33, 39, 40, 41, 64, 65, 71, 100])
def test_a_row_is_added_to_another_once(n: int) -> None:
    sums, values = np.random.default_rng(n).normal(size=(2, n + 12))
    expected = sums.copy()
    expected[5 : 5 + n] += values[3 : 3 + n]
    add_to_row(sums, 5, values, 3, n)
    assert sums.tolist() == expected.tolist()


def test_exponentials_beyond_the_limit_count_as_the_limit() -> None:
    found = np.empty(4)
    exponentials(np.array([1e9, LIMIT, -1e9, -LIMIT]), found)
    assert found[0] == found[1] < np.inf
    assert found[2] == found[3] > 0


@pytest.fixture(scope="module")
def clustered() -> Model:
    """After "a" follow words whose keys lie together, and a few that lie far away; others follow alone."""
    n = 3000
    bits = int(keys.key_bits_of(n + 3))
    near = [i for i in range(n) if keys.key_of(i + 3, bits) < 200] + [7, 1000, 2500]
    words = [f"w{i:04}" for i in range(n)]
    sentences = [f"a {words[i]}" for i in near] + [" ".join(words[i : i + 3]) for i in range(0, n, 3)]
    return gapgram.train(sentences=[*sentences, *words], order=3, model="mkn")


def test_words_whose_keys_lie_together_are_found(clustered: Model) -> None:
    distribution = clustered.distribution(["a"])
    assert distribution.sum() == pytest.approx(1)
    ids = np.arange(2, len(clustered.vocabulary), dtype=np.int32)
    context = np.full(ids.size, clustered.vocabulary.id("a"), np.int32)
    pairs = np.stack([context, ids], axis=1).reshape(-1)
    scores = clustered.score_ids(pairs, np.arange(0, pairs.size + 1, 2))[1::2]
    assert np.allclose(10**scores, distribution[2:], rtol=1e-12)


def test_patterns_are_looked_up_after_all_that_they_need() -> None:
    sentences = [f"w{i % 7} w{i % 5} w{i % 3} w{i % 2}" for i in range(60)]
    model = gapgram.train(sentences=sentences, order=4, classes=2)
    tables = model._arrays.tables
    order = query.lookup_order(tables.places)
    assert sorted(order.patterns.tolist()) == list(range(len(tables.places)))
    at = np.argsort(order.patterns)
    for p, place in enumerate(tables.places):
        others = [int(place[TAIL]), *tables.parts[p].tolist()] if place[REACH] > 0 else []
        assert all(at[other] < at[p] and query.depends_on(p, other, tables) for other in others if other != p)
        assert order.roots[p] == (order.roots[place[TAIL]] if place[REACH] > 0 else p)
    assert order.n_streams == len({*order.roots.tolist()}) == 2


def test_a_text_is_scored_the_same_in_blocks_of_any_size(clustered: Model) -> None:
    """A sentence longer than a block, and many shorter ones, word by word and at once."""
    words = [f"w{i:04}" for i in range(2 * query.BLOCK + 5)]
    sentences = [" ".join(words), *(" ".join(words[i : i + 7]) for i in range(0, 700, 7))]
    at_once = clustered.score_many(sentences, threads=1)
    for sentence, score in zip(sentences, at_once.tolist(), strict=True):
        assert clustered.score(sentence) == score
        state, total = clustered.begin_sentence(), 0.0
        for word in [*sentence.split(), "</s>"]:
            found, state = clustered.extend(state, word)
            total += found
        assert total == score


def test_a_sentence_of_any_length_is_scored_by_itself(clustered: Model) -> None:
    """Its memory is that of one call, or, where it is long, taken and given back."""
    for n in (0, 1, 5000, 3, 40_000, 2):
        sentence = " ".join(f"w{i % 3000:04}" for i in range(n))
        assert clustered.score(sentence) == clustered.score_many([sentence])[0]


@pytest.mark.parametrize("n_words", [1, 254, 255, 256, 257, 1030])
def test_words_are_encoded_the_same_across_batches(n_words: int) -> None:
    vocabulary = Vocabulary.of([b"a", b"bb", b"ccc"])
    words = ["a", "bb", "ccc", "dd"] * n_words
    lines = [" ".join(words[:n_words]), "", "  ", "bb"]
    text = np.frombuffer(("\n".join(lines) + "\n").encode(), np.uint8)
    out = np.empty(2 * text.size + 2, np.int32)
    status, stopped, used, found, empty = encode_lines(
        text, 2, False, vocabulary.slots, vocabulary.pool, vocabulary.offsets, out
    )
    expected = [1, *([3, 4, 5, 0] * n_words)[:n_words], 2, 1, 4, 2]
    assert (status, stopped, found, empty) == (DONE, text.size, 4, 2)
    assert out[:used].tolist() == expected


@pytest.mark.parametrize("n_grams", [1, 3, 16, 17, 40, 700])
def test_a_key_is_found_by_lines_of_grams_wherever_it_lies(samples: Samples, n_grams: int) -> None:
    """Contexts of many sizes, each beginning anywhere in a line, with keys spread evenly or all together."""
    key_bits, code_bits, draw = 17, 15, np.random.default_rng(n_grams)
    for shift, together in itertools.product(range(0, 20, 3), (False, True)):
        span = 2 * n_grams if together else 1 << key_bits
        own = np.sort(draw.choice(span, n_grams, replace=False))
        others = draw.choice(own, 40)  # neighbours of the context have some of the same keys
        grams = np.concatenate([others[:shift], own, others]) << code_bits | 5
        bits = np.append(grams, 0)[: len(grams) // 2 * 2].astype(np.uint32).view(np.uint64)
        form = GramFormat(32 * shift, 32, code_bits, key_bits, n_grams, 1)
        strange = draw.integers(0, 1 << key_bits, 30)
        asked = np.concatenate([own[:: max(1, n_grams // 50)], strange, [0, (1 << key_bits) - 1]])
        entries, codes = samples.find_all(bits, form, asked, n_grams)
        expected = [int(np.searchsorted(own, key)) if key in own else -1 for key in asked]
        assert entries.tolist() == expected
        assert codes.tolist() == [5 if entry >= 0 else 0 for entry in expected]
