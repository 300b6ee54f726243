"""States that are single numbers: they hold the last labels and no more."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gapgram.errors import UsageError
from gapgram.queries.packed_states import STATE_BITS, PackedStates


@given(st.integers(1, 70_000), st.integers(1, 9), st.lists(st.integers(0, 1 << 20), max_size=12), st.booleans())
def test_a_state_holds_the_last_labels(n_labels: int, order: int, drawn: list[int], bos: bool) -> None:
    if (n_labels + 1).bit_length() * (order - 1) > STATE_BITS:
        with pytest.raises(UsageError, match="train with order"):
            PackedStates(n_labels, order)
        return
    states, labels = PackedStates(n_labels, order), [label % n_labels for label in drawn]
    state = states.beginning if bos else 0
    for label in labels:
        state = states.after(state, label)
    before = [n_labels] if bos else []
    assert states.labels(state) == ([*before, *labels][-(order - 1) :] if order > 1 else [])
    assert 0 <= state <= states.kept


def test_as_many_labels_fit_as_are_promised_and_arrays_go_on_alike() -> None:
    for n_labels, order in ((4_094, 6), (16_384, 5), (51_865, 4)):
        states = PackedStates(n_labels, order)
        several = states.after(np.array([0, states.beginning])[:, None], np.arange(n_labels)[None])
        assert several[1].tolist() == [states.after(states.beginning, v) for v in range(n_labels)]
        assert several.min() >= 0
    with pytest.raises(UsageError, match=r"order 6: a state has 63 bits, and 5 labels need 65; train with order 5"):
        PackedStates(4_095, 6)
