"""Mixtures sum to one, find the best weights, and come back from their file."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from tests.support.corpora import toy_text
from tests.support.made_models import trained

import gapgram
from gapgram import Model
from gapgram.cli.mix import command
from gapgram.errors import ModelFileError, TextError, UsageError
from gapgram.models.mixture import Mixture, best_weights, tune

pytestmark = pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning")


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> list[Model]:
    """Two models of different orders that know different words."""
    folder = tmp_path_factory.mktemp("pair")
    return [
        trained(toy_text(300, seed=1, vocabulary=80), order=3, model="mkn", output=folder / "a.model"),
        trained(toy_text(200, seed=2, vocabulary=300), order=4, model="glm", output=folder / "b.model"),
    ]


@pytest.mark.parametrize("context", ["", "<s>", "w1 w2", "zzz w200 w3 w4"])
def test_distributions_sum_to_one_and_are_the_scores(pair: list[Model], context: str) -> None:
    both = Mixture(pair, [0.3, 0.7])
    distribution = both.distribution(context)
    assert distribution.sum() == pytest.approx(1, abs=1e-12)
    assert len(both.vocabulary) == len(set(pair[0].vocabulary) | set(pair[1].vocabulary))
    for word in ("w1", "w200", "<unk>", "</s>"):
        assert 10 ** both.log10_prob(word, context) == pytest.approx(distribution[both.vocabulary.id(word)])


def test_a_word_that_all_know_gets_the_weighted_mean(pair: list[Model]) -> None:
    both = Mixture(pair, [0.3, 0.7])
    expected = [10 ** m.log10_prob("w3", "w1 w2") for m in pair]
    assert 10 ** both.log10_prob("w3", "w1 w2") == pytest.approx(0.3 * expected[0] + 0.7 * expected[1])


def test_tuned_weights_are_the_best(pair: list[Model], tmp_path: Path) -> None:
    text = tmp_path / "valid"
    text.write_text("\n".join([*toy_text(40, seed=3, vocabulary=80), *toy_text(40, seed=4, vocabulary=300), ""]))
    tuned = tune(pair, text)
    best = tuned.perplexity(text).log10_prob
    for shift in (-0.02, 0.02):
        assert Mixture(pair, [tuned.weights[0] + shift, tuned.weights[1] - shift]).perplexity(text).log10_prob < best
    for alone in ([1.0, 0.0], [0.0, 1.0]):
        assert Mixture(pair, alone).perplexity(text).log10_prob < best


def test_a_useless_model_gets_no_weight() -> None:
    found = best_weights(np.log10([[0.5] * 50, [0.001] * 50]))
    assert found == pytest.approx([1, 0], abs=1e-3)


def test_saved_and_opened_again(pair: list[Model], tmp_path: Path) -> None:
    both = Mixture(pair, [0.3, 0.7])
    both.save(tmp_path / "both")
    again = gapgram.load(tmp_path / "both")
    assert isinstance(again, Mixture)
    assert again.score("w1 w2 w250") == both.score("w1 w2 w250")
    assert again.signature == both.signature


def test_a_mixture_of_an_older_version_is_opened(pair: list[Model], tmp_path: Path) -> None:
    Mixture(pair, [0.3, 0.7]).save(tmp_path / "m")
    text = (tmp_path / "m").read_text("utf-8")
    assert f"|gapgram:{gapgram.__version__}" in text
    (tmp_path / "m").write_text(text.replace(f"|gapgram:{gapgram.__version__}", "|gapgram:0.9.9"), "utf-8")
    assert gapgram.load(tmp_path / "m").score("w1 w2") == Mixture(pair, [0.3, 0.7]).score("w1 w2")


def test_another_model_in_the_place_of_one_is_noticed(pair: list[Model], tmp_path: Path) -> None:
    for model, name in zip(pair, "ab", strict=True):
        shutil.copy(str(model.path), tmp_path / name)
    Mixture([Model.load(tmp_path / "a"), Model.load(tmp_path / "b")], [0.5, 0.5]).save(tmp_path / "both")
    shutil.copy(tmp_path / "a", tmp_path / "b")
    with pytest.raises(ModelFileError, match="b is another model than when the mixture was made"):
        gapgram.load(tmp_path / "both")
    (tmp_path / "both").write_text("{}")
    with pytest.raises(ModelFileError, match="not a mixture as gapgram writes it"):
        gapgram.load(tmp_path / "both")


def test_mistakes(pair: list[Model], tmp_path: Path) -> None:
    for weights in ([0.5, 0.2], [1.5, -0.5], [1.0]):
        with pytest.raises(UsageError, match="expected"):
            Mixture(pair, weights)
    (tmp_path / "empty").write_text("\n")
    with pytest.raises(TextError, match="no sentence in it"):
        tune(pair, tmp_path / "empty")
    with pytest.raises(ModelFileError, match="save them first"):
        Mixture([pair[0], trained(["a b"], order=2, model="mkn")], [0.5, 0.5]).save(tmp_path / "m")


def test_the_command(pair: list[Model], tmp_path: Path) -> None:
    paths = [str(m.path) for m in pair]
    (tmp_path / "valid").write_text("w1 w2 w3\nw5\n")
    out = CliRunner().invoke(command, [*paths, "--tune", str(tmp_path / "valid"), "-o", str(tmp_path / "m"), "--json"])
    weights = [entry["weight"] for entry in json.loads(out.stdout)["models"]]
    assert sum(weights) == pytest.approx(1)
    assert gapgram.load(tmp_path / "m").order == 4
    assert CliRunner().invoke(command, [*paths, "--weights", "0.25,0.75"]).stdout.startswith("0.250000\t")


def test_a_mixture_never_replaces_what_it_is_made_of(made: dict[str, Model], tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    shutil.copy(str(made["mkn"].path), one)
    shutil.copy(str(made["uniform"].path), two)
    before = one.read_bytes()
    with pytest.raises(ModelFileError, match="one: is read and would be replaced; name another file to write"):
        Mixture([Model.load(one), Model.load(two)], [0.5, 0.5]).save(one)
    assert one.read_bytes() == before


def test_a_mixture_that_is_a_part_of_itself_is_refused(made: dict[str, Model], tmp_path: Path) -> None:
    shutil.copy(str(made["mkn"].path), tmp_path / "one")
    Mixture([Model.load(tmp_path / "one")] * 2, [0.5, 0.5]).save(tmp_path / "mixed")
    circle = (tmp_path / "mixed").read_text().replace('"one"', '"mixed"')
    (tmp_path / "mixed").write_text(circle)
    with pytest.raises(ModelFileError, match="mixed: a mixture that is a part of itself"):
        gapgram.load(tmp_path / "mixed")
