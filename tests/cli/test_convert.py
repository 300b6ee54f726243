"""gapgram convert between formats: KenLM's binary files, ARPA files, and files that open at once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.corpora import toy_text
from tests.support.running import Cli, assert_refused

import gapgram

KENLM = Path(__file__).parents[1] / "models" / "kenlm"
TEXT = toy_text(20, seed=3, vocabulary=70)


@pytest.mark.parametrize("name", ["probing", "trie-q4", "trie-blanks-a22"])
def test_a_binary_file_of_kenlm_becomes_arpa_and_a_model(cli: Cli, tmp_path: Path, name: str) -> None:
    source, arpa, model = KENLM / f"{name}.bin", tmp_path / "a.arpa.gz", tmp_path / "a.model"
    assert cli("convert", source, "-o", arpa).code == 0
    told = cli("convert", source, "-o", model, "--json")
    assert told.code == 0
    after = json.loads(told.out)["after"]
    assert after["bytes"] == model.stat().st_size
    assert after["grams"][0] == 63
    before, now = gapgram.load(source), gapgram.load(model)
    scores = before.score_many(TEXT)
    assert now.score_many(TEXT).tolist() == scores.tolist()
    assert [now.score(line) for line in TEXT] == [before.score(line) for line in TEXT]
    assert now.extend(now.begin_sentence(), "w1")[0] == before.extend(before.begin_sentence(), "w1")[0]
    assert now.distribution("w1 w2") == pytest.approx(before.distribution("w1 w2"), rel=1e-5)
    assert gapgram.load(arpa).score_many(TEXT).tolist() == pytest.approx(scores.tolist(), abs=1e-5)


def test_an_arpa_file_becomes_a_model_and_back(cli: Cli, models: dict[str, gapgram.Model], tmp_path: Path) -> None:
    first, model, second = tmp_path / "a.arpa", tmp_path / "a.model", tmp_path / "b.arpa"
    assert "a.arpa written: " in cli("convert", models["mkn"].path, "-o", first).err
    assert "grams" in cli("convert", first, "-o", model).err
    assert cli("convert", model, "-o", second, "-q").err == ""
    assert first.read_bytes() == second.read_bytes()
    assert gapgram.load(model).score_many(TEXT).tolist() == gapgram.load(first).score_many(TEXT).tolist()


def test_what_has_no_such_file_is_said(cli: Cli, models: dict[str, gapgram.Model], tmp_path: Path) -> None:
    gapgram.Mixture([models["mkn"], models["glm"]], [0.5, 0.5]).save(tmp_path / "both")
    out = tmp_path / "new.arpa"
    assert_refused(cli("convert", tmp_path / "both", "-o", out), "a mixture is no backoff model")
    assert_refused(cli("convert", models["glm"].path, "-o", out), "has no exact ARPA file")
    assert_refused(cli("convert", KENLM / "trie-no-words.bin", "-o", out), "no words, only their hashes")
    for option in (["--layout", "fast"], ["--quantise", "4"]):
        refused = cli("convert", KENLM / "trie.bin", "-o", tmp_path / "new", *option)
        assert_refused(refused, "--layout and --quantise are for models that gapgram train has written")
    assert not out.exists()


def test_every_command_that_takes_a_model_takes_kenlms(cli: Cli, tmp_path: Path) -> None:
    source, text = KENLM / "trie.bin", tmp_path / "text"
    text.write_text("w1 w2\nw3\n")
    model = gapgram.load(source)
    assert cli("score", source, text).out.splitlines()[0].split()[0] == f"{model.score('w1 w2'):.6f}"
    assert f"{model.perplexity(text).perplexity:.4f}" in cli("perplexity", source, text).out
    assert model.predict("w1", 1)[0].word in cli("predict", source, "w1").out
    assert "kenlm" in cli("info", source).out
    assert cli("generate", source, "-n", "2").code == 0
    assert cli("arpa", source, "-o", tmp_path / "a.arpa").code == 0
    assert gapgram.load(tmp_path / "a.arpa").score("w1 w2") == pytest.approx(model.score("w1 w2"), abs=1e-6)
