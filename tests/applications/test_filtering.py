"""Filtering: figures equal the model's, limits, percentiles, buckets, two models; order, resuming, hostile records."""

from __future__ import annotations

import gzip
import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.corpora import toy_text
from tests.support.running import Cli, assert_refused

import gapgram
from gapgram import Choice, DocumentScorer, FilterOptions, Model
from gapgram.applications.filtering import run as filter_run
from gapgram.applications.filtering.documents import ccnet, normaliser
from gapgram.applications.filtering.lines import JsonLines
from gapgram.text.files import LONGEST_LINE_BYTES

TEXTS = toy_text(200, seed=9, vocabulary=900)
DOCUMENTS = ["\n".join(TEXTS[i : i + 3]) for i in range(0, 180, 3)]


def write_records(path: Path, texts: list[str] = DOCUMENTS) -> Path:
    lines = [json.dumps({"id": i, "text": text, "é": "x"}, ensure_ascii=i % 2 == 0) for i, text in enumerate(texts)]
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return path


def read_records(path: Path) -> list[dict[str, Any]]:
    data = path.read_bytes()
    data = gzip.decompress(data) if path.suffix == ".gz" else data
    return [json.loads(line) for line in data.decode().splitlines()]


def perplexity(model: Model, text: str) -> float:
    return model.perplexity(sentences=[line for line in text.split("\n") if line]).perplexity


def test_a_document_has_the_perplexity_of_its_lines(made: dict[str, Model]) -> None:
    model = made["learned"]
    for text, score in zip(DOCUMENTS, DocumentScorer(model).score(DOCUMENTS), strict=True):
        assert score.perplexity == pytest.approx(perplexity(model, text))
        assert score.words == len(text.split())
        assert score.unknown_words == sum(word not in model.vocabulary for word in text.split())
    empty = DocumentScorer(model).score(["", "\n\n", "<s> </s>"])
    assert [(one.words, one.unknown_share) for one in empty] == [(0, 0.0)] * 3
    assert DocumentScorer(model).score([]) == []


def test_records_are_marked_and_keep_their_bytes(made: dict[str, Model], tmp_path: Path) -> None:
    source = write_records(tmp_path / "in.jsonl")
    summary = gapgram.filter_records(made["mkn"], source, tmp_path / "out.jsonl")
    before, after = source.read_bytes().splitlines(), (tmp_path / "out.jsonl").read_bytes().splitlines()
    for line, marked, text in zip(before, after, DOCUMENTS, strict=True):
        assert marked.startswith(line[:-1] + b', "perplexity": ')
        record = json.loads(marked)
        assert record["perplexity"] == pytest.approx(perplexity(made["mkn"], text), rel=1e-5)
        assert (record["words"], record["text"]) == (len(text.split()), text)
    assert (summary.tally.records, summary.kept) == (len(DOCUMENTS), {"kept": len(DOCUMENTS)})
    assert summary.signatures == (str(made["mkn"].signature),)
    assert sum(summary.tally.histogram) == len(DOCUMENTS)


@pytest.mark.parametrize(("choice", "stays"), [
    (Choice(max_perplexity=300), lambda r: r["perplexity"] <= 300),
    (Choice(min_perplexity=300), lambda r: r["perplexity"] >= 300),
    (Choice(min_words=20, max_words=30), lambda r: 20 <= r["words"] <= 30),
    (Choice(max_unknown=0.05), lambda r: r["unknown_share"] <= 0.05),
])  # fmt: skip
def test_limits(made: dict[str, Model], tmp_path: Path, choice: Choice, stays: Any) -> None:
    source = write_records(tmp_path / "in.jsonl")
    gapgram.filter_records(made["mkn"], source, tmp_path / "all.jsonl")
    gapgram.filter_records(made["mkn"], source, tmp_path / "some.jsonl", choice)
    expected = [record for record in read_records(tmp_path / "all.jsonl") if stays(record)]
    assert 0 < len(expected) < len(DOCUMENTS)
    assert read_records(tmp_path / "some.jsonl") == expected


def test_percentiles_and_buckets(made: dict[str, Model], tmp_path: Path) -> None:
    source = write_records(tmp_path / "in.jsonl")
    below = gapgram.filter_records(made["mkn"], source, tmp_path / "b.jsonl", Choice(keep_below=0.3))
    assert below.kept["kept"] == pytest.approx(0.3 * len(DOCUMENTS), abs=1)
    split = gapgram.filter_records(made["mkn"], source, tmp_path / "out.jsonl", Choice(buckets=(0.3, 0.6)))
    found = {name: read_records(tmp_path / f"out.{name}.jsonl") for name in ("head", "middle", "tail")}
    assert {name: len(records) for name, records in found.items()} == split.kept
    assert [r["id"] for r in found["head"]] == [r["id"] for r in read_records(tmp_path / "b.jsonl")]
    assert max(r["perplexity"] for r in found["head"]) <= min(r["perplexity"] for r in found["middle"])
    assert sum(map(len, found.values())) == len(DOCUMENTS)
    assert all(r["bucket"] == name for name, records in found.items() for r in records)


def test_percentiles_of_other_records(made: dict[str, Model], tmp_path: Path) -> None:
    source, other = write_records(tmp_path / "in.jsonl"), write_records(tmp_path / "o.jsonl", DOCUMENTS[:20])
    options = FilterOptions(calibrate=str(other))
    summary = gapgram.filter_records(made["mkn"], source, tmp_path / "out", Choice(keep_below=0.5), options=options)
    values = sorted(perplexity(made["mkn"], text) for text in DOCUMENTS[:20])
    assert values[9] < summary.percentiles[0.5] < values[10]


def test_good_against_bad(made: dict[str, Model], models: dict[str, Model], tmp_path: Path) -> None:
    source = write_records(tmp_path / "in.jsonl")
    summary = gapgram.filter_records(
        [made["mkn"], made["learned"]], source, tmp_path / "out", Choice(max_difference=-0.1), against=models["mkn"]
    )
    good, bad = DocumentScorer(made["mkn"]), DocumentScorer(models["mkn"])
    values = good.arrays(DOCUMENTS).log10_perplexity - bad.arrays(DOCUMENTS).log10_perplexity
    found = read_records(tmp_path / "out")
    assert [record["id"] for record in found] == [i for i, value in enumerate(values) if value <= -0.1]
    assert 0 < len(found) < len(DOCUMENTS)
    assert found[0]["difference"] == pytest.approx(values[found[0]["id"]], rel=1e-5)
    assert found[0]["perplexity_learned"] == pytest.approx(perplexity(made["learned"], found[0]["text"]), rel=1e-5)
    assert summary.measure == "difference"


def test_lines_of_records(made: dict[str, Model], tmp_path: Path) -> None:
    source, model = write_records(tmp_path / "in.jsonl"), made["mkn"]
    options = FilterOptions(by="line")
    gapgram.filter_records(model, source, tmp_path / "out", Choice(max_perplexity=200), options=options)
    expected = {}
    for i, text in enumerate(DOCUMENTS):
        kept = [line for line in text.split("\n") if perplexity(model, line) <= 200]
        if kept:
            expected[i] = "\n".join(kept)
    assert {record["id"]: record["text"] for record in read_records(tmp_path / "out")} == expected


def test_plain_and_compressed_text(made: dict[str, Model], tmp_path: Path) -> None:
    (tmp_path / "in.txt.gz").write_bytes(gzip.compress("\n".join([*TEXTS, "", ""]).encode()))
    gapgram.filter_records(made["mkn"], tmp_path / "in.txt.gz", tmp_path / "marked")
    assert [line.split("\t")[3] for line in (tmp_path / "marked").read_text().splitlines()] == TEXTS
    gapgram.filter_records(made["mkn"], tmp_path / "in.txt.gz", tmp_path / "out.gz", Choice(max_perplexity=200))
    kept = gzip.decompress((tmp_path / "out.gz").read_bytes()).decode().splitlines()
    assert kept == [line for line in TEXTS if perplexity(made["mkn"], line) <= 200]


def test_parquet(made: dict[str, Model], tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"id": list(range(len(DOCUMENTS))), "text": DOCUMENTS})
    parquet.write_table(table, tmp_path / "in.parquet", row_group_size=7)
    write_records(tmp_path / "in.jsonl")
    choice = Choice(buckets=(0.3, 0.6))
    gapgram.filter_records(made["mkn"], tmp_path / "in.jsonl", tmp_path / "j", choice)
    gapgram.filter_records(made["mkn"], tmp_path / "in.parquet", tmp_path / "p.parquet", choice)
    for name in choice.names:
        expected = [{k: v for k, v in r.items() if k != "é"} for r in read_records(tmp_path / f"j.{name}")]
        assert parquet.read_table(tmp_path / f"p.{name}.parquet").to_pylist() == expected
    by_line = FilterOptions(by="line", figures=False)
    gapgram.filter_records(
        made["mkn"], tmp_path / "in.parquet", tmp_path / "l.parquet", Choice(max_perplexity=200), options=by_line
    )
    gapgram.filter_records(
        made["mkn"], tmp_path / "in.jsonl", tmp_path / "l.jsonl", Choice(max_perplexity=200), options=by_line
    )
    kept = [record["text"] for record in read_records(tmp_path / "l.jsonl")]
    assert parquet.read_table(tmp_path / "l.parquet").column("text").to_pylist() == kept


def test_text_as_cc_net_has_it(made: dict[str, Model]) -> None:
    assert ccnet(" Ça — “Été” 2021\x07！ ") == 'ca  -  "ete" 0000!'
    assert ccnet("  ") == ""
    one, other = (DocumentScorer(made["mkn"], normalise=name) for name in ("ccnet", None))
    assert one.score(["W１ É\nÄ 9"])[0] == other.score(["w0 e\na 0"])[0]
    assert normaliser(None) is None
    with pytest.raises(gapgram.UsageError, match="normalisation 'latin': expected ccnet"):
        DocumentScorer(made["mkn"], normalise="latin")


# Order, threads, interruptions


def test_threads_do_not_change_the_output(
    made: dict[str, Model], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_records(tmp_path / "in.jsonl")
    gapgram.filter_records(made["mkn"], source, tmp_path / "whole")
    pieces = JsonLines.pieces
    monkeypatch.setattr(JsonLines, "pieces", lambda self, *rest: cut_small(pieces(self, *rest)))
    for threads in (1, 3):
        gapgram.filter_records(made["mkn"], source, tmp_path / "cut", threads=threads)
        assert (tmp_path / "cut").read_bytes() == (tmp_path / "whole").read_bytes()


def cut_small(pieces: Iterator[Any]) -> Iterator[Any]:
    """Pieces of a few records in the place of larger ones."""
    offset = 0
    for piece in pieces:
        for block in piece.records.cut(500):
            offset += len(block.data)
            end = (offset, block.first_line + block.data.count(b"\n"))
            yield piece._replace(records=block, end=end, size_bytes=filter_run.NOTE_BYTES)


@pytest.mark.parametrize("suffix", ["jsonl", "jsonl.gz"])
def test_an_interrupted_run_goes_on(
    made: dict[str, Model], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    source, output = write_records(tmp_path / "in.jsonl"), tmp_path / f"out.{suffix}"
    choice, options = Choice(keep_below=0.7), FilterOptions(resume=True)
    whole = gapgram.filter_records(made["mkn"], source, tmp_path / "whole", choice)
    pieces, process, processed = JsonLines.pieces, JsonLines.process, []

    def begun(self: JsonLines, begin: Any, on_bytes: Any) -> Iterator[Any]:
        if begin is None:
            yield from cut_small(pieces(self, None, on_bytes))
        else:
            yield from pieces(self, begin, on_bytes)

    def stopped(self: JsonLines, piece: Any, work: Any) -> Any:
        processed.append(piece)
        if len(processed) == 5:
            raise KeyboardInterrupt
        return process(self, piece, work)

    monkeypatch.setattr(JsonLines, "pieces", begun)
    monkeypatch.setattr(JsonLines, "process", stopped)
    with pytest.raises(KeyboardInterrupt) as stop:
        gapgram.filter_records(made["mkn"], source, output, choice, threads=1)
    assert "go on with --resume, or delete it" in stop.value.kept  # type: ignore[attr-defined]
    assert not output.exists()
    with pytest.raises(gapgram.UsageError, match="the interrupted run had another choice"):
        gapgram.filter_records(made["mkn"], source, output, Choice(), options=options)
    n_before = len(processed)
    summary = gapgram.filter_records(made["mkn"], source, output, choice, options=options)
    assert processed[n_before].records.first_line == processed[4].records.first_line
    assert summary.tally == whole.tally
    assert read_records(output) == read_records(tmp_path / "whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["in.jsonl", output.name, "whole"])


def test_ctrl_c_leaves_what_another_run_goes_on_with(
    cli: Cli, made: dict[str, Model], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, output = write_records(tmp_path / "in.jsonl"), tmp_path / "out.jsonl"
    pieces, process, processed = JsonLines.pieces, JsonLines.process, []

    def stopped(self: JsonLines, piece: Any, work: Any) -> Any:
        processed.append(piece)
        if len(processed) == 4:
            signal.raise_signal(signal.SIGINT)
        return process(self, piece, work)

    monkeypatch.setattr(JsonLines, "pieces", lambda self, *rest: cut_small(pieces(self, *rest)))
    monkeypatch.setattr(JsonLines, "process", stopped)
    ran = cli("filter", made["mkn"].path, source, "-o", output, "--threads", 1)
    kept = tmp_path / ".out.jsonl.filter"
    assert (ran.code, ran.err) == (
        130, f"gapgram: interrupted; what is done is kept in {kept}: go on with --resume, or delete it\n",
    )  # fmt: skip
    assert not output.exists()
    monkeypatch.setattr(JsonLines, "pieces", pieces)
    assert cli("filter", made["mkn"].path, source, "-o", output, "--resume", "-q").code == 0
    assert [record["id"] for record in read_records(output)] == list(range(len(DOCUMENTS)))
    assert not kept.exists()


def test_a_long_line_takes_no_memory(tmp_path: Path) -> None:
    long = LONGEST_LINE_BYTES + 1
    (tmp_path / "t").write_bytes(b"a\n" + b"x" * long + b"\nb\n" + b"y" * long)
    pieces = list(JsonLines(tmp_path / "t").pieces(None, lambda n: None))
    assert b"".join(piece.records.data for piece in pieces) == b"a\n\0too long\nb\n\0too long\n"
    assert pieces[-1].end[0] == (tmp_path / "t").stat().st_size
    middle = next(piece for piece in pieces if b"too long" in piece.records.data)
    rest = list(JsonLines(tmp_path / "t").pieces(middle.end, lambda n: None))
    assert b"".join(piece.records.data for piece in rest) == b"\0too long\n"
    assert rest[-1].end == pieces[-1].end


# Hostile records


BROKEN = {
    b"[1, 2": "in.jsonl:2: not JSON: Expecting ',' delimiter at column 6",
    b"[" * 100_000: "in.jsonl:2: not JSON that can be read: nested too deeply",
    b"1" * 5000: "in.jsonl:2: not JSON that can be read: Exceeds the limit",
    b'{"text": "\xff"}': "in.jsonl:2: byte 11 of the record (0xff) is not valid UTF-8",
    b'["text"]': "in.jsonl:2: expected an object with a field 'text', found a list",
    b'{"body": "a"}': "in.jsonl:2: the field 'text' is missing; there are body",
    b'{"text": 3}': "in.jsonl:2: the field 'text' holds a number, expected a string",
    b'{"text": null}': "in.jsonl:2: the field 'text' holds null, expected a string",
    b'{"text": "\\ud800"}': "in.jsonl:2: the field 'text' holds half of a surrogate pair, which is no text",
    b'{"text": "a", "words": 1}': "in.jsonl:2: the record has a field 'words' already; name figures otherwise",
}


@pytest.mark.parametrize("record", BROKEN, ids=lambda record: record[:20].decode("latin-1"))
def test_a_broken_record(
    cli: Cli, made: dict[str, Model], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record: bytes
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.jsonl").write_bytes(b'{"text": "w1 w2"}\n' + record + b'\n\n{"text": "w3"}\n')
    assert_refused(cli("filter", made["mkn"].path, "in.jsonl", "-o", "out"), BROKEN[record])
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]
    ran = cli("filter", made["mkn"].path, "in.jsonl", "-o", "out", "--broken", "skip")
    assert ran.code == 0
    assert "2 records, 3 words, 0.00 % of them unknown; 1 broken records left out" in ran.err
    assert len(read_records(Path("out"))) == 2


def test_broken_parquet(cli: Cli, made: dict[str, Model], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parquet, pyarrow = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    parquet.write_table(pyarrow.table({"text": ["w1", None], "n": [1, 2]}), "in.parquet")
    command = ["filter", made["mkn"].path, "in.parquet", "-o", "out.parquet"]
    assert_refused(cli(*command), "in.parquet: row 2: the column 'text' is null")
    assert_refused(cli(*command, "--field", "n"), "in.parquet: the column 'n' holds int64, expected strings")
    assert_refused(cli(*command, "--field", "x"), "in.parquet: the column 'x' is missing; there are text, n")
    assert cli(*command, "--broken", "skip", "-q").code == 0
    again = ["filter", made["mkn"].path, "out.parquet", "-o", "b.parquet"]
    assert_refused(cli(*again), "there is a column 'perplexity' already; name figures otherwise (--prefix)")
    assert cli(*again, "--prefix", "mkn_", "-q").code == 0
    assert "mkn_words" in parquet.read_table("b.parquet").column_names
    twice = pyarrow.table([pyarrow.array(["w1"]), pyarrow.array(["w2"])], names=["text", "text"])
    parquet.write_table(twice, "twice.parquet")
    said = "twice.parquet: there are 2 columns 'text': rename or drop all but one"
    assert_refused(cli("filter", made["mkn"].path, "twice.parquet", "-o", "c.parquet"), said)
    plain = Path("in.parquet").read_bytes()
    Path("in.parquet").write_bytes(plain.replace(b"text", b"te\xfft"))
    assert_refused(cli(*command), "in.parquet: no whole Parquet file: 'utf-8' codec can't decode")
    parquet.write_table(pyarrow.table({"text": ["w1", "x" * (LONGEST_LINE_BYTES + 1)]}), "in.parquet")
    assert_refused(cli(*command), "in.parquet: row 2: a record of more than 16 MiB")
    Path("in.parquet").write_bytes(Path("in.parquet").read_bytes()[:-9])
    assert_refused(cli(*command), "in.parquet: no whole Parquet file")


@pytest.mark.parametrize(("options", "expected"), [
    (["--keep-below", "3"], "keep-below 3.0: expected a share from 0 to 1"),
    (["--buckets", "0.6,0.3"], "buckets 0.6,0.3: expected two rising shares between 0 and 1"),
    (["--buckets", "x"], "buckets 'x': expected two shares such as 0.3,0.6"),
    (["--max-difference", "0"], "a limit of the difference needs another model: --against BAD"),
    (["-o", "none/out"], "none does not exist; make it first"),
    (["-o", "in.jsonl"], "in.jsonl: is read and would be replaced"),
    (["-o", "empty", "--calibrate", "empty", "--keep-below", "0.5"], "empty: is read and would be replaced"),
    (["-o", "out.parquet"], "out.parquet: input and output must both be Parquet files, or both lines"),
    (["-o", "-", "--buckets"], "standard output: buckets and Parquet need files; name an output (-o FILE)"),
    (["-o", "-", "--resume"], "--resume: standard output cannot be gone on with"),
    (["--calibrate", "none", "--keep-below", "0.5"], "none: no such file"),
    (["--calibrate", "empty", "--keep-below", "0.5"], "percentiles: no record with words to find them on"),
])  # fmt: skip
def test_mistakes(
    cli: Cli, made: dict[str, Model], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], expected: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_records(Path("in.jsonl"), DOCUMENTS[:5])
    Path("empty").touch()
    assert_refused(cli("filter", made["mkn"].path, "in.jsonl", "-o", "out", *options), expected)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "in.jsonl"]


@pytest.mark.parametrize("options", [["MODEL", "in.jsonl"], ["OTHER", "in.jsonl", "--against", "MODEL"]])
def test_a_model_is_never_replaced_by_records(
    cli: Cli, made: dict[str, Model], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_records(Path("in.jsonl"), DOCUMENTS[:5])
    made["mkn"].save("model")
    before, names = Path("model").read_bytes(), {"MODEL": "model", "OTHER": made["learned"].path}
    ran = cli("filter", *(names.get(option, option) for option in options), "-o", "model")
    assert_refused(ran, "model: is read and would be replaced")
    assert Path("model").read_bytes() == before


def test_other_mistakes(cli: Cli, made: dict[str, Model], tmp_path: Path) -> None:
    assert_refused(cli("filter", made["mkn"].path, "-o", "out"), "expected a model and a file of records")
    assert_refused(cli("filter", made["mkn"].path, tmp_path / "none", "-o", tmp_path / "out"), "none: no such file")
    ran = cli("filter", made["mkn"].path, "-", "-o", tmp_path / "out", "--keep-below", 0.5, stdin=b"{}")
    assert_refused(ran, "standard input is read once: name records to find percentiles on (--calibrate FILE)")
    with pytest.raises(gapgram.UsageError, match="by 'page': expected document or line"):
        FilterOptions(by="page")
    with pytest.raises(gapgram.TextError, match="document 2: holds half of a surrogate pair"):
        DocumentScorer(made["mkn"]).score(["a", "\ud800"])


def test_pipes_and_json(cli: Cli, made: dict[str, Model], tmp_path: Path) -> None:
    source = write_records(tmp_path / "in.jsonl").read_bytes()
    ran = cli("filter", made["mkn"].path, "-", "-o", "-", "--max-perplexity", 300, "--json", stdin=source)
    summary = json.loads(ran.err)
    assert len(ran.out.splitlines()) == summary["kept"]["kept"] > 0
    assert summary["choice"] == {"max_perplexity": 300.0}
    assert sum(one["kept"] for one in summary["histogram"]) == summary["kept"]["kept"]
    assert summary["signatures"] == [str(made["mkn"].signature)]
