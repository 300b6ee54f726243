"""The file of NeMo's NGPU-LM: an automaton that gives the scores of the model it was made from."""

from __future__ import annotations

import io
import math
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.corpora import toy_text
from tests.support.made_models import trained
from tests.support.running import Ran, assert_refused

import gapgram
from gapgram.errors import UsageError
from gapgram.models.arpa.writing import to_backoff
from gapgram.models.nemo import Automaton, automaton, write_nemo


@pytest.fixture(scope="module", params=[2, 4])
def made(request: pytest.FixtureRequest) -> tuple[gapgram.BackoffModel, Automaton]:
    """A model and its automaton: label v is the v-th word after the special ones, the last two are unknown."""
    model = to_backoff(trained(toy_text(60, seed=5), order=request.param, model="mkn"))
    return model, automaton(model.grams, labels_of(model), len(model.vocabulary) - 1)


def labels_of(model: gapgram.BackoffModel) -> list[int | None]:
    return [None, None, None, *range(len(model.vocabulary) - 3)]


def walked(made: Automaton, state: int, label: int) -> tuple[float, int]:
    """(score, next state), as NGPU-LM finds them: the arc of the state, or of those that it falls back on."""
    weight = 0.0
    while True:
        first, last = made.start_end_arcs[state]
        at = first + np.flatnonzero(made.ilabels[first:last] == label)
        if at.size:
            return weight + float(made.arcs_weights[at[0]]), int(made.to_states[at[0]])
        weight += float(made.backoff_weights[state])
        state = int(made.backoff_to_states[state])


def test_sentences_have_the_scores_of_the_model(made: tuple[gapgram.BackoffModel, Automaton]) -> None:
    model, arrays = made
    for line in [*toy_text(20, seed=11), "zzz w1 w2", ""]:
        words, state, total = line.split(), 1, 0.0
        for word in words:
            label = model.vocabulary.id(word) - 3 if word in model else len(model.vocabulary) - 2
            weight, state = walked(arrays, state, label)
            total += weight + (0.0 if word in model else math.log(2))  # two labels share what <unk> has
        total += float(arrays.final_weights[state])
        assert total == pytest.approx(model.score(line) * math.log(10), abs=1e-4)


def test_every_state_has_its_arcs_and_one_to_fall_back_on(made: tuple[gapgram.BackoffModel, Automaton]) -> None:
    model, arrays = made
    n_labels = len(model.vocabulary) - 1
    for state, (first, last) in enumerate(arrays.start_end_arcs):
        assert (arrays.from_states[first:last] == state).all()
        assert state == 0 or arrays.state_order[arrays.backoff_to_states[state]] < arrays.state_order[state]
    np.testing.assert_array_equal(arrays.ilabels[:n_labels], np.arange(n_labels))
    assert np.isfinite(arrays.final_weights).all()
    assert arrays.state_order.max() == model.order
    total = np.exp(arrays.arcs_weights[:n_labels].astype(float)).sum() + np.exp(float(arrays.final_weights[0]))
    assert total == pytest.approx(1.0, abs=1e-5)


def test_the_file_holds_the_configuration_and_the_tensors(
    made: tuple[gapgram.BackoffModel, Automaton], tmp_path: Path
) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    model, arrays = made
    numbers = write_nemo(model, tmp_path / "lm.nemo", labels_of(model), len(model.vocabulary) - 1)
    with tarfile.open(tmp_path / "lm.nemo") as archive:
        config = (archive.extractfile("./model_config.yaml") or io.BytesIO()).read().decode()
        held: Any = torch.load(archive.extractfile("./model_weights.ckpt"), weights_only=True)
    assert all(f"{name}: {number}\n" in config for name, number in numbers.items())
    for name, array in arrays._asdict().items():
        np.testing.assert_array_equal(held[name].numpy(), array)


def test_what_such_a_file_cannot_hold_is_refused() -> None:
    single = to_backoff(trained(toy_text(9), order=1, model="mkn"))
    with pytest.raises(UsageError, match="order 1 has no contexts"):
        automaton(single.grams, labels_of(single), 99)
    rare = to_backoff(trained(toy_text(60), order=3, model="mkn"))
    words = rare.grams.words.copy()
    words[rare.grams.base[1]] = 0
    with pytest.raises(UsageError, match="no grams with <unk> among their words"):
        automaton(replace(rare.grams, words=words), labels_of(rare), 99)
    with pytest.raises(UsageError, match="there are 3 labels"):
        automaton(rare.grams, labels_of(rare), 3)


def test_files_without_labels_are_refused(cli: Callable[..., Ran], models: dict[str, Any], tmp_path: Path) -> None:
    path, output = str(models["mkn"].path), str(tmp_path / "lm.nemo")
    assert_refused(cli("convert", path, "-o", output), "say --labels N")
    assert_refused(cli("convert", path, "-o", output, "--labels", "9"), "is none of 9 labels of the recogniser")
    assert_refused(cli("convert", path, "-o", str(tmp_path / "x.model"), "--labels", "9"), "--labels is for files")
