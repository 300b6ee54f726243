"""What a sample knows of its positions is the same in little memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.support.corpora import corpus_of, toy_text

import gapgram
from gapgram.counting.memory_needs import threads_within
from gapgram.estimation.weights.sample import statistics_of
from gapgram.kernels.probability.query import availability
from gapgram.kernels.text.special_words import START_ID
from gapgram.system.mapped_pages import AROUND, PageBudget

pytestmark = pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning")


@pytest.mark.parametrize("lattice", ["full", "full+chain", "11,1001,1011"])
@pytest.mark.parametrize("threads", [1, 99, 10**9])
def test_statistics_are_the_same_one_pattern_at_a_time(lattice: str, threads: int) -> None:
    corpus = corpus_of(toy_text(60))
    model = gapgram.train(sentences=toy_text(60), order=4, classes=5 if "+" in lattice else None, lattice=lattice)
    starts = np.append(np.flatnonzero(corpus.ids == START_ID), corpus.ids.size)
    available = availability(corpus.ids, starts, 4)
    whole = statistics_of(model.counts, corpus.ids, available)
    limited = replace(model.counts, pages=PageBudget(0, least_bytes=6 * AROUND * 200))
    assert whole[:, :, 0].max() > 1
    assert np.array_equal(whole, statistics_of(limited, corpus.ids, available, threads))


def test_as_many_threads_look_up_a_sample_as_memory_allows() -> None:
    assert threads_within(50 << 20, 136) == 1
    assert threads_within(4 << 30, 16) > 100
