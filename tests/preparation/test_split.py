"""Parts of a text, and random sequences."""

from __future__ import annotations

import gzip
import lzma
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gapgram.errors import TextError, UsageError
from gapgram.preparation.output import text_outputs
from gapgram.preparation.split import _choose, _drawn_parts, sample_text, split_text


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("".join(f"sentence {n} of ten words or so , no more .\n\n" for n in range(1000)))
    return path


def lines(path: str | Path) -> list[str]:
    return Path(path).read_text().splitlines()


def test_sets_inside_one_another(text: Path) -> None:
    split = split_text(text, train=[0.008, 0.8, 0.08], valid=0.1, seed=3)
    assert [(p.name, p.sentences, p.words) for p in split.parts] == [
        ("train-0.8", 800, 8800), ("train-0.08", 80, 880), ("train-0.008", 8, 88), ("valid", 100, 1100),
        ("test", 100, 1100),
    ]  # fmt: skip
    large, middle, small, valid, test = (lines(part.path) for part in split.parts)
    assert set(small) < set(middle) < set(large)
    assert sorted(large + valid + test) == sorted(line for line in lines(text) if line)
    assert split.parts[-1].path == str(text.with_name("text.test.txt"))
    assert split.signature()["seed"] == 3


def test_the_seed_decides_and_compression_does_not(text: Path, tmp_path: Path) -> None:
    packed = tmp_path / "other.txt.gz"
    packed.write_bytes(gzip.compress(text.read_bytes()))
    first = split_text(text, tmp_path / "a", seed=1)
    second = split_text(packed, tmp_path / "b", seed=1, compression="xz")
    third = split_text(text, tmp_path / "c", seed=2)
    train = Path(first.parts[0].path).read_bytes()
    assert second.parts[0].path.endswith("b.train.txt.xz")
    assert lzma.decompress(Path(second.parts[0].path).read_bytes()) == train
    assert Path(third.parts[0].path).read_bytes() != train


def test_every_sentence_is_as_likely_as_any_other() -> None:
    counts: Counter[int] = Counter()
    for seed in range(4000):
        drawn = list(_drawn_parts([4, 1], 2, 8, seed))
        assert Counter(drawn) == {(0,): 3, (0, 1): 1, (2,): 2, (3,): 2}
        counts[drawn.index((0, 1))] += 1
    assert all(abs(count - 500) < 5 * 500**0.5 for count in counts.values())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"train": []}, "no training share: expected numbers between 0 and 1, such as 0.8,0.08"),
        ({"train": [0.0]}, "training share 0: expected more than 0 and at most 1"),
        ({"train": [80]}, "training share 80: expected more than 0 and at most 1"),
        ({"train": [0.8], "valid": 0.3}, "training share 0.8 and validation share 0.3 are more than the whole text"),
        ({"valid": -1.0}, "validation share -1: expected at least 0 and less than 1"),
        ({"compression": "zip"}, "compression 'zip': expected gz, bz2, xz or zst"),
    ],
)
def test_wrong_shares(text: Path, options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError) as raised:
        split_text(text, **options)  # type: ignore[arg-type]
    assert str(raised.value) == message


def test_texts_that_cannot_be_split(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("\n \n")
    with pytest.raises(TextError, match=r"empty\.txt: the text is empty: expected one sentence a line$"):
        split_text(tmp_path / "empty.txt")
    with pytest.raises(TextError, match="no such file"):
        split_text(tmp_path / "none.txt")
    with pytest.raises(UsageError, match="standard input cannot be read twice: name a file"):
        split_text("-")


def test_sequences_are_runs_of_the_text(text: Path, tmp_path: Path) -> None:
    sample = sample_text(text, tmp_path / "out", sequences=500, length=5, seed=1)
    found = lines(tmp_path / "out")
    whole = text.read_text()
    assert sample.runs == 7000 and len(found) == 500
    assert all(len(line.split()) == 5 and f" {line} " in f" {whole.replace(chr(10), ' ')} " for line in found)
    sample_text(text, tmp_path / "again", sequences=500, length=5, seed=1)
    assert lines(tmp_path / "again") == found
    sample_text(text, tmp_path / "all", sequences=7000, length=5)
    assert len(lines(tmp_path / "all")) == 7000


@given(st.integers(1, 40), st.integers(0, 40), st.integers())
@settings(max_examples=50)
def test_different_numbers_are_chosen(total: int, wanted: int, seed: int) -> None:
    chosen = _choose(total, min(wanted, total), seed)
    assert len(set(chosen)) == len(chosen) == min(wanted, total)
    assert all(0 <= number < total for number in chosen)


def test_every_run_is_as_likely_as_any_other() -> None:
    counts = Counter(number for seed in range(3000) for number in _choose(6, 2, seed))
    assert all(abs(counts[number] - 1000) < 5 * 1000**0.5 for number in range(6))


def test_wrong_samples(text: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^sequences 0: expected 1 or more$"):
        sample_text(text, tmp_path / "o", sequences=0, length=5)
    with pytest.raises(UsageError, match=r"^length 0: expected 1 or more words$"):
        sample_text(text, tmp_path / "o", sequences=1, length=0)
    with pytest.raises(TextError, match=r"has 0 runs of 12 words, fewer than the 5 asked for$"):
        sample_text(text, tmp_path / "o", sequences=5, length=12)


def test_outputs_that_cannot_be_written(text: Path, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    for path, message in {
        tmp_path: "a folder; name a file to write$",
        tmp_path / "none" / "out": "the folder .*none does not exist; make it first$",
        text: "is read and would be replaced; name another file to write$",
    }.items():
        with pytest.raises(TextError, match=message), text_outputs([path], [text]):
            pass
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz", ".zst"])
def test_compressed_outputs_are_whole_and_the_same_each_time(tmp_path: Path, suffix: str) -> None:
    found = []
    for name in ("a", "b"):
        path = tmp_path / f"{name}{suffix}"
        with text_outputs([path]) as (file,):
            file.write(b"one line\n" * 1000)
        found.append(path.read_bytes())
        split_text(path, tmp_path / "part")
    assert found[0] == found[1]
    assert len(lines(tmp_path / "part.train.txt")) == 800
