"""ARPA files whose figures are no distributions: scores are kept, above zero too, and it is said."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.running import Cli, assert_refused

import gapgram
from gapgram import Model
from gapgram.errors import SumWarning, UsageError
from gapgram.models.arpa.reading import read_arpa
from gapgram.models.arpa.writing import as_backoff, write_arpa
from gapgram.models.backoff import BackoffModel, write_backoff
from gapgram.models.grams import sums_of_contexts

pytestmark = pytest.mark.filterwarnings("ignore::gapgram.errors.SumWarning")

# A backoff above 0: P(bar|bar) is no probability, but 10^(3.0 - 2.7), as KenLM has it. `foo bar bar` lacks its end.
ABOVE_ZERO = """\\data\\
ngram 1=5
ngram 2=1

\\1-grams:
-99 <s> -0.4
-2.7 bar 3.0
-3.1 foo
-0.7 </s>
-2 <unk>

\\2-grams:
-6 foo bar

\\end\\
"""
_LONGER = "-6 foo bar 1\n\n\\3-grams:\n-1 foo bar bar\n"
LACKS_ITS_END = ABOVE_ZERO.replace("2=1", "2=1\nngram 3=1").replace("-6 foo bar\n", _LONGER)
SUMS_TO_LESS = ABOVE_ZERO.replace("3.0", "-0.2")


def unclamped(model: BackoffModel, context: list[str]) -> float:
    """What the scores of all words sum to."""
    return sum(10 ** model.log10_prob(word, context) for word in model.vocabulary if word != "<s>")


def arpa_of(folder: Path, text: str) -> Path:
    path = folder / "model.arpa"
    path.write_text(text)
    return path


@pytest.mark.parametrize("text", [ABOVE_ZERO, LACKS_ITS_END])
def test_scores_above_zero_are_kept_whatever_they_are_converted_to(tmp_path: Path, text: str) -> None:
    model = read_arpa(arpa_of(tmp_path, text))
    assert model.log10_prob("bar", "bar") == pytest.approx(0.3)
    assert model.scores("foo bar bar bar") == pytest.approx(
        [-3.5, -6.0, 0.3, 0.3, 2.3] if text is ABOVE_ZERO else [-3.5, -6.0, -1.0, 0.3, 2.3]
    )
    state, total = model.begin_sentence(), 0.0
    for word in ["foo", "bar", "bar", "bar"]:
        score, state = model.extend(state, word)
        total += score
    assert total == pytest.approx(model.score("foo bar bar bar", eos=False))
    write_backoff(model, tmp_path / "converted.model")
    again = gapgram.load(tmp_path / "converted.model")
    assert again.scores("foo bar bar bar").tolist() == model.scores("foo bar bar bar").tolist()
    assert again.distribution("bar").max() == 1.0  # a probability is one at most
    assert [p.probability for p in model.predict("bar", 1)] == [1.0]


def test_a_file_that_does_not_sum_to_one_is_said(tmp_path: Path, cli: Cli) -> None:
    path = arpa_of(tmp_path, ABOVE_ZERO)
    said = r"model.arpa: after 'bar' probabilities sum to .*, not to 1, as after 6 of 6 contexts: scores are as"
    with pytest.warns(SumWarning, match=said):
        model = gapgram.load(path)
    write_backoff(model, tmp_path / "b.model")  # type: ignore[arg-type]
    with pytest.warns(SumWarning, match=said.replace("model.arpa", "b.model")):
        gapgram.load(tmp_path / "b.model")
    for odd in (path, tmp_path / "b.model"):
        assert_refused(cli("verify", odd), "whole, but a distribution misses 1 by")


def test_what_contexts_sum_to_is_what_distributions_do(made: dict[str, Model], tmp_path: Path) -> None:
    read = [read_arpa(arpa_of(tmp_path, text)) for text in (SUMS_TO_LESS, ABOVE_ZERO, LACKS_ITS_END)]
    for model in (as_backoff(made["mkn"]), *read):
        sums, words = sums_of_contexts(model.grams), list(model.vocabulary)
        assert sums[0] == pytest.approx(unclamped(model, []))
        for i in range(3, min(len(words), 12)):
            assert sums[1 + i] == pytest.approx(unclamped(model, [words[i]]))


def test_a_gram_above_zero_cannot_be_written_as_arpa(tmp_path: Path) -> None:
    model = read_arpa(arpa_of(tmp_path, LACKS_ITS_END))
    with pytest.raises(UsageError, match="log10 of a probability above 0, which no ARPA file can say"):
        write_arpa(model, tmp_path / "again.arpa")
    assert not (tmp_path / "again.arpa").exists()
