"""The compact layout: the same bits as the fast one for every query, back to the same file, safe when damaged."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.corpora import corpus_of, texts_and_lattices, toy_text

import gapgram
from gapgram import Counts, Lattice, Model, Vocabulary
from gapgram.arrays import Floats, Integers
from gapgram.compression.quantise import means_of_runs
from gapgram.counting.in_memory import count
from gapgram.counts.assemble import assemble
from gapgram.counts.compact import choose_codes
from gapgram.counts.counts import Piece
from gapgram.counts.layouts import in_layout
from gapgram.errors import UsageError
from gapgram.kernels import bits, compact_read
from gapgram.kernels import tables as kernels
from gapgram.models.arpa import write_arpa
from gapgram.queries.generate import generate
from gapgram.reporting.model_info import model_info
from gapgram.text.corpus import TextFacts

pytestmark = pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning")
KINDS = ["mkn", "glm", "custom", "learned", "counts", "classes", "pruned"]


@pytest.fixture(scope="module")
def fast(models: dict[str, Model]) -> dict[str, Model]:
    """The small models of all tests, and one of each other kind of weights."""
    lines = toy_text(200, seed=3)
    kinds: dict[str, Any] = {"learned": {}, "counts": {"weights": "counts"}, "classes": {"classes": 6}}
    others = {kind: gapgram.train(sentences=lines, order=4, **options) for kind, options in kinds.items()}
    return {**models, **others, "pruned": others["learned"].pruned(counts="0,0,1")}


@pytest.fixture(scope="module")
def small(fast: dict[str, Model], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Model]:
    """The same models in the compact layout, mapped from their files."""
    folder = tmp_path_factory.mktemp("compact")
    for kind, model in fast.items():
        Model(model.parts).with_layout("compact", output=folder / kind)
    return {kind: Model.load(folder / kind, verify=True) for kind in fast}


def contexts() -> list[list[str]]:
    words = toy_text(40, seed=11)
    return [[], ["<s>"], ["zzz"], *[["<s>", *line.split()[:4]][-4:] for line in words]]


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=4), st.integers(0, 63))
def test_ones_of_words(numbers: list[int], k: int) -> None:
    for number in numbers:
        places = [i for i in range(64) if number >> i & 1]
        word = np.uint64(number)
        assert bits.ones(word) == len(places)
        assert int(bits.from_bit(word, k)) == number >> k << k
        for rank in range(0, len(places), 1 + len(places) // 5):
            assert bits.select_one(word, rank) == places[rank]
        assert not places or bits.lowest_one(word) == places[0]


def counts_of(lengths: list[int], draw: Callable[[], int], seed: int = 1) -> Counts:
    """Counts of single words and pairs: of word i so many words follow, each drawn a count."""
    n_words, chance = max(len(lengths), 4), random.Random(seed)
    lengths = [min(length, n_words) for length in lengths] + [0] * (n_words - len(lengths))
    words = np.array([w for n in lengths for w in sorted(chance.sample(range(n_words), n))], np.int64)
    begins = np.cumsum([0, *lengths])
    pairs = Piece(*kernels.build_tables(words, np.array([draw() for _ in words], np.int64), begins))
    singles = np.arange(n_words)
    empty = Piece(*kernels.build_tables(singles, singles % 7, np.array([0, n_words])))
    lattice = Lattice.chain(2)
    tables = assemble(lattice.stored, {lattice.stored[0]: [empty], lattice.stored[1]: [pairs]})
    vocabulary = Vocabulary.of([f"w{i}" for i in range(n_words - 3)])
    return Counts(lattice, vocabulary, TextFacts(1, 1, "", ""), tables)


def same_tables(one: Counts, two: Counts) -> None:
    for pattern in one.lattice.stored:
        assert np.array_equal(one.grams(pattern), two.grams(pattern))
        assert np.array_equal(one.contexts(pattern), two.contexts(pattern))
        assert np.array_equal(one.rows(pattern), two.rows(pattern))


LENGTHS = {
    "none": [0] * 300,
    "one each": [1] * 256,
    "blocks end exactly": [2] * 128,
    "far apart": [*[700] * 8, *[0] * 200, 650, *[1, 2, 3] * 170, 700],
    "all far apart": [400] * 400,
    "few": [0, 1, 2, 3, 4] * 100,
}
DRAWS: dict[str, Callable[[random.Random], int]] = {
    "ones": lambda chance: 1,
    "small": lambda chance: 1 + int(chance.random() ** 4 * 6),
    "heavy": lambda chance: min(int(1 / (1e-9 + chance.random() ** 2)), 10**9),
    "every": lambda chance: 1 + int(5000 * chance.random()),
}


@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize("lengths", LENGTHS)
def test_any_tables_survive_both_ways(lengths: str, draw: str) -> None:
    chance = random.Random(5)
    counts = counts_of(LENGTHS[lengths], lambda: DRAWS[draw](chance))
    packed = replace(counts, tables=in_layout(counts, "compact"))
    same_tables(counts, packed)
    again = in_layout(packed, "fast")
    for name, array in counts.tables._asdict().items():
        assert np.array_equal(array, getattr(again, name)), name


@given(texts_and_lattices())
def test_tables_of_random_texts_survive_both_ways(drawn: tuple[list[list[str]], Lattice]) -> None:
    text, lattice = drawn
    counts = count(corpus_of(text), lattice)
    packed = replace(counts, tables=in_layout(counts, "compact"))
    same_tables(counts, packed)
    assert all(map(np.array_equal, counts.tables, in_layout(packed, "fast")))


@pytest.mark.parametrize("kind", KINDS)
def test_every_query_gives_the_same_bits(fast: dict[str, Model], small: dict[str, Model], kind: str) -> None:
    one, two = fast[kind], small[kind]
    assert (one.layout, two.layout) == ("fast", "compact")
    texts = [*toy_text(60, seed=8), "", "zzz w1 zzz", " ".join(toy_text(300, seed=9))]
    assert np.array_equal(one.score_many(texts), two.score_many(texts))
    assert one.signature == two.signature
    for context in contexts():
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


@pytest.mark.parametrize("kind", KINDS)
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


def test_codes_are_the_most_frequent_counts() -> None:
    numbers = np.zeros(50, np.int64)
    numbers[[1, 2, 9]] = 10**6, 5, 10**5
    codes = choose_codes(numbers)
    assert codes.book[: 1 << codes.bits].tolist() == [1, 9, 2, -1]
    assert codes.of[[1, 2, 9, 3]].tolist() == [0, 2, 1, -1]
    numbers[3] = 1  # as many counts as codes: none is listed
    assert choose_codes(numbers).book.tolist() == [1, 9, 2, 3]


def test_runs_lose_the_least() -> None:
    numbers = np.array([0, 100, 40, 20, 10, 5, 4, 3, 2, 1, 1, 0, 0, 1])
    assert means_of_runs(numbers, 99).tolist() == [*range(11), 10, 10, 13]
    counts = np.flatnonzero(numbers)

    def loss(means: Integers | Floats) -> float:
        return float((numbers[counts] * counts * np.log(counts / means[counts])).sum())

    found = means_of_runs(numbers, 3)
    assert np.unique(found[counts]).size == 3
    # 1; 2 and 3; 4 to 13; all others with two cuts are worse, but for the rounding of means.
    cuts = [(a, b) for a in range(2, 13) for b in range(a + 1, 14)]
    exact = []
    for a, b in cuts:
        means: Floats = np.zeros(numbers.size)
        for low, high in ((1, a), (a, b), (b, 14)):
            n = numbers[low:high]
            means[low:high] = (n * np.arange(low, high)).sum() / max(1, n.sum())
        exact.append(loss(means) if (means[counts] > 0).all() else np.inf)
    a, b = cuts[int(np.argmin(exact))]
    assert [np.unique(found[low:high]).size for low, high in ((1, a), (a, b), (b, 14))] == [1, 1, 1]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_bits", [1, 3])
def test_quantised_models_sum_to_one(fast: dict[str, Model], kind: str, n_bits: int, tmp_path: Path) -> None:
    model = fast[kind].quantised(n_bits)
    for context in contexts():
        assert model.distribution(context).sum() == pytest.approx(1, abs=1e-12)
    for pattern in model.counts.lattice.stored[1:]:
        if pattern.mask:
            assert np.unique(model.counts.gram_counts(pattern)).size <= 1 << n_bits
    assert f"|counts:quantised={n_bits}|" in str(model.signature)
    model.save(tmp_path / "m")
    mapped = Model.load(tmp_path / "m")
    assert (mapped.signature, mapped.score("w1 w2")) == (model.signature, model.score("w1 w2"))
    with pytest.raises(UsageError, match=f"quantised already, to {n_bits} bits: start from the exact one"):
        mapped.quantised(2)


def test_many_bits_change_nothing(fast: dict[str, Model]) -> None:
    for kind in KINDS:
        exact, model = fast[kind], fast[kind].quantised(8)
        assert all(np.unique(exact.counts.gram_counts(p)).size <= 256 for p in exact.counts.lattice.stored[1:])
        texts = toy_text(60, seed=8)
        assert np.array_equal(model.score_many(texts), exact.score_many(texts))


def test_bits_that_make_no_sense(fast: dict[str, Model]) -> None:
    with pytest.raises(UsageError, match="quantise to 9 bits: expected 1 to 8"):
        fast["mkn"].quantised(9)


DAMAGED = """
import sys
from dataclasses import replace
import numpy as np
import gapgram
from gapgram import Counts, Model
from gapgram.kernels import tables as kernels

class Guarded(np.ndarray):
    def __getitem__(self, at):
        if isinstance(at, (int, np.integer)) and not 0 <= at < self.size:
            raise IndexError(f"{at} of {self.size}")
        return np.asarray(self)[at]

draw = np.random.default_rng(1)

def damaged(tables, share):
    for name in ("packed", "grams", "large_at", "large_counts"):
        array = getattr(tables, name).copy()
        if array.size:
            some = draw.integers(0, array.size, 1 + array.size // share)
            array[some] = draw.integers(0, 2**64, some.size, dtype=np.uint64).view(array.dtype)
        tables = tables._replace(**{name: array.view(Guarded)})
    return tables

np.seterr(all="ignore")
model, counts = Model.load(sys.argv[1]), Counts.open(sys.argv[2], verify=False)
for share in (1, 5, 5, 9) * 3:
    broken = Model(replace(model.parts, counts=replace(model.counts, tables=damaged(model.counts.tables, share))))
    broken.scores("w1 w2 w3 w1 w9 w1 w2 w3")
    broken.distribution(["w1", "w2"])
    try:
        broken.predict(["w1"], 3)
    except IndexError as error:
        assert "the vocabulary has ids" in str(error)  # a key of no word: refused, not read
    tables = damaged(counts.tables, share)
    n_grams, n_contexts = tables.places[1, [kernels.N_GRAMS, kernels.N_CONTEXTS]]
    for context in draw.integers(0, n_contexts, 60):
        begin, end, row = kernels.context_at(tables, 1, context)
        assert 0 <= begin <= end <= n_grams
    for gram in draw.integers(0, n_grams, 60):
        kernels.word_and_count(tables, 1, gram)
print("survived")
"""


def test_a_damaged_file_is_never_read_outside(tmp_path: Path) -> None:
    # Kernels as plain Python, in arrays that refuse any place outside, also one before the first.
    lines, chance = [*toy_text(30, vocabulary=12), *["w1 w2 w3"] * 9], random.Random(2)
    gapgram.train(sentences=lines, order=3, model="mkn", layout="compact", output=tmp_path / "m")
    counts = counts_of(LENGTHS["far apart"], lambda: DRAWS["heavy"](chance))
    tables = in_layout(counts, "compact")
    assert (tables.packed_places[1, [compact_read.N_FAR, compact_read.N_LISTED, compact_read.N_MORE]] > 0).all()
    replace(counts, tables=tables).save(tmp_path / "c")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", DAMAGED, str(tmp_path / "m"), str(tmp_path / "c")],
        capture_output=True, text=True, env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
    )  # fmt: skip
    assert done.stdout == "survived\n", done.stderr
