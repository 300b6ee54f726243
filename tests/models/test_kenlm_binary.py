"""Binary files of KenLM: every figure as KenLM has it; what is damaged is said."""

from __future__ import annotations

import os
import pickle
import shutil
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest
from tests.models.kenlm.make import with_blanks
from tests.support.corpora import toy_text
from tests.support.kenlm_files import FOLDER, HAVE_WORDS, NAMES, expected, opened, words_of

from gapgram import kenlm
from gapgram.errors import ModelFileError, TextError, UsageError
from gapgram.kernels.kenlm.words import hash_word
from gapgram.models.arpa.writing import arpa_text, write_arpa
from gapgram.models.kenlm_binary.conversion import as_backoff
from gapgram.models.kenlm_binary.model import KenlmModel
from gapgram.queries.states import State
from gapgram.text.corpus import block_of_sentence


def test_there_is_a_file_of_each_kind() -> None:
    kinds = {opened(name).kind for name in NAMES}
    assert kinds == {
        "probing", "probing,rest", "trie", "trie,q=4,b=3", "trie,a=22", "trie,q=3,b=3,a=22", "trie,q=3,b=3,a=0"
    }  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_scores_and_lengths_are_those_of_kenlm(name: str) -> None:
    model = opened(name)
    for sentence in expected(name):
        scored = model.score_block(block_of_sentence(words_of(sentence)))
        ids, begins = scored.ids, scored.begins
        scores, lengths = model.located(ids, begins)
        assert scores[1:].tolist() == [row.log10_prob for row in sentence]
        assert lengths[1:].tolist() == [row.length for row in sentence]
        assert model.scores(words_of(sentence)).tolist() == scores[1:].tolist()
        assert model.line_score(" ".join(words_of(sentence)).encode() + b"\n") == scored.sums[0]
        assert (ids[1:-1] == 0).tolist() == [row.unknown for row in sentence[:-1]]


@pytest.mark.parametrize("name", NAMES)
def test_steps_and_states_are_those_of_kenlm(name: str) -> None:
    model = opened(name)
    for sentence in expected(name):
        state = model.begin_sentence()
        for row in sentence:
            score, length, after = model.extend_with_length(state, row.word)
            many, (also_after,) = model.extend_many([state], [row.word])
            assert (score, length, len(after.key) // 8) == (row.log10_prob, row.length, row.state_words)
            assert many[0] == score
            assert also_after == after
            state = after


@pytest.mark.parametrize("name", ["probing-blanks", "trie-blanks-a22", "trie-no-words"])
def test_programs_for_kenlm_get_its_figures(name: str) -> None:
    model = kenlm.Model(FOLDER / f"{name}.bin")
    for sentence in expected(name):
        words = " ".join(words_of(sentence))
        assert [tuple(row[1:4]) for row in sentence] == list(model.full_scores(words))
        state = kenlm.State()
        model.BeginSentenceWrite(state)
        for row in sentence:
            after = kenlm.State()
            assert model.BaseFullScore(state, row.word, after) == row[1:4]
            assert model.BaseScore(state, row.word, after) == row.log10_prob
            state = after


def test_states_are_equal_where_no_later_word_can_tell() -> None:
    model = opened("trie")
    after = {model.extend(model.extend(model.begin_sentence(), word)[1], "</s>")[1] for word in ("w1", "w2", "nothing")}
    assert after == {model.null_context()}


def test_many_sentences_score_as_each_alone_on_any_number_of_threads() -> None:
    model, sentences = opened("probing"), toy_text(3000, seed=33, vocabulary=70)
    together = model.score_many(sentences, threads=2)
    assert together.tolist() == model.score_many(sentences, threads=1).tolist()
    assert together[17] == model.score(sentences[17])
    assert model.score("w1 w2", bos=False, eos=False) == pytest.approx(sum(model.scores("w1 w2", False, False)))


@pytest.mark.parametrize("name", NAMES)
def test_a_distribution_holds_the_score_of_each_word(name: str) -> None:
    model = opened(name)
    for context in ("<s> w1", "w2 w1 w4 w3", "", "c a"):
        found = model.distribution(context)
        assert found[1] == 0.0
        for word in ("w1", "w20", "c", "nothing", "</s>"):
            score = model.log10_prob(word, context)
            assert np.log10(found[model.vocabulary.id(word)]) == pytest.approx(score, abs=1e-6)


def test_distributions_sum_to_one() -> None:
    for name in ("probing", "trie", "trie-a22"):
        assert opened(name).distribution("<s> w1").sum() == pytest.approx(1.0, abs=1e-5)


def test_most_probable_words_are_predicted() -> None:
    model = opened("trie")
    best, second = model.predict("w1 w2", 2)
    assert best.probability == pytest.approx(model.distribution("w1 w2")[3:].max())
    assert best.probability >= second.probability
    assert all(p.word.startswith("w3") for p in model.predict("w1", 5, prefix="w3"))


@pytest.mark.parametrize("name", HAVE_WORDS)
def test_words_and_ids_belong_together(name: str) -> None:
    vocabulary = opened(name).vocabulary
    words = list(vocabulary)
    assert words[:3] == ["<unk>", "<s>", "</s>"]
    assert len(words) == len(vocabulary) == len(set(words))
    assert [vocabulary.id(word) for word in words] == list(range(len(words)))
    assert "nothing" not in vocabulary
    with pytest.raises(IndexError):
        vocabulary[len(vocabulary)]


def test_files_of_both_kinds_hold_the_same_words() -> None:
    assert set(opened("probing").vocabulary) == set(opened("trie-q4").vocabulary)
    assert len(opened("probing").vocabulary) == 63


@pytest.mark.parametrize("name", ["probing-no-words", "trie-no-words"])
def test_a_file_without_words_says_what_it_cannot_do(name: str) -> None:
    model = opened(name)
    assert model.perplexity(sentences=["w1 w2", "nothing"]).unknown_words == 1
    assert "w1" in model.vocabulary
    assert model.vocabulary[2] == "</s>"
    for ask in (lambda: list(model.vocabulary), lambda: model.predict("w1"), lambda: model.vocabulary[5]):
        with pytest.raises(ModelFileError, match=r"no words, only their hashes .* it scores text, but cannot list"):
            ask()


def test_text_is_encoded_by_the_same_rules_as_everywhere() -> None:
    model = opened("trie")
    with pytest.raises(TextError, match="the word <s> is the model's own"):
        model.score("w1 <s> w2")
    assert model.score("w1 <unk>") == model.score("w1 nothing")
    skipping = model.perplexity(sentences=["w1 w2"])
    assert skipping.log10_prob == pytest.approx(model.score("w1 w2"))
    assert model.perplexity(sentences=["w1", "", "w2"]).empty_lines == 1


def test_hashes_are_murmur_hashes() -> None:
    known = {"": 0, "<s>": 0x00758639BD217E70, "</s>": 0x6BE0737DF1F76C0A, "<unk>": 0xEA91E7561F5B392B}
    known |= {"w1": 0x728ECDAAF3316CB4, "Straßenbahnhaltestelle": 0xF2822F30581B7B24}
    for word, expected_hash in known.items():
        text = np.frombuffer(word.encode(), np.uint8)
        assert int(hash_word(text, 0, text.size)) == expected_hash, word


def test_a_model_is_pickled_by_its_path() -> None:
    model = opened("probing")
    assert len(pickle.dumps(model)) < 300
    again = pickle.loads(pickle.dumps(model))
    assert again.path == model.path
    assert again.score("w1 w2 w3") == model.score("w1 w2 w3")


def test_its_signature_names_kind_and_file() -> None:
    model = opened("trie-q3-a22")
    assert model.signature.startswith("order:4|model:kenlm|kind:trie,q=3,b=3,a=22|grams:63,")
    assert model.signature.endswith("|log:10|file:trie-q3-a22.bin")
    assert repr(model).startswith("<KenlmModel order ")


def test_states_of_other_models_are_refused() -> None:
    model = opened("probing")
    for key in (b"abc", bytes(4 * 8), struct.pack("<If", 10**6, 0.0)):
        with pytest.raises(UsageError, match="the state is that of another model"):
            model.extend(State(key), "w1")
        with pytest.raises(UsageError, match="the state is that of another model"):
            model.extend_many([State(key)], ["w1"])


@pytest.fixture(scope="module")
def fresh_arpa(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of another text than the stored ones, with blanks."""
    path = tmp_path_factory.mktemp("kenlm") / "fresh.arpa"
    text = "\n".join([*toy_text(700, seed=34, vocabulary=400), ""]).encode()
    command = [program("lmplz"), "-o", "5", "--discount_fallback"]
    made = subprocess.run(command, input=text, capture_output=True, check=True)
    path.write_text(with_blanks(made.stdout.decode()))
    return path


def program(name: str) -> str:
    found = shutil.which(name, path=os.pathsep.join([os.environ.get("KENLM_BIN", ""), os.environ.get("PATH", "")]))
    if found is None:
        pytest.skip(f"KenLM's {name} is neither on PATH nor in the folder that KENLM_BIN names")
    return found


@pytest.mark.parametrize(
    "arguments", ["probing", "-p 1.9 probing", "trie", "-q 6 trie", "-q 9 -b 4 -a 5 trie", "-a 64 trie"]
)
def test_fresh_files_score_as_with_kenlm(arguments: str, fresh_arpa: Path, tmp_path: Path) -> None:
    peer = pytest.importorskip("kenlm")
    path = tmp_path / "fresh.bin"
    subprocess.run([program("build_binary"), *arguments.split(), fresh_arpa, path], check=True, capture_output=True)
    theirs, ours = peer.Model(str(path)), KenlmModel(path)
    for sentence in toy_text(300, seed=35, vocabulary=440):
        ids, _, begins, *_ = ours.score_block(block_of_sentence(sentence))
        scores, lengths = ours.located(ids, begins)
        found = [(score, length) for score, length, _ in theirs.full_scores(sentence)]
        assert list(zip(scores[1:].tolist(), lengths[1:].tolist(), strict=True)) == found


@pytest.mark.parametrize("name", ["probing-blanks", "trie-blanks", "trie-q4", "probing-rest"])
def test_kenlm_gives_a_converted_file_the_same_figures(name: str, tmp_path: Path) -> None:
    peer = pytest.importorskip("kenlm")
    arpa, path = tmp_path / "new.arpa", tmp_path / "new.bin"
    write_arpa(as_backoff(opened(name)), arpa)
    subprocess.run([program("build_binary"), arpa, path], check=True, capture_output=True)
    before, after = peer.Model(str(FOLDER / f"{name}.bin")), peer.Model(str(path))
    for sentence in toy_text(100, seed=36, vocabulary=70):
        assert list(after.full_scores(sentence)) == list(before.full_scores(sentence))


@pytest.mark.parametrize("name", HAVE_WORDS)
def test_all_grams_are_read_back(name: str) -> None:
    model = opened(name)
    backoff = as_backoff(model)
    assert list(backoff.vocabulary) == list(model.vocabulary)
    for sentence in expected(name):
        ids, _, begins, *_ = model.score_block(block_of_sentence(words_of(sentence)))
        for ours, theirs in zip(backoff.located(ids, begins), model.located(ids, begins), strict=True):
            assert ours[1:].tolist() == theirs[1:].tolist()
    if "blanks" not in name and "no-start" not in name:
        assert backoff.grams.sizes() == list(model.counts)


def test_grams_read_back_from_hash_tables_are_those_of_the_trie() -> None:
    assert _lines_of("probing") == _lines_of("trie")
    assert _lines_of("probing-blanks") == _lines_of("trie-blanks")


def _lines_of(name: str) -> list[str]:
    model = as_backoff(opened(name), threads=1)
    return sorted("".join(arpa_text(model.grams, list(model.vocabulary))).splitlines())
