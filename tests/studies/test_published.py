"""The museum piece: its arithmetic on three lines, its sums, and the paper's six figures where the data is."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from studies.published import LONGEST, PublishedProgram, place_sums, published_perplexity
from studies.texts import read_lines
from tests.support.corpora import toy_text

from gapgram.errors import TextError, UsageError
from studies import published_comparison

# <fs> <s> a b </s>, twice, and <fs> <s> a c </s>.
#   bigrams  <s> a 3, a b 2, a c 1, b </s> 2, c </s> 1: n1=2, n2=2, n3=1, n4=0
#   Y = 2/(2+4) = 1/3, D1 = 1-2/3·2/2 = 1/3, D2 = 2-3/3·1/2 = 3/2, D3+ = 3
#   N = 3·4 = 12, so that a word never seen gets 1/13
#   table _1: a 1, b 1, c 1, </s> 2, <s> 0; its sum in __ is 5
#   W after a: the values of a b and a c in table 1_ are 1 and 1, so W = 1/3·2 = 2/3, over c(a) = 3 it is 2/9
TOY = ("a b", "a b", "a c")


@pytest.fixture(scope="module")
def toy() -> PublishedProgram:
    return PublishedProgram.of(TOY, longest=2)


@pytest.mark.parametrize(
    ("words", "mkn", "glm"),
    [
        (("a",), 3 / 12, 3 / 12),
        (("x",), 1 / 13, 1 / 13),
        (("<s>",), 3 / 12, 3 / 12),
        (("a", "b"), (2 - 1.5) / 3 + 2 / 9 * (1 / 5), (2 - 1.5) / 3 + 2 / 9 * (1 / 5 + 1 / 13)),
        (("a", "c"), (1 - 1 / 3) / 3 + 2 / 9 * (1 / 5), (1 - 1 / 3) / 3 + 2 / 9 * (1 / 5 + 1 / 13)),
        (("a", "x"), 2 / 9 * (1 / 13), 2 / 9 * (1 / 13 + 1 / 13)),
        (("x", "b"), 1 / 5, 1 / 5 + 1 / 13),
    ],
)
def test_the_arithmetic_of_three_lines(
    toy: PublishedProgram, words: tuple[str, ...], mkn: float, glm: float
) -> None:
    assert toy.probability(words, generalized=False) == pytest.approx(mkn, rel=1e-12)
    assert toy.probability(words, generalized=True) == pytest.approx(glm, rel=1e-12)


def test_perplexity_of_two_sequences(toy: PublishedProgram) -> None:
    sums = place_sums(toy, [("a", "b"), ("x", "b")], generalized=False, longest=2)
    product = (3 / 12) * (19 / 90) * (1 / 13) * (1 / 5)
    assert published_perplexity(sums, 2) == pytest.approx(product ** (-1 / 4), rel=1e-12)
    assert [s.known_words for s in sums] == [1, 2]


@pytest.mark.parametrize("generalized", [False, True])
def test_sums_equal_adding_up_every_word(generalized: bool) -> None:
    program = PublishedProgram.of(toy_text(400), longest=4)
    for context in [(), ("w1",), ("<s>", "w2"), ("w3", "w1", "w2"), ("nowhere", "w1"), ("w1", "nowhere", "w2")]:
        added = sum(program.probability((*context, word), generalized=generalized) for word in program.vocabulary)
        assert program.sum_over_vocabulary(context, generalized=generalized) == pytest.approx(added, rel=1e-9)


def test_a_text_that_is_too_small_says_so() -> None:
    with pytest.raises(TextError, match=r"too small a text .* table 11 has n1=3, n2=0, n3=0"):
        PublishedProgram.of(["a b"], longest=2)


def test_data_that_is_not_there_says_what_to_give(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no such folder; name the one that holds train.txt .* \(--data\)"):
        published_comparison.find_data(tmp_path / "nowhere")
    (tmp_path / "train.txt").write_text("a b\n")
    with pytest.raises(UsageError, match=r"holds no test\.5\.txt"):
        published_comparison.find_data(tmp_path)
    (tmp_path / "test.5.txt").write_text("a b c d e\na b c\n")
    with pytest.raises(TextError, match=r"sequence 2 has 3 words; expected 5"):
        published_comparison.read_sequences(tmp_path / "test.5.txt")


def _paper() -> tuple[list[str], list[tuple[str, ...]]]:
    """The paper's texts, which come with the repository."""
    train, test = published_comparison.find_data(None)
    return read_lines([train]), [tuple(words) for words in published_comparison.read_sequences(test).words]


def test_the_texts_of_the_repository_are_those_of_the_paper() -> None:
    lines, sequences = _paper()
    assert (len(lines), len(sequences)) == (6083, 99_508)
    digest = hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()
    assert digest == "7ef880445fa7e74dbfd6359ef2ad3b8132c3a7067f85c080690c8f3d88598003"


def test_published_figures_of_order_3() -> None:
    lines, sequences = _paper()
    program = PublishedProgram.of(lines, longest=3)
    for generalized, printed in ((False, 1212.1), (True, 1025.6)):
        sums = place_sums(program, sequences, generalized=generalized, longest=3)
        assert round(published_perplexity(sums, 3), 1) == printed


@pytest.mark.skipif("GAPGRAM_SLOW" not in os.environ, reason="takes half a minute and 1 GB: set GAPGRAM_SLOW=1")
def test_all_published_figures() -> None:
    lines, sequences = _paper()
    program = PublishedProgram.of(lines)
    for name, generalized in (("MKN", False), ("GLM", True)):
        sums = place_sums(program, sequences, generalized=generalized)
        found = tuple(round(published_perplexity(sums, n), 1) for n in range(3, LONGEST + 1))
        assert found == published_comparison.PRINTED[name]


@pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning")
def test_the_comparison_on_made_text(tmp_path: Path) -> None:
    lines = toy_text(3000, vocabulary=40)
    sequences = [" ".join(line.split()[:5]) for line in toy_text(200, seed=4) if len(line.split()) >= 5]
    (tmp_path / "train.txt").write_text("\n".join(lines))
    (tmp_path / "test.5.txt").write_text("\n".join(["<s> w1 w2 w3 w4", *sequences]))
    found = published_comparison.compare_published(tmp_path)
    published, models = found["rows"][:2], found["rows"][2:]
    assert [row["name"] for row in published] == ["published MKN", "published GLM"]
    for row in published:
        assert "|distribution:no|" in row["signature"]
        assert all(abs(total - 1) > 1e-3 for total in row["mean_sum"])
    assert [row["name"] for row in models] == ["mkn", "glm uniform", "glm counts", "glm learned"]
    for row in models:
        assert row["mean_sum"] == pytest.approx([1.0, 1.0, 1.0], abs=1e-9)
    text = published_comparison.published_table(found)
    assert text.splitlines()[0].split() == [
        *("n=3", "n=4", "n=5"), *("known", "n=3", "known", "n=4", "known", "n=5"),
        *("sum", "n=3", "sum", "n=4", "sum", "n=5"),
    ]  # fmt: skip
    assert "no probability distribution" in " ".join(text.split())
