"""What a configuration may say, and what each mistake is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from studies.config import read_config

from gapgram.errors import UsageError

CORPUS = '[[corpus]]\nname = "toy"\ntrain = "a.txt"\ntest = "b.txt"\n'


def read(folder: Path, text: str) -> object:
    (folder / "study.toml").write_text(text, encoding="utf-8")
    return read_config(folder / "study.toml")


def test_defaults_and_paths_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(CORPUS)
    study = read_config(tmp_path / "study.toml")
    assert study.orders == (3, 4, 5)
    assert study.models == ("mkn", "glm uniform", "glm counts", "glm learned", "glm classes")
    assert study.output == tmp_path / "report"
    assert study.corpora[0].train == (tmp_path / "a.txt",)
    assert study.corpora[0].train_share is None


def test_a_text_to_be_split_and_sizes(tmp_path: Path) -> None:
    text = '[[corpus]]\nname = "t"\ntext = ["a", "b"]\n[[sizes]]\ncorpus = "t"\nshares = [0.1, 1]\n'
    (tmp_path / "study.toml").write_text(text)
    study = read_config(tmp_path / "study.toml")
    assert study.corpora[0].train_share == 0.8
    assert study.sizes[0].shares == (0.1, 1.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("seed = = 3", "not TOML: .*at line 1"),
        ("", r"no corpus: add a \[\[corpus\]\] table"),
        ("modles = []\n" + CORPUS, "unknown key modles; known are corpus, models, orders"),
        ("seed = 1.5\n" + CORPUS, "seed = 1.5: expected a whole number, 0 or more"),
        ("seed = true\n" + CORPUS, "seed = True: expected a whole number"),
        ("orders = []\n" + CORPUS, r"orders = \[\]: expected a list of different whole numbers"),
        ("orders = [3, 3]\n" + CORPUS, r"orders = \[3, 3\]: expected a list of different"),
        ("orders = [0]\n" + CORPUS, "order 0: expected a whole number from 1"),
        ('models = ["kn"]\n' + CORPUS, r"models = \['kn'\]: expected a list of some of: mkn, glm uniform"),
        ('protocols = "running"\n' + CORPUS, "protocols = 'running': expected a list of some of: sequences, running"),
        ("[sequences]\nlength = 4\n" + CORPUS, "sequences of 4 words are too short for order 5"),
        ("[sequences]\nlenght = 4\n" + CORPUS, "sequences: unknown key lenght; known are length, number"),
        ('[[corpus]]\ntrain = "a"\ntest = "b"', "corpus 1: name is missing: expected letters"),
        ('[[corpus]]\nname = "a/b"\ntrain = "a"\ntest = "b"', "name = 'a/b': expected letters, digits"),
        ('[[corpus]]\nname = "a"\ntrain = "a"', r"corpus 1 \(a\): expected train and test, or text alone"),
        ('[[corpus]]\nname = "a"\ntrain = 3\ntest = "b"', "train = 3: expected a file or a list of files"),
        ('[[corpus]]\nname = "a"\ntext = "a"\ntrain_share = 1', "train_share = 1: expected a number between 0 and 1"),
        (CORPUS + "train_share = 0.5", "train_share is for text that is to be split"),
        (CORPUS + "max_lines = 0", "max_lines = 0: expected a whole number, 1 or more"),
        (CORPUS + "lines = 3", r"corpus 1 \(toy\): unknown key lines"),
        (CORPUS + CORPUS, "two corpora are called toy"),
        (CORPUS + '[[sizes]]\ncorpus = "toys"\nlines = [3]', "sizes of toys: there is no such corpus, only toy"),
        (CORPUS + '[[sizes]]\ncorpus = "toy"', r"sizes 1 \(toy\): expected lines or shares, one of the two"),
        (CORPUS + '[[sizes]]\ncorpus = "toy"\nshares = [2]', r"shares = \[2\]: expected a list of shares of 1"),
        (CORPUS + '[[sizes]]\ncorpus = "toy"\nlines = [3]\n' * 2, "two tables of sizes for toy"),
        ("corpus = 3", r"corpus = 3: expected \[\[corpus\]\] tables"),
    ],
)
def test_mistakes(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as error:
        read(tmp_path, text)
    assert len(str(error.value).splitlines()) <= 3


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nowhere\.toml: no such file; see docs/measured/results/study\.toml"):
        read_config(tmp_path / "nowhere.toml")
    with pytest.raises(UsageError, match="cannot be read"):
        read_config(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b'title = "\xe9"')
    with pytest.raises(UsageError, match="cannot be read"):
        read_config(tmp_path / "latin.toml")
