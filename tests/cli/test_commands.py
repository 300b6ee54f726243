"""Every command and its contract: results on stdout, talk on stderr, JSON that other programs rely on."""

from __future__ import annotations

import json
import signal
import warnings
from pathlib import Path

import pytest
from tests.support.corpora import toy_text
from tests.support.running import Cli

import gapgram
from gapgram import Model
from gapgram.errors import DiscountWarning

pytestmark = pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning")


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cli") / "text"
    path.write_text("\n".join([*toy_text(200), ""]))
    return path


@pytest.fixture
def mkn(models: dict[str, Model]) -> Path:
    path = models["mkn"].path
    assert path is not None
    return path


def test_train_writes_a_model_and_talks_on_stderr(cli: Cli, text: Path, tmp_path: Path) -> None:
    ran = cli("train", text, "-o", tmp_path / "m", "-n", 3, "--model", "mkn", "--threads", 1)
    assert (ran.code, ran.out) == (0, "")
    assert "words in 200 sentences, 63 in the vocabulary; " in ran.err
    model = Model.load(tmp_path / "m", verify=True)
    assert (model.order, model.name) == (3, "mkn")
    assert model.score("w1 w2") == gapgram.train(text, order=3, model="mkn").score("w1 w2")


def test_train_says_nothing_when_asked_to(cli: Cli, text: Path, tmp_path: Path) -> None:
    ran = cli("train", text, "-o", tmp_path / "m", "-n", 2, "--model", "mkn", "-q")
    assert (ran.code, ran.out, ran.err) == (0, "", "")


def test_train_takes_its_options(cli: Cli, text: Path, tmp_path: Path) -> None:
    ran = cli(
        "train", text, text, "-o", tmp_path / "m", "-n", 4, "--model", "glm", "--weights", "uniform",
        "--lattice", "11,1011", "--min-count", 3, "--vocab-limit", 20, "--json", "-q",
    )  # fmt: skip
    assert ran.code == 0
    info = ran.json
    assert (info["order"], info["model"], info["weights"], info["lattice"]) == (4, "glm", "uniform", "custom")
    assert (info["sentences"], info["vocabulary"]) == (400, 23)
    assert info["seconds"] > 0
    assert "min_count=3,limit=20" in info["signature"]


def test_train_from_standard_input(cli: Cli, text: Path, tmp_path: Path) -> None:
    for source in ("-", text):
        ran = cli("train", source, "-o", tmp_path / "m", "-n", 2, "--model", "mkn", "-q", stdin=text.read_bytes())
        assert ran.code == 0
        assert Model.load(tmp_path / "m").counts.text.sentences == 200


def test_a_fallback_of_discounts_is_a_warning(cli: Cli, tmp_path: Path) -> None:
    warnings.simplefilter("always", DiscountWarning)
    ran = cli("train", "-", "-o", tmp_path / "m", "-n", 2, "--model", "mkn", stdin=b"a b\nb c\n")
    assert ran.code == 0
    warned = [line for line in ran.err.splitlines() if "warning" in line]
    assert len(warned) == 1
    assert warned[0].startswith("gapgram: warning: discounts for pattern 1 (w1): no gram has continuation count 3")
    assert warned[0].endswith("fallback discounts 0.5, 1.0, 1.5 are used, also for pattern 11.")


def test_special_words_and_odd_bytes_by_option(cli: Cli, tmp_path: Path) -> None:
    options = ("train", "-", "-o", tmp_path / "m", "-n", 2, "--model", "mkn", "-q")
    odd = b"a <unk> b\nb \xff\n"
    assert cli(*options, "--special", "unk", "--invalid", "replace", stdin=odd).code == 0
    assert Model.load(tmp_path / "m").counts.text.words == 5
    assert cli(*options, "--special", "skip", "--invalid", "replace", stdin=odd).code == 0
    assert Model.load(tmp_path / "m").counts.text.words == 4


def test_score_keeps_a_line_for_every_line(cli: Cli, models: dict[str, Model], mkn: Path) -> None:
    ran = cli("score", mkn, stdin=b"w1 w2\n\nzzz w1 <unk>\n \nw3")
    expected = [models["mkn"].score(s) for s in ("w1 w2", "zzz w1 <unk>", "w3")]
    assert ran.out == f"{expected[0]:.6f}\t2\t0\n\n{expected[1]:.6f}\t3\t2\n\n{expected[2]:.6f}\t1\t0\n"
    assert (ran.code, ran.err) == (0, "")


def test_score_words(cli: Cli, models: dict[str, Model], mkn: Path) -> None:
    a, b, c = models["mkn"].scores("w1 zzz")
    ran = cli("score", mkn, "--words", stdin=b"w1 zzz\n\n")
    assert ran.out == f"w1\t{a:.6f}\nzzz\t{b:.6f}\n</s>\t{c:.6f}\n\n\n"


def test_score_says_that_json_lines_are_no_text(cli: Cli, mkn: Path) -> None:
    ran = cli("score", mkn, stdin=b'{"text": "w1 w2"}\n{"text": "w1"}\n')
    assert (ran.code, len(ran.out.splitlines())) == (0, 2)
    assert ran.err == "the text looks like JSON lines and is scored as it is; gapgram filter reads their fields\n"
    assert cli("score", mkn, "-q", stdin=b'{"text": "w1 w2"}\n').err == ""


def test_score_json_is_a_line_for_every_line(cli: Cli, models: dict[str, Model], mkn: Path, text: Path) -> None:
    lines = cli("score", mkn, text, "--json").out.splitlines()
    assert [json.loads(line)["log10_prob"] for line in lines] == models["mkn"].score_many(toy_text(200)).tolist()
    found = json.loads(cli("score", mkn, "--json", "--words", stdin=b"w1\n").out)
    assert set(found) == {"log10_prob", "words", "unknown_words", "scores"}
    assert [s["word"] for s in found["scores"]] == ["w1", "</s>"]


def test_perplexity_json_is_the_contract(cli: Cli, models: dict[str, Model], mkn: Path, tmp_path: Path) -> None:
    (tmp_path / "t").write_text("w1 w2 zzz\n\nw3\n")
    ran = cli("perplexity", mkn, tmp_path / "t", "--json")
    contract = {
        "perplexity", "perplexity_known", "words", "unknown_words", "sentences", "log10_prob", "signature",
    }  # fmt: skip
    assert contract <= set(ran.json)
    expected = models["mkn"].perplexity(tmp_path / "t")
    assert {name: ran.json[name] for name in contract} == {name: getattr(expected, name) for name in contract}
    assert (ran.json["words"], ran.json["unknown_words"], ran.json["sentences"]) == (4, 1, 2)
    assert ran.err == ""


def test_perplexity_of_several_texts_and_of_standard_input(cli: Cli, mkn: Path, text: Path) -> None:
    assert cli("perplexity", mkn, text, text, "--json").json["sentences"] == 400
    assert cli("perplexity", mkn, "-", "--json", stdin=text.read_bytes()).json["sentences"] == 200
    printed = cli("perplexity", mkn, text).out
    assert "perplexity" in printed
    assert "signature                 order:4|model:mkn|" in printed


def test_info_json_is_the_contract(cli: Cli, models: dict[str, Model]) -> None:
    model = models["glm"]
    assert model.path is not None
    info = cli("info", model.path, "--json").json
    contract = {"order", "model", "weights", "patterns", "grams", "bytes", "bytes_per_gram", "vocabulary", "signature"}
    assert contract <= set(info)
    assert (info["order"], info["model"], info["weights"]) == (4, "glm", "uniform")
    assert info["bytes"] == model.path.stat().st_size
    assert info["grams"] == sum(model.counts.size(p) for p in model.counts.lattice.stored)
    assert info["bytes_per_gram"] == pytest.approx(info["bytes"] / info["grams"])
    assert info["vocabulary"] == len(model.vocabulary)
    assert info["signature"] == str(model.signature)
    assert [p["pattern"] for p in info["patterns"]] == ["1", "11", "101", "111", "1001", "1011", "1101", "1111"]


def test_info_for_people(cli: Cli, models: dict[str, Model]) -> None:
    printed = cli("info", models["glm"].path).out
    for part in ("w1 _ w3 w4", "bytes per gram", "D3+", "signature"):
        assert part in printed


def test_info_of_a_pattern(cli: Cli, models: dict[str, Model]) -> None:
    model = models["glm"]
    best = model.counts.most_frequent(gapgram.Pattern.parse("101"), 3)
    found = cli("info", model.path, "--pattern", "101", "--top", 3, "--json").json
    assert found["grams"] == [{"gram": f"{a} _ {b}", "count": n} for (a, _, b), n in best]
    printed = cli("info", model.path, "--pattern", "w1 _ w3", "--top", 3).out.splitlines()
    assert (len(printed), printed[0].split()) == (4, ["gram", "continuation", "count"])
    top = cli("info", model.path, "--pattern", "1" * model.order, "--top", 1).out.splitlines()
    assert top[0].split() == ["gram", "count"]


def test_verify(cli: Cli, mkn: Path) -> None:
    assert cli("verify", mkn).out.startswith(f"{mkn}: whole; ")
    found = cli("verify", mkn, "--json").json
    assert found["whole"] is True
    assert found["largest_miss_of_one"] < 1e-9


def test_compare_prints_the_table_of_the_paper(cli: Cli, text: Path) -> None:
    ran = cli("compare", text, "-n", "2-3", "--seed", 5)
    assert ran.code == 0
    header, *rows = ran.out.splitlines()
    assert header.split()[:2] == ["order", "mkn"]
    assert header.split().count("change") >= 1
    assert [row.split()[0] for row in rows] == ["2", "3"]
    assert "split 0.8 with seed 5" in ran.err


def test_compare_json_and_the_seed(cli: Cli, text: Path) -> None:
    one, again, other = (cli("compare", text, "-n", "2", "--json", "-q", "--seed", s).out for s in (1, 1, 2))
    assert one == again != other
    found = json.loads(one)
    assert found["split"]["training"] + found["split"]["test"] == 200
    assert {(r["order"], r["model"]) for r in found["results"]} == {(2, "mkn"), (2, "glm")}
    for row in found["results"]:
        assert row["result"]["sentences"] == found["split"]["test"]
        assert row["result"]["perplexity_known"] > 1


def test_compare_obeys_the_rules_for_text(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_bytes(b"a b c\nb c <s>\na \xff c\n" * 20)
    for options, place in ((["--invalid", "replace"], ":2: the word <s>"), (["--special", "skip"], ":3: byte 3")):
        ran = cli("compare", path, "-n", 2, *options)
        assert ran.code == 2
        assert f"{path}{place}" in ran.err
    assert cli("compare", path, "-n", 2, "--invalid", "replace", "--special", "skip").code == 0


def test_help_of_every_command(cli: Cli) -> None:
    listed = cli("--help").out
    for name in ("demo", "train", "score", "perplexity", "compare", "info", "verify"):
        assert f"  {name} " in listed
        ran = cli(name, "--help")
        assert (ran.code, ran.err) == (0, "")
        assert ran.out.startswith(f"Usage: gapgram {name} ")
    assert cli().out == listed
    assert cli("--version").out == f"gapgram, version {gapgram.__version__}\n"


def test_a_signal_that_an_import_has_wrapped(
    cli: Cli, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As `__set_name__` does before Python 3.12 when Ctrl-C comes while numba is imported.
    def interrupted(*_: object, **__: object) -> None:
        try:
            signal.raise_signal(signal.SIGINT)
        except BaseException as error:
            raise RuntimeError("error calling __set_name__") from error

    monkeypatch.setattr("gapgram.training.run.estimate_discounts", interrupted)
    ran = cli("train", text, "-o", tmp_path / "m", "-n", 2)
    assert (ran.code, ran.err) == (130, "gapgram: interrupted; nothing half-written was left behind\n")


def test_a_mistake_of_ours_is_not_hidden(cli: Cli, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("gapgram.training.run.estimate_discounts", broken)
    with pytest.raises(ZeroDivisionError):
        cli("train", text, "-o", tmp_path / "m", "-n", 2)
