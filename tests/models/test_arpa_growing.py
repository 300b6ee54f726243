"""ARPA files that are grown from a model with gaps: what they are worth, how large they are, what is refused."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from tests.support.corpora import toy_text
from tests.support.made_models import trained
from tests.support.made_tokenisers import RAW, sentencepiece_file
from tests.support.running import Cli, assert_refused

import gapgram
from gapgram import BackoffModel, Model, TextRules
from gapgram.arrays import Ids
from gapgram.errors import UsageError
from gapgram.kernels.backoff.choose import Chosen, choose
from gapgram.kernels.text.special_words import END_ID, START_ID, UNKNOWN_ID
from gapgram.models import arpa
from gapgram.models.arpa.approximation import approximate
from gapgram.models.arpa.growing.drawn_text import contexts_of, draw_text, hidden_words, predicted, seen
from gapgram.models.arpa.growing.files import grow_arpas
from gapgram.models.arpa.growing.fitting import GrownGrams
from gapgram.models.arpa.growing.grow import as_model, grow, grown_fit, measure_on, within
from gapgram.models.arpa.growing.limits import figure_bytes, limit_of
from gapgram.models.arpa.growing.longer_grams import grown
from gapgram.models.arpa.reading import read_arpa
from gapgram.models.arpa.writing import as_backoff
from gapgram.queries.drawing import Drawer

SENTENCES = [*toy_text(200, seed=22, vocabulary=900), "", "w1", "zzz", "w1 zzz w2 w3"]


@pytest.fixture(scope="module")
def file_1x(made: dict[str, Model], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("grown") / "grown.arpa"
    gapgram.grow_arpa(made["classes"], path, threads=1)
    return path


def perplexity(model: gapgram.LanguageModel, folder: Path) -> float:
    (folder / "text").write_text("\n".join([*SENTENCES, ""]))
    return model.perplexity(folder / "text").perplexity_known


def drawn(model: Model, n_words: int) -> Ids:
    return np.concatenate(list(draw_text(model, n_words, threads=1)))


def test_it_is_better_than_kneser_ney_and_than_the_same_grams_at_the_same_size(
    made: dict[str, Model], file_1x: Path, tmp_path: Path
) -> None:
    small, mkn, near = read_arpa(file_1x), as_backoff(made["mkn"]), approximate(made["classes"])
    assert sum(small.grams.sizes()) <= sum(mkn.grams.sizes())
    found = perplexity(small, tmp_path)
    assert found < 0.95 * perplexity(mkn, tmp_path)
    assert found < perplexity(near, tmp_path)


def test_it_sums_to_one_after_every_context(made: dict[str, Model]) -> None:
    model = grow(made["classes"], grams=4000)
    grams, words = model.grams, list(model.vocabulary)
    assert model.order == 4
    contexts: list[list[str]] = [[], ["zzz"], ["<s>"], ["<s>", "zzz"]]
    for first, word in enumerate(words):
        contexts.append([word])
        for second in range(grams.children[first], grams.children[first + 1]):
            pair = [word, words[grams.words[second]]]
            contexts.append(pair)
            for third in range(grams.children[second], grams.children[second + 1]):
                contexts.append([*pair, words[grams.words[third]]])
    assert len(contexts) > 3000
    for context in contexts:
        if context[-1:] != ["</s>"]:
            assert model.distribution(context).sum() == pytest.approx(1, abs=1e-9)


def test_the_same_model_gives_the_same_file_whatever_the_threads(made: dict[str, Model], file_1x: Path) -> None:
    other = file_1x.parent / "other.arpa"
    gapgram.grow_arpa(made["classes"], other, grams="1x", threads=3)
    assert other.read_bytes() == file_1x.read_bytes()


@pytest.mark.parametrize("n_bytes", [30_000, 100_000])
def test_a_size_is_that_of_the_file(made: dict[str, Model], tmp_path: Path, n_bytes: int) -> None:
    gapgram.grow_arpa(made["learned"], tmp_path / "small.arpa", size=n_bytes)
    assert 0.95 * n_bytes < (tmp_path / "small.arpa").stat().st_size <= n_bytes


def test_as_many_grams_and_as_long_as_asked_for(made: dict[str, Model]) -> None:
    model = grow(made["counts"], grams="0.2x", order=3)
    asked = int(0.2 * sum(as_backoff(made["mkn"]).grams.sizes()[:3]))
    assert 0.95 * asked < sum(model.grams.sizes()) <= asked
    assert model.order == 3


def test_lengths_of_which_nothing_is_left_are_left_out(made: dict[str, Model], tmp_path: Path) -> None:
    n_words = len(made["learned"].vocabulary)
    assert grow(made["learned"], grams=n_words).grams.sizes() == [n_words]
    gapgram.grow_arpa(made["learned"], tmp_path / "few.arpa", grams=n_words + 5)
    assert read_arpa(tmp_path / "few.arpa").order < 4


def test_kenlm_reads_what_is_grown(file_1x: Path) -> None:
    real = pytest.importorskip("kenlm", reason="KenLM's Python module is not installed")
    theirs, ours = real.Model(str(file_1x)), read_arpa(file_1x)
    for sentence in SENTENCES:
        expected = np.array([score for score, _, _ in theirs.full_scores(sentence)])
        assert ours.scores(sentence) == pytest.approx(expected, abs=2e-6)


def test_contexts_are_those_of_the_text(made: dict[str, Model]) -> None:
    ids, n_ids = seen(drawn(made["learned"], 3000)), len(made["learned"].vocabulary)
    sentences = [part.tolist() for part in np.split(ids, np.flatnonzero(ids == START_ID))[1:]]
    for length, contexts in enumerate(contexts_of(ids, n_ids, 4, 2), 1):
        met = Counter(tuple(s[i : i + length]) for s in sentences for i in range(len(s) - length))
        expected = {context: n for context, n in met.items() if n >= 2}
        found = {tuple(words): n for words, n in zip(contexts.words.tolist(), contexts.occurrences, strict=True)}
        assert found == expected and END_ID not in contexts.words


def test_half_of_the_rare_words_are_unknown_to_what_follows(made: dict[str, Model]) -> None:
    model = made["learned"]
    ids, counts = drawn(model, 20_000), Counter(" ".join(toy_text(1200, seed=5, vocabulary=800)).split())
    once = [model.vocabulary.id(word) for word, n in counts.items() if n == 1]
    hidden = hidden_words(model)
    assert once and (hidden[once] == 0.5).all() and hidden.max() == 0.5
    assert 2 * len(once) <= sum(counts[word] for word in model.vocabulary if hidden[model.vocabulary.id(word)])
    rare = np.isin(predicted(ids), np.flatnonzero(hidden))
    assert np.mean(ids < 0) == pytest.approx(rare.mean() / 2, rel=0.15)


def test_a_model_that_counted_unknown_words_draws_them() -> None:
    model = trained(toy_text(300, seed=21, vocabulary=900), order=3, rules=TextRules(min_count=2), classes="none")
    assert not hidden_words(model).any()
    assert np.mean(drawn(model, 5000) == UNKNOWN_ID) > 0.02


def test_after_a_hidden_word_words_are_drawn_as_after_an_unknown_one(made: dict[str, Model]) -> None:
    model = made["learned"]
    everything = np.ones(len(model.vocabulary))
    drawer, nothing = Drawer(model._arrays), np.empty(0, np.int32)
    sentences = drawer.draw(4000, nothing, max_words=5, seed=3, hidden=everything, threads=1)
    fourth = predicted(np.array([ids[3] for ids in sentences if len(ids) > 3]))
    expected = model.distribution(["<unk>"] * 3)
    found = np.bincount(fourth, minlength=len(expected)) / len(fourth)
    most = np.argsort(-expected)[:20]
    most = most[most != END_ID]
    # Sentences that end here have no fourth word.
    expected = expected[most] / (1 - expected[END_ID])
    assert found[most] == pytest.approx(expected, abs=4.5 * np.sqrt(expected.max() / len(fourth)))


def test_what_grams_decide_is_what_happens_in_the_text(made: dict[str, Model]) -> None:
    """C and X of the fit against a walk through the text, position by position."""
    model = made["learned"]
    ids = drawn(model, 2000)
    fit = GrownGrams.of(grown(model, ids, 2, 0.5, order=4, threads=1)).counted([ids])
    decided, expected = fit.uses()
    children = [
        dict(zip(fit.words[a:b].tolist(), range(a, b), strict=True))
        for a, b in zip(fit.children[:-1], fit.children[1:], strict=True)
    ]
    own_decided, own_expected, before = np.zeros(len(decided)), np.zeros(len(decided)), list[int]()
    for word, later in zip(predicted(ids).tolist(), seen(ids).tolist(), strict=True):
        if word != START_ID:
            ends = [word, *(children[c].get(word, -1) for c in before)]
            own_decided[max((k, g) for k, g in enumerate(ends) if g >= 0)[1]] += 1
            # From the longest context down: what is not overridden, and the backoffs on the way.
            factor, over = 1.0, set[int]()
            for context in [*before[::-1], -1]:
                grams = children[context] if context >= 0 else {w: w for w in range(fit.base[1])}
                for w in grams.keys() - over:
                    own_expected[grams[w]] += factor
                over |= grams.keys()
                factor *= fit.backoffs[context] if context >= 0 else 1.0
        else:
            before = []
        ends = [later, *(children[c].get(later, -1) for c in before)]
        before = [] if word == END_ID else [g for g in ends[:3] if g >= 0]
    own_decided[START_ID] = decided[START_ID]
    assert decided == pytest.approx(own_decided)
    assert expected == pytest.approx(own_expected, abs=1e-6)


def test_where_all_grams_stay_they_are_met_as_they_are_fitted(made: dict[str, Model]) -> None:
    model = made["learned"]
    ids = drawn(model, 2000)
    fit = GrownGrams.of(grown(model, ids, 2, 0.5, order=4, threads=1))
    fit = fit.counted([ids]).fitted()
    n, first = len(fit.words), fit.base[1]
    chosen = Chosen(*np.empty((2, n), np.bool_), *np.empty((3, n)))
    choose(fit.choosable(), -1.0, np.ones(n, np.int64), chosen)
    assert chosen.kept.all()
    assert chosen.backoffs == pytest.approx(fit.backoffs, rel=1e-6)
    asked = chosen.met[fit.parents[first:]] - chosen.covered[first:]
    assert asked == pytest.approx(fit.uses()[1][first:], abs=1e-6)


def test_grams_that_seem_worth_much_only_beside_each_other_go_together(made: dict[str, Model]) -> None:
    """A model of few grams is not spoilt by how many were grown first."""
    model = made["classes"]
    ids = drawn(model, 30_000)
    sizes, found = [], []
    for least_gain in (0.02, 2.0):
        fit = GrownGrams.of(grown(model, ids, 2, least_gain, order=4, threads=1))
        fit = within(fit.counted([ids]).fitted(), limit_of(model, 2000, None, 4))
        scores = [as_model(model, fit).scores(sentence) for sentence in SENTENCES]
        sizes.append(len(fit.words))
        found.append(float(np.concatenate(scores).mean()))
    assert min(sizes) > 1950
    assert found[0] > found[1] - 0.005


def test_the_bytes_of_figures_are_never_more_than_counted() -> None:
    even = np.pi * np.linspace(-1, 1, 401)
    figures = np.concatenate([-(10.0 ** np.linspace(-9, 1.9, 400)), even, [0.0, -0.0, -99.0]])
    written = np.array([len(f"{x:.8g}") for x in figures])
    counted = figure_bytes(figures)
    assert (counted >= written).all() and (counted - written).mean() < 1.0


def test_the_command_grows_and_measures(cli: Cli, made: dict[str, Model], tmp_path: Path) -> None:
    (tmp_path / "text").write_text("\n".join([*SENTENCES, ""]))
    out = tmp_path / "m.arpa.gz"
    done = cli("arpa", made["learned"].path, "-o", out, "--grow", "--grams", "2000", "--measure", tmp_path / "text")
    assert "m.arpa.gz written: order " in done.err and done.out.splitlines()[1].startswith("with unknown words")
    assert sum(read_arpa(out).grams.sizes()) <= 2000


def test_half_as_many_grams_are_taken_where_a_held_out_text_is_better_with_them(
    made: dict[str, Model], tmp_path: Path
) -> None:
    held_out, looked, model = tmp_path / "held", dict[int, float](), made["learned"]
    held_out.write_text("\n".join([*SENTENCES, ""]))
    asked = measure_on(model, held_out)
    assert asked is not None

    def measure(fit: GrownGrams) -> float:
        looked[len(fit.words)] = asked(fit)
        return looked[len(fit.words)]

    limit = limit_of(model, "20x", None, 4)
    fit = within(grown_fit(model, limit, 4, measure=measure, enough=40_000), limit, measure)
    assert looked[len(fit.words)] == min(looked.values())
    assert len(fit.words) < max(looked)


def test_several_sizes_are_several_files_of_one_growth(cli: Cli, made: dict[str, Model], tmp_path: Path) -> None:
    (tmp_path / "text").write_text("\n".join([*SENTENCES, ""]))
    options = ("--grow", "--grams", "1000,3000", "--json", "--measure", tmp_path / "text")
    done = cli("arpa", made["learned"].path, "-o", tmp_path / "m.arpa", *options)
    files = json.loads(done.out)["files"]
    assert [file["output"] for file in files] == [str(tmp_path / f"m.{n}.arpa") for n in (3000, 1000)]
    for file, most in zip(files, (3000, 1000), strict=True):
        assert read_arpa(file["output"]).grams.sizes() == file["grams"]
        assert 0.95 * most < sum(file["grams"]) <= most
    known = [file["perplexity"]["arpa"]["perplexity_known"] for file in files]
    assert files[0]["perplexity"]["model"]["perplexity_known"] < known[0] < known[1]
    sizes = grow_arpas(made["learned"], tmp_path / "s.arpa.gz", sizes=["30KB"])
    assert [path.name for path, _ in sizes] == ["s.30KB.arpa.gz"]


def test_the_earlier_place_of_a_name_leads_to_the_new_one() -> None:
    with pytest.warns(DeprecationWarning, match="growing.files"):
        assert arpa.grow_arpas is grow_arpas
    with pytest.raises(AttributeError, match="has no attribute 'shrink'"):
        arpa.shrink  # noqa: B018



@pytest.mark.parametrize(("kind", "options", "expected"), [
    ("learned", "--grams 4x", "--grams is for files that are grown: add --grow"),
    ("learned", "--order 2", "--order is for files that are grown: add --grow"),
    ("learned", "--grow --approximate", "--approximate keeps the grams of the glm, --grow chooses others"),
    ("learned", "--grow --grams 4x --size 1M", "are both given: give one of them"),
    ("learned", "--grow --grams many", "grams 'many': expected a number such as 1000000, or 4x"),
    ("learned", "--grow --grams 3000,3000", "sizes 3000, 3000: expected one or more, each once"),
    ("learned", "--grow --grams 3000,", "grams '': expected a number such as 1000000, or 4x"),
    ("learned", "--grow --grams 3000,4x --size 1M", "are both given: give one of them"),
    ("learned", "--grow --grams 2.5", "grams '2.5': expected a number such as 1000000, or 4x"),
    ("learned", "--grow --grams 10", "grams 10 are 10: the words alone are "),
    ("learned", "--grow --size 2KB", "size 2,000 bytes: the words alone, without a gram of two, take about "),
    ("learned", "--grow --size huge", "size 'huge': expected a size such as 4G"),
    ("learned", "--grow --order 9", "order 9: expected 1 to 4, the order of the model"),
    ("learned", "--grow --threads 0", "threads 0: expected 1 or more"),
    ("mkn", "--grow", "an mkn has an exact ARPA file: write it without --grow"),
])  # fmt: skip
def test_mistakes(cli: Cli, made: dict[str, Model], tmp_path: Path, kind: str, options: str, expected: str) -> None:
    assert_refused(cli("arpa", made[kind].path, "-o", tmp_path / "m.arpa", *options.split()), expected)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_grown_from_an_arpa_file(cli: Cli, file_1x: Path, tmp_path: Path) -> None:
    assert_refused(
        cli("arpa", file_1x, "-o", tmp_path / "m.arpa", "--grow"), "no glm, and nothing to grow from: write it without"
    )


def test_a_file_that_the_disk_has_no_room_for_is_refused_before_anything_is_done(
    cli: Cli, made: dict[str, Model], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=3 << 20))
    options = ("-o", tmp_path / "m.arpa", "--grow", "--size", "4M")
    expected = "m.arpa: the file will have about 4MiB, and the disk has 3MiB left: ask for less (--size, --grams)"
    assert_refused(cli("arpa", made["learned"].path, *options), expected)
    options = ("-o", tmp_path / "m.arpa", "--grow", "--size", "1M,3M")
    assert_refused(cli("arpa", made["learned"].path, *options), "m.3M.arpa: the 2 files will have about 4MiB, and the")
    assert list(tmp_path.iterdir()) == []


def test_more_than_the_machine_can_grow_is_refused(cli: Cli, made: dict[str, Model], tmp_path: Path) -> None:
    options = ("-o", tmp_path / "m.arpa.gz", "--grow", "--grams", "999999999999")
    expected = "999,999,999,999 grams: to grow them takes about "
    assert_refused(cli("arpa", made["learned"].path, *options), expected)
    assert list(tmp_path.iterdir()) == []


def test_what_is_grown_is_a_model_like_others(file_1x: Path) -> None:
    model = gapgram.load(file_1x)
    assert isinstance(model, BackoffModel)
    assert model.predict("w1", k=3)[0].probability > 0.01


def test_tokens_for_nemo_without_grams_of_unknown_ones(tmp_path: Path) -> None:
    pytest.importorskip("sentencepiece", reason="SentencePiece is not installed")
    tokenizer = sentencepiece_file(tmp_path / "pieces.model")
    model = trained(RAW, order=3, classes="none", tokenizer=tokenizer)
    backoff = gapgram.grow_arpa(model, tmp_path / "nemo.arpa", grams="0.5x", encoding="nemo")
    assert backoff.tokeniser is model.tokeniser
    rows = [row.split("\t") for row in (tmp_path / "nemo.arpa").read_text("utf-8").split("\n") if "\t" in row]
    symbols = [symbol for row in rows for symbol in row[1].split(" ")]
    assert {len(symbol) for symbol in symbols if symbol not in ("<s>", "</s>", "<unk>")} == {1}
    assert symbols.count("<unk>") == 1
    for context in backoff.vocabulary:
        if context != "</s>":
            assert backoff.distribution([context]).sum() == pytest.approx(1, abs=1e-9)


def test_what_cannot_be_written_for_nemo_is_refused_before_anything_is_grown(made: dict[str, Model]) -> None:
    with pytest.raises(UsageError, match="writes ids of tokens: train with the tokeniser"):
        gapgram.grow_arpa(made["learned"], "no.arpa", encoding="nemo")
    with pytest.raises(UsageError, match="encoding 'utf-8': expected words or nemo"):
        gapgram.grow_arpa(made["learned"], "no.arpa", encoding="utf-8")
