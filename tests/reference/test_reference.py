"""The reference against arithmetic done by hand; the kernels are then compared with the reference."""

from __future__ import annotations

import ast
import math
import sys
from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import pytest
from reference.by_counts import CountsModel
from reference.counts import ReferenceCounts
from reference.gate import Feature, Fitted
from reference.learned import LearnedModel
from reference.model import ReferenceModel, discounts

import gapgram
from gapgram import Lattice, Pattern

# <s> a b </s>
# <s> a c </s>
# <s> b a b </s>
TOY = ["a b", "a c", "b a b"]


def toy_counts(lattice: Lattice) -> ReferenceCounts:
    return ReferenceCounts([line.split() for line in TOY], lattice)


def grams(counts: ReferenceCounts, pattern: str) -> dict[str, int]:
    return {" ".join([*context, word]): n for (context, word), n in counts.counts[Pattern.parse(pattern)].items()}


def test_the_top_pattern_counts_occurrences() -> None:
    assert grams(toy_counts(Lattice.full(3)), "111") == {
        "<s> a b": 1, "<s> a c": 1, "<s> b a": 1, "a b </s>": 2, "a c </s>": 1, "b a b": 1,
    }  # fmt: skip


def test_a_shorter_pattern_counts_the_words_to_its_left() -> None:
    # "a b" follows <s> and b; "b </s>" occurs twice but follows only a; "<s> a" has nothing to its left
    # and counts as itself, twice.
    assert grams(toy_counts(Lattice.full(3)), "11") == {
        "<s> a": 2, "<s> b": 1, "a b": 2, "a c": 1, "b a": 1, "b </s>": 1, "c </s>": 1,
    }  # fmt: skip


def test_a_pattern_with_a_gap_counts_its_fillings() -> None:
    # "a _ </s>" occurs three times, filled by b, c, b: 2. Grams are written here without their gap.
    assert grams(toy_counts(Lattice.full(3)), "101") == {"<s> a": 1, "<s> b": 1, "<s> c": 1, "a </s>": 2, "b b": 1}


def test_the_empty_pattern_counts_the_words_before_a_word() -> None:
    # a follows <s> and b; b follows a and <s>; c follows a; </s> follows b and c; <s> is never predicted.
    assert grams(toy_counts(Lattice.full(3)), "1") == {"a": 2, "b": 2, "c": 1, "</s>": 2}


def test_several_gaps_are_filled_by_tuples() -> None:
    # a _ _ d: (b c), (x c), (b y), (b c) again: 3 tuples, though each gap alone has 2 fillings.
    counts = ReferenceCounts([s.split() for s in ("a b c d", "a x c d", "a b y d", "a b c d")], Lattice.full(5))
    assert counts.counts[Pattern.parse("1001")][("a",), "d"] == 3
    # <s> _ b _ d = {2, 4}: filled by (a, c) twice and (a, y).
    assert counts.counts[Pattern.parse("10101")][("<s>", "b"), "d"] == 2
    # a b _ d = {2, 3}: filled by c and y; no word to the left is considered, though only <s> stands there.
    assert counts.counts[Pattern.parse("1101")][("a", "b"), "d"] == 2


def test_grams_that_start_a_sentence_count_as_themselves_below_the_top() -> None:
    counts = ReferenceCounts([["a", "b", "c"]] * 3, Lattice.full(4))
    assert counts.counts[Pattern.parse("111")][("<s>", "a"), "b"] == 3
    assert counts.counts[Pattern.parse("111")][("a", "b"), "c"] == 1  # <s> is the one word before it
    assert counts.counts[Pattern.parse("101")][("<s>",), "b"] == 1  # with a gap: one filling, a


def test_totals_and_types_of_a_context() -> None:
    counts = toy_counts(Lattice.full(3))
    assert counts.total(Pattern.of(1), ("a",)) == 3  # a b: 2, a c: 1
    assert counts.types(Pattern.of(1), ("a",)) == (1, 1, 0)
    assert counts.total(Pattern.of(1), ("z",)) == 0
    assert counts.counts_of_counts(Pattern.of(1, 2)) == (5, 1, 0, 0)
    assert counts.vocabulary == ["a", "b", "c", "</s>", "<unk>"]


def test_discounts_by_hand() -> None:
    # Y = 10/(10+2·5) = 1/2; D1 = 1 - 2·Y·5/10 = 1/2; D2 = 2 - 3·Y·2/5 = 1.4; D3+ = 3 - 4·Y·1/2 = 2.
    assert discounts(10, 5, 2, 1) == pytest.approx((0.5, 1.4, 2.0), abs=1e-15)
    assert discounts(10, 5, 2, 0)[2] == 3  # nothing has count 4: all of 3 is taken, which is allowed


@pytest.mark.parametrize("n", [
    (0, 5, 2, 1), (10, 0, 2, 1), (10, 5, 0, 1),  # undefined
    (10, 5, 2, 4),  # D3+ = 3 - 4·½·4/2 = -1
    (10, 5, 20, 1),  # D2 = 2 - 3·½·20/5 = -4
])  # fmt: skip
def test_discounts_fall_back_where_undefined_or_out_of_range(n: tuple[int, int, int, int]) -> None:
    assert discounts(*n) == (0.5, 1.0, 1.5)


# All patterns of the toy fall back to D = 0.5, 1, 1.5. Without context, 7 in all, vocabulary of 5:
#   P(b)        = (2-1)/7 + (0.5·1 + 1·3)/7 · 1/5      = 1/7 + 1/10                         = 17/70
#   P(b|a)      = (2-1)/3 + (0.5·1 + 1·1)/3 · 17/70                                          = 191/420
#   P(b|<s> _)  = (1-0.5)/3 + (0.5·3)/3 · 17/70                                              = 121/420
#   MKN P(b|<s> a) = (1-0.5)/2 + (0.5·2)/2 · 191/420                                         = 401/840
#   GLM P(b|<s> a) = (1-0.5)/2 + (0.5·2)/2 · (191/420 + 121/420)/2                           = 61/140
BY_HAND = {"mkn": Fraction(401, 840), "glm": Fraction(61, 140)}


@pytest.mark.parametrize(("name", "lattice"), [("mkn", Lattice.chain(3)), ("glm", Lattice.full(3))])
def test_a_probability_by_hand(name: str, lattice: Lattice) -> None:
    model = ReferenceModel(toy_counts(lattice))
    assert model.probability("b", []) == pytest.approx(17 / 70, rel=1e-14)
    assert model.probability("b", ["a"]) == pytest.approx(191 / 420, rel=1e-14)
    assert model.probability("b", ["<s>", "a"]) == pytest.approx(float(BY_HAND[name]), rel=1e-14)
    # A context never seen passes all on: P(b|<unk> a) is P(b|a) for MKN, for GLM the mean of P(b|a) and P(b).
    expected = {"mkn": Fraction(191, 420), "glm": (Fraction(191, 420) + Fraction(17, 70)) / 2}[name]
    assert model.probability("b", ["<unk>", "a"]) == pytest.approx(float(expected), rel=1e-14)


@pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning")
@pytest.mark.parametrize("name", ["mkn", "glm"])
def test_the_program_says_the_same(name: str) -> None:
    weights = "uniform" if name == "glm" else None
    model = gapgram.train(sentences=TOY, order=3, model=name, weights=weights)
    assert 10 ** model.log10_prob("b", ["<s>", "a"]) == pytest.approx(float(BY_HAND[name]), rel=1e-14)
    assert 10 ** model.log10_prob("b", ["a"]) == pytest.approx(191 / 420, rel=1e-14)
    assert 10 ** model.log10_prob("b") == pytest.approx(17 / 70, rel=1e-14)


def test_weights_of_edges_are_ratios() -> None:
    # Three parts for P(b|a), one for P(b|<s> _): 1/4 + 1/2 · (3·191/420 + 121/420)/4 = 1/4 + 347/1680.
    class ThreeToOne(ReferenceModel):
        def weight(self, above: Pattern | None, pattern: Pattern, before: Sequence[str]) -> float:
            return 3.0 if pattern == Pattern.of(1) else 1.0

    model = ThreeToOne(toy_counts(Lattice.full(3)))
    assert model.probability("b", ["<s>", "a"]) == pytest.approx(1 / 4 + 694 / 3360, rel=1e-14)


# Weights by counts: odds of falling back 0.6 times the usual but for the empty pattern, so
#   P_a(b)     = (1 + 0.6·1.5·17/70) / (3 - 1.5 + 0.6·1.5)          after a:    total 3, taken 1.5
#   P_<s>_(b)  = (0.5 + 0.6·1.5·17/70) / (3 - 1.5 + 0.6·1.5)        after <s> _: total 3, taken 1.5
#   P_<s>a(b)  = (0.5 + 0.6·1·mean) / (2 - 1 + 0.6·1)               after <s> a: total 2, taken 1
# Both have g = 1/2, so that only the squares of what is dropped count: a drops offset 2, <s> _ offset 1: 4 to 1.
def test_weights_by_counts_by_hand() -> None:
    model = CountsModel(toy_counts(Lattice.full(3)))
    near, far = (1 + 0.9 * 17 / 70) / 2.4, (0.5 + 0.9 * 17 / 70) / 2.4
    assert model.probability("b", ["a"]) == pytest.approx(near, rel=1e-14)
    expected = (0.5 + 0.6 * (4 * near + far) / 5) / 1.6
    assert model.probability("b", ["<s>", "a"]) == pytest.approx(expected, rel=1e-14)


def of_start(lattice: Lattice) -> Fitted:
    """Parameters where fitting starts, but for shifts, which are 0, and for discounts, all the fallback."""
    gate: dict[Feature, dict[Pattern, float]] = defaultdict(lambda: dict.fromkeys(lattice.patterns, 0.0))
    return Fitted(dict.fromkeys(lattice.patterns, (0.5, 1.0, 1.5)), defaultdict(float), gate)


def test_learned_weights_by_hand() -> None:
    # The usual P_S, since the odds are not shifted: 401/840, 191/420, 121/420, 17/70 under 111, 11, 101, 1.
    # Every g is 1/2, so that the logits differ by 2.1·|S| - 0.45·reach + 1.6·[1 in S] alone.
    lattice = Lattice.full(3)
    model = LearnedModel(toy_counts(lattice), of_start(lattice))
    logits = {"111": 2.1 * 2 - 0.45 * 2 + 1.6, "11": 2.1 - 0.45 + 1.6, "101": 2.1 - 0.45 * 2, "1": 0.0}
    values = {"111": 401 / 840, "11": 191 / 420, "101": 121 / 420, "1": 17 / 70}
    weights = {name: math.exp(logit) for name, logit in logits.items()}
    expected = sum(weights[name] * values[name] for name in values) / sum(weights.values())
    assert model.probability("b", ["<s>", "a"]) == pytest.approx(expected, rel=1e-14)


def test_patterns_of_classes_by_hand() -> None:
    # b and c are of class R, a of class L: <s> L R, <s> L R, <s> R L R. After a, L is followed by R, whose left
    # neighbours are <s> and R: count 2, total 2, discount 1. Of R's 4 words 3 are b. Below: P(b) = 17/70 of words, then
    # the empty pattern of classes: L 2, R 2, </s> 1, so 5 in all and (0.5 + 1 + 1)/5 of it falls back.
    lattice = Lattice.chain(3).with_classes("chain")
    counts = ReferenceCounts([line.split() for line in TOY], lattice, [{"a": "L", "b": "R", "c": "R"}])
    model = LearnedModel(counts, of_start(lattice))
    empty = (2 - 1) / 5 * 3 / 4 + 2.5 / 5 * 17 / 70
    assert model.probability_under(Pattern.of().of_classes, "b", ["a"]) == pytest.approx(empty, rel=1e-14)
    after_a = (2 - 1) / 2 * 3 / 4 + 1 / 2 * empty
    assert model.probability_under(Pattern.of(1).of_classes, "b", ["a"]) == pytest.approx(after_a, rel=1e-14)


def test_the_reference_imports_nothing_but_patterns_and_lattices() -> None:
    allowed = {"gapgram.lattice", "gapgram.pattern", *sys.stdlib_module_names}
    for path in (Path(__file__).parents[2] / "reference").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            assert all(n in allowed or n.startswith("reference.") or n.split(".")[0] in allowed for n in names)


def test_a_fallback_is_told_with_pattern_and_counts() -> None:
    # The unigrams of order 1 are counted, not continued: "a" and "b" thrice, "c" once, "</s>" thrice.
    with pytest.warns(gapgram.errors.DiscountWarning) as caught:
        gapgram.train(sentences=TOY, order=1, model="mkn")
    assert str(caught[-1].message) == (
        "discounts for pattern 1 (w1): no gram has count 2 (n1=1, n2=0, n3=3, n4=0). The text is "
        "too small or repeats its lines; fallback discounts 0.5, 1.0, 1.5 are used."
    )
    with pytest.warns(gapgram.errors.DiscountWarning, match=r"continuation count .*are used, also for pattern 11\.$"):
        gapgram.train(sentences=TOY, order=2, model="mkn")
