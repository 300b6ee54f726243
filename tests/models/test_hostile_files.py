"""Files of strangers whose checksums are right: refused with a sentence before anything is believed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fuzz.sealed import SealedFile, SectionBytes

import gapgram
from gapgram.counts.check_meaning import check_meaning
from gapgram.errors import GapgramError, ModelFileError
from gapgram.system import array_reading

Change = Callable[[SealedFile], None]


def section(name: str, **entries: Any) -> Change:
    """Other entries in the table for a section."""
    return lambda file: file.section(name).lies.update(entries)


def numbers(name: str, change: Callable[[Any], None]) -> Change:
    """Other numbers in a section, whose checksum is right."""

    def apply(file: SealedFile) -> None:
        found = file.section(name)
        size = int(np.prod(found.shape))
        change(np.frombuffer(found.data, found.dtype, count=size).reshape(found.shape))

    return apply


def value(*path: str, to: Any) -> Change:
    """Another plain value."""

    def apply(file: SealedFile) -> None:
        at = file.metadata
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = to

    return apply


def put(place: Any, number: Any) -> Callable[[Any], None]:
    def change(array: Any) -> None:
        array[place] = number

    return change


def table(data: bytes) -> Change:
    return lambda file: setattr(file, "table", data)


def extra(file: SealedFile) -> None:
    file.sections.append(SectionBytes("sums", "<i8", [1], bytearray(8)))


def twice(file: SealedFile) -> None:
    file.sections.append(file.section("starts"))


TABLE_OF_CONTENTS: dict[str, tuple[Change, str]] = {
    "unknown name": (extra, "an unknown section 'sums'"),
    "there twice": (twice, "a section that is there twice"),
    "missing": (lambda file: file.sections.remove(file.section("starts")), "no section starts"),
    "other type": (section("starts", dtype="<f8"), "section starts of type <f8, expected i8"),
    "object type": (section("starts", dtype="|O"), "section starts of type |O"),
    "negative size": (section("starts", shape=[-1]), "section starts with the number -1"),
    "no number": (section("starts", shape=[True]), "section starts with the number True"),
    "overflow": (section("grams", shape=[1 << 62]), "section grams of"),
    "product overflow": (section("rows", shape=[1 << 62, 5]), "section r"),
    "rank": (section("starts", shape=[1, 6]), "section starts of shape [1, 6], expected starts"),
    "overlap": (section("starts", offset=64), "section starts at byte 64, expected"),
    "short": (section("starts", padded=0), "at byte"),
    "keys": (section("starts", more=1), "a section without its name, type, shape, place or checksum"),
    "no list": (table(b'{"metadata": {}, "sections": 5}'), "5 where a list was expected"),
    "no table": (table(b"[]"), "[] where a table of names and values was expected"),
    "deep": (table(b"[" * 100_000), "a table of sections more than 16 deep"),
    "digits": (table(b"9" * 6000), "not as gapgram writes it"),
    "no JSON": (table(b"{'"), "not as gapgram writes it"),
    "no UTF-8": (table(b'"\xff"'), "not as gapgram writes it"),
    "table elsewhere": (lambda file: file.lies.update({3: 64}), "a table of sections that is not at its end"),
}

RELATIONS: dict[str, tuple[Change, str]] = {
    "start outside": (numbers("starts", put(0, 99)), "section starts holds numbers from 0 to 99"),
    "start below": (numbers("starts", put(0, -1)), "section starts holds numbers from -1"),
    "start of words not known": (numbers("starts", put(0, 1)), "a prediction that starts from none, or from words"),
    "edge upwards": (numbers("edge_to", put(0, 1)), "a pattern that does not fall back on smaller ones"),
    "edges fall": (numbers("edge_base", put(1, 9)), "section edge_base: expected bounds that rise from 0 to"),
    "no weight": (numbers("edge_weight", put(slice(None), np.nan)), "section edge_weight holds numbers from nan"),
    "discount": (numbers("discounts", put((1, 1), 1.5)), "a discount of more than the count"),
    "infinite discount": (numbers("discounts", put((1, 3), np.inf)), "section discounts holds numbers from 0.0 to inf"),
    "place": (numbers("places", put((1, 8), 7)), "places of pattern 11: 7 in column 8, expected"),
    "grams": (numbers("places", put((1, 1), 1 << 50)), "grams of a pattern in"),
    "rows": (numbers("places", put((1, 9), 0)), "rows of a pattern, expected 1 to"),
    "tail": (numbers("places", put((2, 10), 2)), "places of pattern 101: 2 in column 10, expected 0"),
    "parts": (numbers("parts", put((3, 0), 3)), "parts of patterns that skip other words"),
    "gate": (numbers("gate_table", put((0, 0), np.nan)), "section gate_table holds numbers from nan"),
    "row": (numbers("row_values", put((3, 0), 0.9)), "that does not give and pass on one in all"),
    "no row weight": (numbers("row_values", put((3, 2), 0.0)), "a context that passes on more than all, or"),
    "bucket": (numbers("row_values", put((3, 3), 64.0)), "a context in no bucket of the gate"),
    "begin": (numbers("contexts", put(3, 1 << 60)), "contexts whose grams overlap, or are not there"),
    "context row": (numbers("contexts", lambda a: put(3, a[3] | 0xFFFFFF)(a)), "contexts without statistics"),
    "gram": (numbers("grams", put(-1, 0)), "tables of pattern"),
    "class": (numbers("class_of", put(4, 99)), "classes of words that have no name"),
    "given class": (numbers("given_class", put(4, 0.123)), "words of classes that are not those of the tables"),
    "slots": (numbers("word_slots", put(slice(None), 5)), "a slot of a word that is not there"),
    "offsets": (numbers("word_offsets", put(2, 0)), "section word_offsets: expected bounds that rise"),
    "special words": (numbers("words", put(0, 65)), "a vocabulary that does not begin with <unk> <s> </s>"),
    "order": (value("order", to=9), "not as gapgram writes it"),
    "order of thousands": (value("order", to=10**30), "where a count was expected"),
    "lattice": (value("lattice", to="full 1 11"), "patterns, expected"),
    "no lattice": (value("lattice", to=[]), "[] where a text was expected"),
    "classes": (value("classes", to=["<unk>"]), "classes of words, expected 1"),
    "facts": (value("text", "words", to=-5), "-5 where a count was expected"),
    "weights": (value("weights", "name", to="magic"), "weights 'magic', expected one of"),
    "report": (value("weights", "report", to=[1]), "where a table of names and values was expected"),
    "report figure": (value("weights", "report", "perplexity_after", to=float("nan")), "where a number was expected"),
    "estimated": (value("discounts", "estimated", to=[[1]]), "estimated discounts of shape [1, 1]"),
    "fitted": (value("discounts", "fitted", to="yes"), "where true or false was expected"),
}


def refusal(data: bytes, path: Path, **options: Any) -> str:
    path.write_bytes(data)
    with pytest.raises(ModelFileError) as error:
        gapgram.load(path, **options)
    return str(error.value)


@pytest.mark.parametrize("name", TABLE_OF_CONTENTS)
def test_a_table_of_contents_that_lies_is_refused(seeds: dict[str, Path], tmp_path: Path, name: str) -> None:
    change, expected = TABLE_OF_CONTENTS[name]
    file = SealedFile.parse(seeds["classes"].read_bytes())
    change(file)
    for verify in (None, True, False):
        said = refusal(file.sealed(), tmp_path / "odd", verify=verify)
        assert expected in said
        assert said.startswith(f"{tmp_path / 'odd'}: ")


@pytest.mark.parametrize("name", RELATIONS)
def test_sections_that_do_not_fit_each_other_are_refused(seeds: dict[str, Path], tmp_path: Path, name: str) -> None:
    change, expected = RELATIONS[name]
    file = SealedFile.parse(seeds["classes"].read_bytes())
    change(file)
    assert expected in refusal(file.sealed(), tmp_path / "odd")


@pytest.mark.parametrize(("name", "column", "number"), [
    ("places", 3, 70), ("places", 4, 0), ("packed_places", 3, 60), ("packed_places", 8, 1),
    ("packed_places", 2, 1 << 40),
])  # fmt: skip
def test_widths_and_places_of_the_compact_layout(
    seeds: dict[str, Path], tmp_path: Path, name: str, column: int, number: int
) -> None:
    file = SealedFile.parse(seeds["learned-compact"].read_bytes())
    numbers(name, put((1, column), number))(file)
    for verify in (None, False):
        assert "not as gapgram writes it" in refusal(file.sealed(), tmp_path / "odd", verify=verify)


def test_a_count_of_more_than_can_be_counted_is_refused(seeds: dict[str, Path]) -> None:
    counts = gapgram.Model.load(seeds["mkn"]).counts
    large = {"large_at": np.array([0]), "large_counts": np.array([1 << 40])}
    with pytest.raises(ValueError, match="a large count of 1,099,511,627,776, expected at most 68,719,476,735"):
        check_meaning(replace(counts, tables=counts.tables._replace(**large)))


def test_a_gram_without_its_parts_is_refused(seeds: dict[str, Path], tmp_path: Path) -> None:
    """A search would not look for it: scores would not be those of the distribution."""
    gapgram.Model.load(seeds["uniform"]).pruned(counts="101=9", output=tmp_path / "pruned")
    whole, pruned = (SealedFile.parse(path.read_bytes()) for path in (seeds["uniform"], tmp_path / "pruned"))
    pruned.section("parts").data = whole.section("parts").data
    assert "a gram whose words pattern" in refusal(pruned.sealed(), tmp_path / "odd")


def test_a_large_table_of_contents_is_not_read(seeds: dict[str, Path], tmp_path: Path) -> None:
    file = SealedFile.parse(seeds["mkn"].read_bytes())
    file.table = b" " * (array_reading.MOST_TABLE_BYTES + 1)
    assert "at most 67,108,864 are read" in refusal(file.sealed(), tmp_path / "odd")


def test_pipes_and_devices_are_no_models(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(ModelFileError, match="a pipe or a device, not a model file"):
            gapgram.load(path)


class TestMixtures:
    def write(self, path: Path, *entries: dict[str, Any]) -> Path:
        path.write_text(json.dumps({"format": "gapgram mixture 1", "models": entries}), "utf-8")
        return path

    def entry(self, path: str | Path, weight: Any = 0.5, signature: str = "") -> dict[str, Any]:
        return {"path": str(path), "weight": weight, "signature": signature}

    def test_of_itself(self, tmp_path: Path) -> None:
        path = self.write(tmp_path / "m", self.entry("m"), self.entry("m"))
        with pytest.raises(ModelFileError, match="a mixture that is a part of itself"):
            gapgram.load(path)

    def test_of_a_thousand_models(self, seeds: dict[str, Path], tmp_path: Path) -> None:
        model = gapgram.load(seeds["mkn"])
        entries = [self.entry(seeds["mkn"], 0.001, str(model.signature))] * 1000
        with pytest.raises(ModelFileError, match="a mixture of more than 100 models; mix fewer"):
            gapgram.load(self.write(tmp_path / "m", *entries))

    def test_that_double_with_each_step(self, seeds: dict[str, Path], tmp_path: Path) -> None:
        for i in range(60):
            self.write(tmp_path / str(i), *[self.entry(str(i + 1))] * 2)
        with pytest.raises(GapgramError):
            gapgram.load(tmp_path / "0")

    @pytest.mark.parametrize("path", ["../../../../etc/passwd", "/dev/zero", "a\0b", "\ud800", "x" * 5000, "", "."])
    def test_of_files_that_are_no_models(self, tmp_path: Path, path: str) -> None:
        with pytest.raises(GapgramError):
            gapgram.load(self.write(tmp_path / "m", self.entry(path), self.entry(path)))

    @pytest.mark.parametrize("text", [
        '{"models": [' + "[" * 5000, '{"format": "gapgram mixture 1", "models": {}}', "{" + " " * (1 << 20),
        '{"format": "gapgram mixture 1", "models": [{"path": "m", "weight": ' + "9" * 400 + ', "signature": ""}]}',
        '{"format": "gapgram mixture 1", "models": [{"path": "m", "weight": NaN, "signature": ""}]}',
    ])  # fmt: skip
    def test_that_make_no_sense(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "m").write_text(text, "utf-8")
        with pytest.raises(ModelFileError, match="not a mixture as gapgram writes it"):
            gapgram.load(tmp_path / "m")


@pytest.mark.parametrize(("old", "new", "expected"), [
    ("\\1-grams:\n-", "\\1-grams:\nnan\tnew\n-", "log10 of a probability is at most 0, found 'nan'"),
    ("\\1-grams:\n-", "\\1-grams:\n0.5\tnew\n-", "log10 of a probability is at most 0"),
    ("\\1-grams:\n-", "\\1-grams:\n-1\tnew\tinf\n-", "a backoff is a number, found 'inf'"),
    ("ngram 3=", "ngram 3=10000000000000", "expected a log10 probability, 3 words"),
    ("ngram 3=", "ngram 3=" + "9" * 5000, "expected 'ngram 3=…'"),
])  # fmt: skip
def test_figures_of_arpa_files(seeds: dict[str, Path], tmp_path: Path, old: str, new: str, expected: str) -> None:
    text = seeds["arpa"].read_text("utf-8")
    assert old in text
    assert expected in refusal(text.replace(old, new, 1).encode(), tmp_path / "odd")


def test_an_arpa_file_of_too_many_lengths(tmp_path: Path) -> None:
    header = "".join(f"ngram {n}=0\n" for n in range(1, 200))
    assert "expected 'ngram 101=…' or \\1-grams:" in refusal(f"\\data\\\n{header}".encode(), tmp_path / "odd")


@pytest.mark.parametrize(("change", "expected"), [
    (value("max_words", to="x"), "where a count was expected"),
    (value("words_read", to=-1), "-1 where a count was expected"),
    (value("log", to=[["x", [0]]]), "where a count was expected"),
    (value("log", to=[0.5, 2.0]), "not a session as gapgram writes it"),
    (value("log", to={}), "where a list was expected"),
    (numbers("ids", put(0, 1 << 30)), "not a session as gapgram writes it"),
])  # fmt: skip
def test_sessions_that_make_no_sense(seeds: dict[str, Path], tmp_path: Path, change: Change, expected: str) -> None:
    file = SealedFile.parse(seeds["session"].read_bytes())
    change(file)
    (tmp_path / "odd").write_bytes(file.sealed())
    session = gapgram.Model.load(seeds["mkn"]).session()
    with pytest.raises(ModelFileError) as error:
        session.load(tmp_path / "odd")
    assert expected in str(error.value)
    assert session.words_read == 0


@pytest.mark.parametrize(("name", "place", "number", "expected"), [
    ("base", 1, 0, "grams that do not fit the words"),
    ("children", 2, 0, "lists of grams that overlap, or are not there"),
    ("grams", 1, 0, "words in another order than that of their ids"),
    ("grams", -1, 1 << 30, "section grams holds numbers from"),
    ("log10_probs", 3, 2e6, "section log10_probs holds numbers from"),
    ("log10_probs", 3, np.nan, "section log10_probs holds numbers from nan"),
    ("log10_backoffs", 3, np.inf, "section log10_backoffs holds numbers from"),
])  # fmt: skip
def test_backoff_files_that_make_no_sense(
    seeds: dict[str, Path], tmp_path: Path, name: str, place: int, number: float, expected: str
) -> None:
    file = SealedFile.parse(seeds["backoff"].read_bytes())
    numbers(name, put(place, number))(file)
    assert expected in refusal(file.sealed(), tmp_path / "odd")
