"""ARPA files: written and read again, against KenLM where it is installed, and files with something wrong."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from tests.support.corpora import longest, sentences, toy_text
from tests.support.made_models import trained

import gapgram
from gapgram import Model, kenlm
from gapgram.cli.arpa import command
from gapgram.errors import ModelFileError, UsageError
from gapgram.models.arpa.approximation import approximate
from gapgram.models.arpa.reading import read_arpa
from gapgram.models.arpa.writing import as_backoff, write_arpa
from gapgram.models.backoff import BackoffModel, write_backoff

pytestmark = pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning")
SENTENCES = [*toy_text(200, seed=22, vocabulary=900), "", "w1", "zzz", "w1 zzz w2 w3"]

# Two words, by hand: P(b|a) = 10^-0.1; P(a|a) = backoff(a) P(a) = 10^(-0.3-0.5); P(</s>|b) = 10^(-0.2-0.7).
BY_HAND = """\\data\\
ngram 1=4
ngram 2=2

\\1-grams:
-99 <s> -0.4
-0.5 a -0.3
-0.6 b -0.2
-0.7 </s>

\\2-grams:
-0.1 a b
-0.25 <s> a

\\end\\
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "model.arpa"
    path.write_text(text)
    return path


def test_a_file_by_hand(tmp_path: Path) -> None:
    model = read_arpa(written(tmp_path, BY_HAND))
    assert model.log10_prob("b", "a") == -0.1
    assert model.log10_prob("a", "a") == pytest.approx(-0.8)
    assert model.scores("a b").tolist() == pytest.approx([-0.25, -0.1, -0.9])
    assert model.scores("b", bos=False, eos=False).tolist() == [-0.6]
    assert model.log10_prob("zzz") == -100
    assert model.order == 2
    assert [p.word for p in model.predict("a", 2)] == ["b", "a"]
    assert model.perplexity(sentences=["a b", "a b"]).perplexity == pytest.approx(10 ** (1.25 / 3))


@given(sentences(), st.integers(1, 4), st.lists(st.sampled_from(["a", "b", "c", "zz"]), max_size=4))
def test_the_backoff_model_of_a_kneser_ney_model_is_the_same(text: Any, order: int, context: list[str]) -> None:
    model = trained(text, order=min(order, longest(text)), model="mkn")
    backoff = as_backoff(model)
    for seen in (context, ["<s>", *context], ["<s>", *text[0]]):
        assert backoff.distribution(seen) == pytest.approx(model.distribution(seen), rel=1e-11)
    for sentence in [*text[:3], [], context]:
        for bos in (True, False):
            assert backoff.scores(sentence, bos) == pytest.approx(model.scores(sentence, bos), abs=1e-11)


@pytest.mark.parametrize("name", ["m.arpa", "m.arpa.gz"])
def test_written_and_read_again(made: dict[str, Model], tmp_path: Path, name: str) -> None:
    write_arpa(made["mkn"], tmp_path / name)
    again = read_arpa(tmp_path / name)
    assert list(again.vocabulary) == list(made["mkn"].vocabulary)
    for sentence in SENTENCES:
        assert again.scores(sentence) == pytest.approx(made["mkn"].scores(sentence), abs=1e-6)
    assert again.score_many(SENTENCES) == pytest.approx(made["mkn"].score_many(SENTENCES), abs=1e-5)
    if name.endswith("gz"):
        assert gzip.decompress((tmp_path / name).read_bytes()).startswith(b"\\data\\")
    write_arpa(again, tmp_path / "second.arpa")
    assert read_arpa(tmp_path / "second.arpa").score("w1 w2 w3") == pytest.approx(again.score("w1 w2 w3"), abs=1e-6)


def test_the_order_of_grams_does_not_matter(made: dict[str, Model], tmp_path: Path) -> None:
    write_arpa(made["mkn"], tmp_path / "sorted.arpa")
    head, *sections = (tmp_path / "sorted.arpa").read_text().split("\n\n")
    turned = ["\n".join([lines[0], *lines[:0:-1]]) for lines in (s.split("\n") for s in sections[:-1])]
    path = written(tmp_path, "\n\n".join([head, *turned, sections[-1]]))
    one, other = read_arpa(tmp_path / "sorted.arpa"), read_arpa(path)
    assert [one.score(s) for s in SENTENCES] == pytest.approx([other.score(s) for s in SENTENCES], abs=1e-9)


def test_kenlm_reads_what_is_written(made: dict[str, Model], tmp_path: Path) -> None:
    real = pytest.importorskip("kenlm", reason="KenLM's Python module is not installed")
    write_arpa(made["mkn"], tmp_path / "m.arpa")
    theirs, again = real.Model(str(tmp_path / "m.arpa")), read_arpa(tmp_path / "m.arpa")
    for sentence in SENTENCES:
        expected = np.array([score for score, _, _ in theirs.full_scores(sentence)])
        assert made["mkn"].scores(sentence) == pytest.approx(expected, abs=2e-6)
        assert again.scores(sentence) == pytest.approx(expected, abs=2e-6)


def test_a_file_of_lmplz_scores_as_with_query(tmp_path: Path) -> None:
    places = os.pathsep.join([os.environ.get("KENLM_BIN", ""), os.environ.get("PATH", "")])
    lmplz, query = shutil.which("lmplz", path=places), shutil.which("query", path=places)
    if lmplz is None or query is None:
        pytest.skip("KenLM's lmplz and query are neither on PATH nor in the folder that KENLM_BIN names")
    text = "\n".join([*toy_text(1500, seed=21, vocabulary=600), ""])
    arpa = tmp_path / "theirs.arpa"
    arpa.write_bytes(subprocess.run([lmplz, "-o", "4"], input=text.encode(), capture_output=True, check=True).stdout)
    model = read_arpa(arpa)
    asked = subprocess.run(
        [query, str(arpa)], input="\n".join([*SENTENCES, ""]).encode(), capture_output=True, check=True
    )
    lines = [line for line in asked.stdout.decode().splitlines() if "Total:" in line]
    for sentence, line in zip(SENTENCES, lines, strict=True):
        theirs = [float(cell.split(" ")[-1]) for cell in line.partition("Total:")[0].split("\t") if "=" in cell]
        assert model.scores(sentence) == pytest.approx(np.array(theirs), abs=2e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("\\data\\", "data"), r": not an ARPA file: it has no line \\data\\"),
        (("ngram 2=2", "ngram 3=2"), r":3: expected 'ngram 2=…' or \\1-grams:, found 'ngram 3=2'"),
        (("ngram 2=2", "ngram 2=3"), r"expected a log10 probability, 2 words and perhaps a backoff, found"),
        (("ngram 2=2", "ngram 2=1"), r":13: expected \\end\\ here: more grams than the header says\?"),
        (("-0.1 a b", "-0.1 a c"), r":12: the word 'c' is not among the 1-grams"),
        (("-0.1 a b", "x a b"), r":12: a figure is no number in 'x a b'"),
        (("-0.5 a -0.3", "nan a -0.3"), r":7: log10 of a probability is at most 0, found 'nan'"),
        (("-0.1 a b", "0.25 a b"), r":12: log10 of a probability is at most 0, found '0.25'"),
        (("-0.5 a -0.3", "-0.5 a nan"), r":7: a backoff is a number, found 'nan'"),
        (("-0.5 a -0.3", "-0.5 a -inf"), r":7: a backoff is a number, found '-inf'"),
        (("-0.1 a b", "-0_1 a b"), r":12: a figure is no number in '-0_1 a b'"),
        (("\\data\\", "iARPA\n\n\\data\\"), r":1: 'iARPA': IRSTLM's own kind of file, whose figures have another"),
        (("\\data\\", "qARPA 2 2\n\\data\\"), r":1: 'qARPA 2 2': IRSTLM's own kind of file"),
        (("\\end\\\n", ""), r"ends after 14 lines without \\end\\: copy it again"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_its_line(
    tmp_path: Path, change: tuple[str, str], message: str
) -> None:
    with pytest.raises(ModelFileError, match=message):
        read_arpa(written(tmp_path, BY_HAND.replace(*change)))


def test_a_gram_without_its_context_is_refused(tmp_path: Path) -> None:
    text = BY_HAND.replace("ngram 2=2\n", "ngram 2=2\nngram 3=1\n")
    text = text.replace("\n\\end", "\n\\3-grams:\n-1 b a b\n\n\\end")
    with pytest.raises(ModelFileError, match="a 3-gram before this line has a context that is not there"):
        read_arpa(written(tmp_path, text))


def test_what_a_toolkit_says_before_the_data_is_skipped(tmp_path: Path) -> None:
    path = written(tmp_path, "#####\nThis is a model of the words a and b\n\n" + BY_HAND)
    assert read_arpa(path).log10_prob("b", "a") == -0.1
    assert gapgram.load(path).order == 2


def test_a_long_introduction_is_skipped_too(tmp_path: Path) -> None:
    for first in ("# " + "about this file\n# " * 4000 + "\n", ""):
        path = written(tmp_path, first + BY_HAND.replace("\\data\\", "\\DATA\\" if not first else "\\data\\"))
        assert gapgram.load(path).log10_prob("b", "a") == -0.1


def test_of_two_lines_with_one_word_the_first_counts(tmp_path: Path) -> None:
    text = BY_HAND.replace("ngram 1=4", "ngram 1=5").replace("-0.7 </s>", "-3 a -2\n-0.7 </s>")
    model = read_arpa(written(tmp_path, text))
    assert model.log10_prob("a") == -0.5
    assert model.log10_prob("a", "a") == pytest.approx(-0.8)
    assert len(model.vocabulary) == 5


def test_special_words_in_capitals_are_special_where_the_small_ones_are_missing(tmp_path: Path) -> None:
    model = read_arpa(written(tmp_path, BY_HAND.replace("<s>", "<S>").replace("</s>", "</S>").replace(" b", " <UNK>")))
    assert model.scores("a zzz").tolist() == pytest.approx([-0.25, -0.1, -0.9])
    both = BY_HAND.replace("ngram 1=4", "ngram 1=7").replace("-0.7 </s>", "-0.7 </s>\n-2 <S>\n-3 </S>\n-4 <UNK>")
    model = read_arpa(written(tmp_path, both.replace("ngram 1=7", "ngram 1=8").replace("-2 <S>", "-2 <S>\n-5 <unk>")))
    assert [model.log10_prob(word) for word in ("<S>", "</S>", "<UNK>", "zzz")] == [-2, -3, -4, -5]
    assert model.scores("a b").tolist() == pytest.approx([-0.25, -0.1, -0.9])


def test_what_is_written_with_such_words_is_read(tmp_path: Path) -> None:
    model = gapgram.train(sentences=["a <S> b", "<UNK> </S>"] * 9, order=2, model="mkn")
    write_arpa(model, tmp_path / "a.arpa")
    assert read_arpa(tmp_path / "a.arpa").score("a <S> </S>") == pytest.approx(model.score("a <S> </S>"), abs=1e-6)


def test_words_are_split_where_kenlm_splits_them(tmp_path: Path) -> None:
    for word in ("b\fb", "b\vb", "b\u3000", "b\u00a0b", "\x1cb"):
        model = read_arpa(written(tmp_path, BY_HAND.replace(" b", f" {word}")))
        assert model.log10_prob("a") == -0.5
        assert word in model.vocabulary
        assert model.extend(model.extend(model.null_context(), "a")[1], word)[0] == -0.1
    model = read_arpa(written(tmp_path, BY_HAND.replace("-0.1 a b", "-0.1\0a\0b")))
    assert model.log10_prob("b", "a") == -0.1


# The gram of three words is there, its end "a b" is not: KenLM puts a blank there.
WITH_A_BLANK = """\\data\\
ngram 1=5
ngram 2=4
ngram 3=1

\\1-grams:
-99\t<s>\t-0.4
-0.5\ta\t-0.3
-0.6\tb\t-0.2
-0.7\t</s>
-0.9\tc\t-0.1

\\2-grams:
-0.25\tc a\t-0.15
-0.35\tb c
-0.45\tc c
-0.55\tc b

\\3-grams:
-0.05\tc a b

\\end\\
"""


def test_a_blank_counts_in_the_length_of_a_gram(tmp_path: Path) -> None:
    model = read_arpa(written(tmp_path, WITH_A_BLANK))
    assert model.grams.sizes() == [6, 5, 1]
    state, found = model.null_context(), []
    for word in ("a", "b", "c", "a", "b", "b"):
        score, length, state = model.extend_with_length(state, word)
        found.append((round(score, 9), length))
    assert found == [(-0.5, 1), (-0.9, 2), (-0.35, 2), (-0.25, 2), (-0.05, 3), (-0.8, 1)]
    assert model.gram_lengths(model.vocabulary.ids(["a", "b", "c"])).tolist() == [1, 2, 2]
    real = pytest.importorskip("kenlm", reason="KenLM's Python module is not installed")
    theirs = real.Model(str(tmp_path / "model.arpa"))
    assert [length for _, length, _ in theirs.full_scores("a b c a b b", bos=False, eos=False)] == [n for _, n in found]


def test_states_hold_what_can_still_matter(made: dict[str, Model], tmp_path: Path) -> None:
    write_arpa(made["mkn"], tmp_path / "m.arpa")
    for model in (read_arpa(tmp_path / "m.arpa"), read_arpa(written(tmp_path, WITH_A_BLANK))):
        words = list(model.vocabulary)[3:]
        null = model.null_context()
        assert model.extend(null, "</s>")[1] == model.extend(model.begin_sentence(), "</s>")[1] == null
        assert model.extend(null, "zzz")[1] == null
        far = {model.extend(model.extend(model.extend(null, word)[1], "zzz")[1], words[0])[1] for word in words}
        assert far == {model.extend(null, words[0])[1]}


def test_states_are_equal_where_those_of_kenlm_are(made: dict[str, Model], tmp_path: Path) -> None:
    real = pytest.importorskip("kenlm", reason="KenLM's Python module is not installed")
    write_arpa(made["mkn"], tmp_path / "m.arpa")
    model, theirs = kenlm.Model(tmp_path / "m.arpa"), real.Model(str(tmp_path / "m.arpa"))
    pairs = set()
    for sentence in SENTENCES[:60]:
        state, their_state = kenlm.State(), real.State()
        model.BeginSentenceWrite(state)
        theirs.BeginSentenceWrite(their_state)
        for word in sentence.split():
            model.BaseScore(state, word, state)
            after = real.State()
            theirs.BaseScore(their_state, word, after)
            their_state = after
            pairs.add((state.key, hash(their_state)))
    assert len(pairs) == len({ours for ours, _ in pairs}) == len({other for _, other in pairs})


def test_a_model_of_a_file_is_pickled_by_its_path(made: dict[str, Model], tmp_path: Path) -> None:
    write_arpa(made["mkn"], tmp_path / "m.arpa")
    model = read_arpa(tmp_path / "m.arpa")
    write_backoff(model, tmp_path / "own.model")
    for one in (model, gapgram.load(tmp_path / "own.model")):
        data = pickle.dumps(one)
        assert len(data) < 300
        assert pickle.loads(data).score("w1 w2 w3") == one.score("w1 w2 w3")
    made_here = as_backoff(made["mkn"])
    assert pickle.loads(pickle.dumps(made_here)).score("w1 w2 w3") == made_here.score("w1 w2 w3")


def test_no_file_and_a_cut_one(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="no such file"):
        read_arpa(tmp_path / "nothing")
    (tmp_path / "cut.gz").write_bytes(gzip.compress(BY_HAND.encode())[:-20])
    with pytest.raises(ModelFileError, match="damaged or cut off"):
        read_arpa(tmp_path / "cut.gz")


@pytest.mark.parametrize("name", ["uniform", "counts", "learned", "custom"])
def test_what_arpa_cannot_hold_is_refused(made: dict[str, Model], tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="has no exact ARPA file: ARPA knows one shorter context"):
        write_arpa(made[name], tmp_path / "no.arpa")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["mkn", "uniform", "learned"])
def test_an_approximation_sums_to_one_and_keeps_the_longest_grams(made: dict[str, Model], name: str) -> None:
    model = made[name]
    near = approximate(model)
    for context in ("", "w1", "<s> w1", "w1 w2 w3", "zzz w2"):
        distribution = near.distribution(context)
        assert distribution.sum() == pytest.approx(1, abs=1e-9)
        assert distribution.min() >= 0
    for line in toy_text(1200, seed=5, vocabulary=800)[:40]:
        words = line.split()
        for i in range(3, len(words)):
            seen = words[i - 3 : i]
            assert near.log10_prob(words[i], seen) == pytest.approx(model.log10_prob(words[i], seen), abs=1e-9)


def test_a_lattice_of_ones_own_can_be_approximated_too(made: dict[str, Model]) -> None:
    near = approximate(made["custom"])
    assert near.distribution(["w1"]).sum() == pytest.approx(1, abs=1e-6)


def test_the_command_says_what_an_approximation_loses(made: dict[str, Model], tmp_path: Path) -> None:
    (tmp_path / "text").write_text("\n".join([*SENTENCES, ""]))
    arguments = [str(made["learned"].path), "-o", str(tmp_path / "m.arpa"), "--measure", str(tmp_path / "text")]
    out = CliRunner().invoke(command, [*arguments, "--approximate"])
    assert out.stdout.splitlines()[1].startswith("with unknown words")
    assert read_arpa(tmp_path / "m.arpa").order == 4
    assert "give a glm, and --grow or --approximate too" in str(CliRunner().invoke(command, arguments).exception)
    as_json = json.loads(CliRunner().invoke(command, [*arguments, "--approximate", "--json"]).stdout)
    assert as_json["perplexity"]["arpa"]["words"] == as_json["perplexity"]["model"]["words"]


def test_the_command(made: dict[str, Model], tmp_path: Path) -> None:
    out = CliRunner().invoke(command, [str(made["mkn"].path), "-o", str(tmp_path / "m.arpa")])
    assert out.exit_code == 0
    assert "written: order 4" in out.stderr
    assert read_arpa(tmp_path / "m.arpa").order == 4


def test_long_files_are_read_as_short_ones(tmp_path: Path) -> None:
    pairs = [(f"a{i}", f"a{j}") for i in range(80) for j in range(80)]  # more than are read at once
    lines = [f"-{1 + i % 7}.5\t{a} {b}" + "\t-0.25" * (i % 3 == 0) for i, (a, b) in enumerate(pairs)]
    words = [f"-2\t{word}\t-0.5" for word in ("<s>", "</s>", *(f"a{i}" for i in range(80)))]
    head = ["\\data\\", f"ngram 1={len(words)}", f"ngram 2={len(pairs)}", "", "\\1-grams:", *words, "", "\\2-grams:"]
    path = tmp_path / "long.arpa"

    def read(body: list[str]) -> BackoffModel:
        path.write_text("\n".join([*head, *body, "", "\\end\\", ""]))
        return read_arpa(path)

    model = read(lines)
    assert model.log10_prob("a77", ["a71"]) == float(lines[71 * 80 + 77].split()[0])
    assert read([*lines[:10], "", *lines[10:]]).score("a3 a4 a79 a79") == model.score("a3 a4 a79 a79")
    for wrong in ("-1\ta1 b", "-1\ta1", "1\ta1 a2", "-1_0\ta1 a2", "nan\ta1 a2", "-1\ta1 a2\tinf"):
        with pytest.raises(ModelFileError, match=f"long.arpa:{len(head) + 6001}: "):
            read([*lines[:6000], wrong, *lines[6001:]])
