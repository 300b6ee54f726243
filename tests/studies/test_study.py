"""A small study of made text: its report, its resumption, its cache."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from studies.__main__ import command
from studies.cache import Cache
from tests.support.corpora import toy_text

import gapgram
from gapgram.errors import TextError, UsageError
from studies import experiments, read_config, run_study

CONFIG = """
title = "Made text"
orders = [2, 3]
[sequences]
length = 3
number = 200
[[corpus]]
name = "made"
language = "none"
train = "train.txt"
test = "test.txt"
max_lines = 200
[[corpus]]
name = "split"
text = "test.txt"
[[sizes]]
corpus = "made"
lines = [400, 200]
"""
MODELS = 5 * 3  # of each text: five models, orders 1 to 3
TEXTS = 3  # made with 200 and with 400 lines, split


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train.txt").write_text("\n".join(toy_text(400)), encoding="utf-8")
    (tmp_path / "test.txt").write_text("\n".join(toy_text(150, seed=2, vocabulary=70)), encoding="utf-8")
    (tmp_path / "study.toml").write_text(CONFIG, encoding="utf-8")
    return tmp_path


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The models that were really trained."""
    calls: list[str] = []
    train: Callable[..., Any] = gapgram.train

    def counted(**options: Any) -> Any:
        calls.append(f"{options['model']} {options['order']}")
        return train(**options)

    monkeypatch.setattr(experiments, "train", counted)
    return calls


def without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: without_times(v) for k, v in value.items() if not k.startswith("seconds")}
    return [without_times(v) for v in value] if isinstance(value, list) else value


def test_the_report_has_every_table_and_figure(folder: Path) -> None:
    pytest.importorskip("matplotlib", reason="plots need matplotlib")
    results = run_study(read_config(folder / "study.toml"))
    report = folder / "report"
    names = {path.stem for path in (report / "tables").glob("*.csv")}
    assert names == {path.stem for path in (report / "tables").glob("*.tex")} == {
        "statistics", "perplexity-sequences", "perplexity-sequences-known", "perplexity-running",
        "perplexity-running-known", "sizes-made-sequences", "sizes-made-sequences-known", "sizes-made-running",
        "sizes-made-running-known", "parts", "parts-known", "once-total", "once-unique", "models",
    }  # fmt: skip
    figures = {path.name for path in (report / "figures").iterdir()}
    stems = ("changes-running", "changes-sequences", "once", "sizes-made-running", "sizes-made-sequences")
    assert figures == {f"{stem}.{kind}" for stem in stems for kind in ("svg", "png")}
    assert (report / "figures" / "once.png").read_bytes().startswith(b"\x89PNG")
    assert json.loads((report / "results.json").read_text("utf-8")) == results
    text = (report / "report.md").read_text("utf-8")
    assert "## Perplexity of running text, unknown words left out" in text
    assert "(#perplexity-of-running-text-unknown-words-left-out)" in text and "* [Plots](#plots)" in text
    assert "figures/sizes-made-running.svg" in text


def test_every_figure_has_its_signature_and_tables_agree_with_results(folder: Path) -> None:
    results = run_study(read_config(folder / "study.toml"), plots=False)
    found = results["measurements"]
    assert len(found) == TEXTS * 5 * 2 * 4  # texts, models, orders; three parts of sequences and running
    for m in found:
        assert f"order:{m['order']}|model:{m['model'].split()[0]}|" in m["signature"]
        assert f"|protocol:{m['protocol']}," in m["signature"]
    with (folder / "report" / "tables" / "perplexity-running.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(row["corpus"], row["n"]) for row in rows] == [("made", "2"), ("made", "3"), ("split", "2"), ("split", "3")]
    keys = ("corpus", "training_lines", "model", "order", "protocol")
    running = next(m for m in found if [m[k] for k in keys] == ["made", 200, "mkn", 3, "running"])
    assert float(rows[1]["mkn"]) == pytest.approx(running["perplexity"], rel=1e-5)


def test_an_interrupted_study_goes_on_where_it_stopped(folder: Path, trained: list[str]) -> None:
    config = read_config(folder / "study.toml")
    said: list[str] = []

    def interrupt(message: str) -> None:
        said.append(message)
        if len(said) == 6:  # reading, then five models
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_study(config, plots=False, say=interrupt)
    assert not (config.output / "report.md").exists()
    assert len(trained) == 5 * 3
    resumed = run_study(config, plots=False)
    assert len(trained) == TEXTS * MODELS
    whole = run_study(config, output=folder / "other", plots=False)
    assert without_times(resumed) == without_times(whole)
    assert not list(folder.rglob("*.part"))


def test_what_is_cached_is_not_computed_again(folder: Path, trained: list[str]) -> None:
    config = read_config(folder / "study.toml")
    first = run_study(config, plots=False)
    trained.clear()
    messages: list[str] = []
    again = run_study(config, plots=False, say=messages.append)
    assert trained == []
    assert without_times(again) == without_times(first)
    assert messages[:2] == ["[corpus 1 of 2] made: reading", "[corpus 1 of 2] made, 400 lines: mkn: found"]


def test_only_what_depends_on_a_change_is_computed_again(folder: Path, trained: list[str]) -> None:
    run_study(read_config(folder / "study.toml"), plots=False)
    trained.clear()
    with (folder / "train.txt").open("a", encoding="utf-8") as file:
        file.write("\nw1 w2 w3\n")  # after the 400 lines that are used
    run_study(read_config(folder / "study.toml"), plots=False)
    assert trained == []
    lines = (folder / "train.txt").read_text("utf-8").splitlines()
    (folder / "train.txt").write_text("\n".join([*lines[:399], "w5 w5 w5 w5"]), encoding="utf-8")
    run_study(read_config(folder / "study.toml"), plots=False)
    assert len(trained) == MODELS  # the text of 400 lines alone


def test_a_damaged_result_is_computed_again(folder: Path, trained: list[str]) -> None:
    config = read_config(folder / "study.toml")
    first = run_study(config, plots=False)
    trained.clear()
    damaged = next(p for p in (config.output / "cache").glob("*.json") if '"running"' in p.read_text())
    damaged.write_bytes(damaged.read_bytes()[:100])
    again = run_study(config, plots=False)
    assert len(trained) == 1
    assert without_times(again) == without_times(first)


def test_a_result_of_another_name_is_not_taken(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put({"order": 3}, {"perplexity": 1.0})
    (path,) = tmp_path.glob("*.json")
    path.write_text(path.read_text().replace('"order": 3', '"order": 4'))
    assert cache.get({"order": 3}) is None


def test_sizes_larger_than_the_text(folder: Path) -> None:
    (folder / "study.toml").write_text(CONFIG.replace("[400, 200]", "[500]"))
    with pytest.raises(UsageError, match=r"sizes of made: 500 lines asked for, the training text has 400"):
        run_study(read_config(folder / "study.toml"), plots=False)


def test_texts_that_cannot_be_used(folder: Path) -> None:
    (folder / "test.txt").write_text("\n\n")
    with pytest.raises(TextError, match="corpus made: 400 training and 0 test lines"):
        run_study(read_config(folder / "study.toml"), plots=False)
    (folder / "test.txt").write_bytes(b"a b\n\xff c\n")
    with pytest.raises(TextError, match=r"test\.txt: sentence 2 is not valid UTF-8"):
        run_study(read_config(folder / "study.toml"), plots=False)
    (folder / "test.txt").unlink()
    with pytest.raises(TextError, match=r"test\.txt: no such file"):
        run_study(read_config(folder / "study.toml"), plots=False)


def test_an_output_that_cannot_be_a_folder(folder: Path) -> None:
    with pytest.raises(UsageError, match=r"train\.txt: a file; the report needs a folder"):
        run_study(read_config(folder / "study.toml"), output=folder / "train.txt", plots=False)


def test_plots_without_matplotlib_name_the_extra(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError, match=r"pip install 'matplotlib>=3.8', or leave them out \(--no-plots\)"):
        run_study(read_config(folder / "study.toml"))


def test_the_command(folder: Path) -> None:
    short = CONFIG.replace("orders = [2, 3]", 'orders = [2]\nmodels = ["mkn"]\nprotocols = ["running"]')
    (folder / "study.toml").write_text(short)
    arguments = [str(folder / "study.toml"), "--no-plots", "--quiet"]
    plain = CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert plain.stdout == f"{folder / 'report'}/report.md\n"
    as_json = CliRunner().invoke(command, [*arguments, "--json"], catch_exceptions=False)
    assert len(json.loads(as_json.stdout)["measurements"]) == TEXTS


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "expected CONFIG.toml or --published, one of the two"),
        (["a.toml", "--published"], "expected CONFIG.toml or --published, one of the two"),
        (["--published", "-o", "x"], "--output is for CONFIG.toml"),
        (["a.toml", "--data", "x"], "--data is for --published"),
    ],
)
def test_arguments_that_make_no_sense(arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(command, arguments)
    assert result.exit_code == 2
    assert message in result.output


def test_a_changed_program_does_not_find_its_old_results(
    folder: Path, trained: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    config = read_config(folder / "study.toml")
    run_study(config, plots=False)
    monkeypatch.setattr(experiments, "program_digest", lambda: "changed")
    run_study(config, plots=False)
    assert len(trained) == 2 * TEXTS * MODELS
