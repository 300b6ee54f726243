"""The compact layout: the same bits as the fast one for every query, and back to the same file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.corpora import toy_text
from tests.support.made_models import FAST_KINDS, some_contexts

import gapgram
from gapgram import Model
from gapgram.errors import UsageError
from gapgram.models.arpa.writing import write_arpa
from gapgram.queries.generate import generate
from gapgram.reporting.model_info import model_info

pytestmark = pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning")


@pytest.fixture(scope="module")
def small(fast: dict[str, Model], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Model]:
    """The same models in the compact layout, mapped from their files."""
    folder = tmp_path_factory.mktemp("compact")
    for kind, model in fast.items():
        Model(model.parts).with_layout("compact", output=folder / kind)
    return {kind: Model.load(folder / kind, verify=True) for kind in fast}


@pytest.mark.parametrize("kind", FAST_KINDS)
def test_every_query_gives_the_same_bits(fast: dict[str, Model], small: dict[str, Model], kind: str) -> None:
    one, two = fast[kind], small[kind]
    assert (one.layout, two.layout) == ("fast", "compact")
    texts = [*toy_text(60, seed=8), "", "zzz w1 zzz", " ".join(toy_text(300, seed=9))]
    assert np.array_equal(one.score_many(texts), two.score_many(texts))
    assert one.signature == two.signature
    for context in some_contexts():
        assert np.array_equal(one.distribution(context), two.distribution(context))
        assert one.predict(context, 5) == two.predict(context, 5)
        assert one.predict(context, 3, prefix="w1") == two.predict(context, 3, prefix="w1")
        assert one.explain("w2", context).as_dict() == two.explain("w2", context).as_dict()
    steps: list[list[float]] = [[], []]
    for found, model in zip(steps, (one, two), strict=True):
        state = model.begin_sentence()
        for word in texts[0].split():
            score, state = model.extend(state, word)
            found.append(score)
    assert steps[0] == steps[1] == one.scores(texts[0], eos=False).tolist()
    assert list(generate(one, 5, seed=4)) == list(generate(two, 5, seed=4))
    for pattern in one.counts.lattice.stored:
        assert one.counts.most_frequent(pattern, 9) == two.counts.most_frequent(pattern, 9)
        assert one.counts.counts_of_counts(pattern) == two.counts.counts_of_counts(pattern)


def test_an_arpa_file_is_the_same(fast: dict[str, Model], small: dict[str, Model], tmp_path: Path) -> None:
    write_arpa(fast["mkn"], tmp_path / "one")
    write_arpa(small["mkn"], tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@pytest.mark.parametrize("kind", FAST_KINDS)
def test_back_to_the_same_file(
    fast: dict[str, Model], small: dict[str, Model], kind: str, tmp_path: Path
) -> None:
    Model(fast[kind].parts).with_layout("fast", output=tmp_path / "one")
    Model(small[kind].parts).with_layout("fast", output=tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    Model.load(tmp_path / "two").with_layout("compact").save(tmp_path / "three")
    assert (tmp_path / "three").read_bytes() == small[kind].path.read_bytes()  # type: ignore[union-attr]


def test_training_to_a_layout(cli: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "text").write_text("\n".join(toy_text(80)))
    cli("train", tmp_path / "text", "-o", tmp_path / "fast", "-n", 3, "-q")
    cli("train", tmp_path / "text", "-o", tmp_path / "compact", "-n", 3, "--layout", "compact", "-q")
    Model.load(tmp_path / "fast").with_layout("compact", output=tmp_path / "converted")
    assert (tmp_path / "compact").read_bytes() == (tmp_path / "converted").read_bytes()
    model = gapgram.train(sentences=toy_text(80), order=3, layout="compact")
    assert model.layout == "compact"
    assert model.score("w1 w2") == Model.load(tmp_path / "fast").score("w1 w2")
    with pytest.raises(UsageError, match="layout 'tiny': expected fast or compact"):
        gapgram.train(sentences=["a b"], layout="tiny")


def test_converting(cli: Callable[..., Any], fast: dict[str, Model], tmp_path: Path) -> None:
    there, back, source = tmp_path / "there", tmp_path / "back", fast["glm"].path
    assert cli("convert", source, "-o", there).code == 0
    ran = cli("convert", there, "-o", back, "--layout", "fast", "--json")
    assert (ran.json["before"]["layout"], ran.json["after"]["layout"]) == ("compact", "fast")
    assert source is not None
    assert back.read_bytes() == source.read_bytes()
    assert cli("verify", there).code == 0
    assert "is read and would be replaced" in cli("convert", there, "-o", there).err
    assert cli("convert", there, "-o", back, "--quantise", 9).code == 2


def test_info_says_what_a_gram_takes(cli: Callable[..., Any], fast: dict[str, Model], small: dict[str, Model]) -> None:
    one, two = model_info(fast["glm"]), model_info(small["glm"])
    for info in (one, two):
        parts = info["bytes_per_gram_by_part"]
        assert set(parts) == {"keys", "counts", "contexts", "rows", "vocabulary"}
        # What is not told apart are the header, the table of sections and what is no table of grams.
        assert 0 < info["bytes_per_gram"] - sum(parts.values()) < 0.3 * info["bytes_per_gram"]
    assert two["bytes_per_gram"] < 0.7 * one["bytes_per_gram"]
    shown = cli("info", small["glm"].path).out
    assert "layout              compact" in shown
    assert f"bytes per gram      {two['bytes_per_gram']:.2f}: keys" in shown
