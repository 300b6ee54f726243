"""Models with an open vocabulary: what is asked of unknown words, their files, and mixtures of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fuzz.sealed import SealedFile
from tests.support.corpora import toy_text
from tests.support.limited import SMALL, interrupt_at
from tests.support.made_models import trained
from tests.support.running import Cli, assert_refused

import gapgram
from gapgram import Mixture, Model, TextRules
from gapgram.adapters import kenlm
from gapgram.errors import ModelFileError, UsageError
from gapgram.models.arpa.writing import as_backoff
from gapgram.models.verify import verify
from gapgram.queries.line_scores import score_lines

LINES = toy_text(300, seed=5, vocabulary=800)
UNKNOWN = "never<x>日"
KNOWN = [word for word, _ in Counter(" ".join(LINES).split()).most_common(5)]
TEXT = " ".join([*KNOWN, UNKNOWN])


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("open") / "open.model"


@pytest.fixture(scope="module")
def model(path: Path) -> Model:
    return trained(LINES, order=3, model="mkn", open_vocabulary=True, output=path)


@pytest.fixture(scope="module")
def closed() -> Model:
    return trained(LINES, order=3, model="mkn", rules=TextRules(min_count=2))


def spelled(model: Model, word: str = UNKNOWN) -> float:
    assert model.spelling is not None
    return model.spelling.log10_prob(word)


def test_an_unknown_word_has_a_probability_of_its_own(model: Model) -> None:
    for context in ([], ["<s>"], KNOWN[:2], ["<s>", "never", UNKNOWN]):
        of_all = model.log10_prob("<unk>", context)
        assert model.log10_prob(UNKNOWN, context) == of_all
        assert model.log10_prob(UNKNOWN, context, open_vocabulary=True) == of_all + spelled(model)
        for word in ("<unk>", "</s>", KNOWN[0]):
            assert model.log10_prob(word, context, open_vocabulary=True) == model.log10_prob(word, context)
    assert spelled(model) != spelled(model, "other")


def test_sentences_are_the_sums_of_their_words(model: Model, tmp_path: Path) -> None:
    opened, plain = model.scores(TEXT, open_vocabulary=True), model.scores(TEXT)
    assert (opened - plain).tolist()[:-2] == [0.0] * len(KNOWN)
    assert opened[-2] - plain[-2] == pytest.approx(spelled(model))
    assert model.score(TEXT, open_vocabulary=True) == pytest.approx(opened.sum())
    assert model.score(TEXT.split(), bos=False, eos=False, open_vocabulary=True) == pytest.approx(
        model.score(TEXT, bos=False, eos=False) + spelled(model)
    )
    many = model.score_many([TEXT, "", TEXT], open_vocabulary=True, block_bytes=1)
    assert many.tolist() == [model.score(line, open_vocabulary=True) for line in (TEXT, "", TEXT)]
    (tmp_path / "text").write_text(f"{TEXT}\n<unk> {TEXT} <unk>\n")
    for special in ("unk", "skip"):
        line = list(score_lines(model, tmp_path / "text", open_vocabulary=True, rules=TextRules(special=special)))[1]
        usual = list(score_lines(model, tmp_path / "text", rules=TextRules(special=special)))[1]
        assert line.log10_prob - usual.log10_prob == pytest.approx(spelled(model))  # <unk> itself is any word


def test_perplexity_is_told_in_three_ways(model: Model, closed: Model) -> None:
    found, usual = model.perplexity(sentences=[TEXT] * 3), closed.perplexity(sentences=[TEXT] * 3)
    assert (found.perplexity, found.perplexity_known) == (usual.perplexity, usual.perplexity_known)
    assert found.log10_prob_open is not None
    assert found.log10_prob_open == pytest.approx(found.log10_prob + 3 * spelled(model))
    assert found.perplexity_open == pytest.approx(10 ** (-found.log10_prob_open / found.predictions))
    per_byte = 2 ** (found.bits_per_byte_open * len(TEXT.encode() + b"\n") * 3)
    assert np.log10(per_byte) == pytest.approx(-found.log10_prob_open)
    assert np.isnan(usual.perplexity_open) and np.isnan(usual.bits_per_byte_open)
    assert usual.as_dict()["perplexity_open"] is None and found.as_dict()["perplexity_open"] == found.perplexity_open
    assert "with an open vocabulary" in repr(found) and "open vocabulary" in found._repr_html_()
    assert "open" not in repr(usual)


def test_a_file_is_the_usual_one_and_more(model: Model, closed: Model, path: Path, tmp_path: Path) -> None:
    closed.save(tmp_path / "closed")
    more, usual = (SealedFile.parse(p.read_bytes()) for p in (path, tmp_path / "closed"))
    kept = [section for section in more.sections if not section.name.startswith("spelling_")]
    assert [(s.name, bytes(s.data)) for s in kept] == [(s.name, bytes(s.data)) for s in usual.sections]
    assert {**more.metadata, "spelling": None} == {**usual.metadata, "spelling": None}
    assert "|unknown:spelled|" in str(model.signature) and "|unknown:uniform|" in str(closed.signature)
    assert "unknown words spelled" in repr(model)


MADE: dict[str, Callable[[Model, Path], Any]] = {
    "fast": lambda model, path: model.save(path),
    "compact": lambda model, path: model.with_layout("compact", output=path),
    "compact in memory": lambda model, path: model.with_layout("compact").save(path),
    "pruned": lambda model, path: model.pruned(counts="0,0,1", output=path),
    "quantised": lambda model, path: model.quantised(3, output=path),
    "with words about it": lambda model, path: model.with_about({"language": "en"}, output=path),
}


@pytest.mark.parametrize("way", MADE)
def test_what_is_made_of_a_model_spells_as_it_does(model: Model, path: Path, tmp_path: Path, way: str) -> None:
    MADE[way](Model.load(path), tmp_path / "made")
    made = Model.load(tmp_path / "made", verify=True)
    assert spelled(made) == spelled(model)
    assert made.spelling is not None
    assert Model(made.spelling.parts).layout == made.layout
    assert verify(tmp_path / "made").distributions


@pytest.mark.parametrize("memory", ["1T", SMALL])
def test_training_writes_the_same_bytes_in_any_memory(
    path: Path, model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, memory: str | int
) -> None:
    (tmp_path / "text").write_text("\n".join(LINES))
    options: dict[str, Any] = {"order": 3, "model": "mkn", "open_vocabulary": True, "memory": memory}
    output = tmp_path / "model"
    assert gapgram.train(tmp_path / "text", output=output, threads=2, **options).open_vocabulary
    assert output.read_bytes() == path.read_bytes()
    if memory == SMALL:
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            interrupt_at(patch, "text", "after")
            gapgram.train(tmp_path / "text", output=output, **options)
        gapgram.train(tmp_path / "text", output=output, resume=True, **options)
        assert output.read_bytes() == path.read_bytes()


def test_a_mixture_mixes_what_its_models_say(model: Model, closed: Model, tmp_path: Path) -> None:
    other = trained(toy_text(100, seed=9, vocabulary=90), order=2, model="mkn", open_vocabulary=True)
    both = Mixture([model, other], [0.25, 0.75])
    known_to_one = next(word for word in other.vocabulary if word not in model.vocabulary)
    for word in (UNKNOWN, known_to_one, KNOWN[0], "</s>"):
        parts = [10.0 ** m.log10_prob(word, ["<s>"], open_vocabulary=True) for m in (model, other)]
        assert 10.0 ** both.log10_prob(word, ["<s>"], open_vocabulary=True) == pytest.approx(
            0.25 * parts[0] + 0.75 * parts[1]
        )
    assert both.score(TEXT, open_vocabulary=True) == pytest.approx(both.scores(TEXT, open_vocabulary=True).sum())
    both.save(tmp_path / "whole", whole=True)
    assert gapgram.load(tmp_path / "whole").perplexity(sentences=[TEXT]) == both.perplexity(sentences=[TEXT])
    assert verify(tmp_path / "whole").distributions
    with pytest.raises(UsageError, match="open vocabulary: the model has no spelling"):
        Mixture([model, closed], [0.5, 0.5]).score(TEXT, open_vocabulary=True)


def test_interfaces_of_other_programs_know_one_unknown_word(model: Model, closed: Model, path: Path) -> None:
    assert kenlm.Model(path).score(TEXT) == pytest.approx(closed.score(TEXT), rel=1e-6)
    backoff = as_backoff(model)
    assert not backoff.open_vocabulary
    assert backoff.score(TEXT) == pytest.approx(closed.score(TEXT), rel=1e-9)


def test_what_an_unknown_word_is_explained_by(model: Model, closed: Model) -> None:
    explained = model.explain(UNKNOWN, "a")
    assert explained.log10_spelled == spelled(model)
    assert explained.probability == closed.explain(UNKNOWN, "a").probability
    assert f"{UNKNOWN} itself has" in str(explained) and "itself has" in explained._repr_html_()
    assert model.explain("<unk>", "a").log10_spelled is None
    assert model.explain(KNOWN[0]).spelled == closed.explain(UNKNOWN).spelled == ""


def test_questions_that_a_closed_vocabulary_cannot_answer(closed: Model) -> None:
    for ask in (closed.score, closed.scores, closed.log10_prob):
        with pytest.raises(UsageError, match=r"no spelling: train it with one \(--open-vocabulary\)"):
            ask("word", open_vocabulary=True)
    with pytest.raises(UsageError, match="open vocabulary: tokens of a tokeniser spell any word already"):
        trained(LINES, order=3, tokenizer="chars", open_vocabulary=True)


def test_words_that_are_met_once_are_unknown_unless_rules_say_otherwise(model: Model) -> None:
    assert model.signature.vocabulary.startswith("min_count=2")
    all_words = trained(LINES, order=2, model="mkn", open_vocabulary=True, rules=TextRules())
    assert len(all_words.vocabulary) > len(model.vocabulary)
    assert all_words.open_vocabulary


HOSTILE: dict[str, tuple[Callable[[SealedFile], Any], str]] = {
    "no sections": (
        lambda file: file.sections.__setitem__(
            slice(None), [s for s in file.sections if not s.name.startswith("spelling_")]
        ),
        "a spelling without its sections",
    ),
    "no spelling": (lambda file: file.metadata.pop("spelling"), "sections without their spelling"),
    "a section less": (lambda file: file.sections.remove(file.section("spelling_grams")), "no section spelling_grams"),
    "a size": (lambda file: file.section("spelling_discounts").shape.__setitem__(0, 1), "section spelling_"),
    "a type": (lambda file: file.section("spelling_starts").lies.update(dtype="<f8"), "spelling_starts of type <f8"),
    "characters": (
        lambda file: file.section("spelling_words").data.__setitem__(slice(12, 14), b"aa"),
        "a spelling of other things than characters",
    ),
    "outside": (lambda file: file.metadata["spelling"].update(log10_outside=0.5), "leaves 10 to the power of 0.5"),
    "far outside": (lambda file: file.metadata["spelling"].update(log10_outside=-400), "to the power of -400"),
    "no length": (lambda file: file.metadata["spelling"].update(most_characters=0), "of at most 0 characters"),
    "no list": (lambda file: file.metadata.update(spelling=[1]), "where a table of names and values was expected"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_spelling_that_is_none_is_refused(model: Model, path: Path, tmp_path: Path, name: str) -> None:
    change, expected = HOSTILE[name]
    file = SealedFile.parse(path.read_bytes())
    change(file)
    (tmp_path / "odd").write_bytes(file.sealed())
    with pytest.raises(ModelFileError) as error:
        gapgram.load(tmp_path / "odd")
    assert expected in str(error.value)


def test_verify_asks_what_is_left_to_unknown_words(model: Model, path: Path, tmp_path: Path) -> None:
    file = SealedFile.parse(path.read_bytes())
    file.metadata["spelling"]["log10_outside"] /= 2
    (tmp_path / "odd").write_bytes(file.sealed())
    with pytest.raises(ModelFileError, match="whole, but its spelling misses 1 by"):
        verify(tmp_path / "odd")


def test_commands(model: Model, path: Path, cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("\n".join([*LINES, ""]))
    ran = cli("train", tmp_path / "text", "-o", tmp_path / "model", "-qn3", "--model", "mkn", "--open-vocabulary")
    assert (ran.code, (tmp_path / "model").read_bytes()) == (0, path.read_bytes())
    (tmp_path / "new").write_text(f"{TEXT}\n")
    told, figures = cli("perplexity", path, tmp_path / "new").out, model.perplexity(tmp_path / "new")
    assert f"open vocabulary           {figures.perplexity_open:.4f}\n" in told
    assert f"bits per byte             {figures.bits_per_byte_open:.4f} (open vocabulary)\n" in told
    assert cli("score", path, tmp_path / "new", "--open-vocabulary").out.split("\t")[0] == (
        f"{model.score(TEXT, open_vocabulary=True):.6f}"
    )
    assert cli("score", path, tmp_path / "new").out.split("\t")[0] == f"{model.score(TEXT):.6f}"
    assert "unknown words       spelled by" in cli("info", path).out
    assert cli("info", path, "--json").json["spelling"]["most_characters"] == 100
    assert f"{UNKNOWN} itself has" in cli("explain", path, UNKNOWN).out
    assert_refused(
        cli("score", path, tmp_path / "new", "--open-vocabulary", "--learn"), "--open-vocabulary is for a model that"
    )
