"""What a study is asked to do: a TOML file, read and checked.

    title = "Two books"
    output = "report"                     # beside the TOML file, as all paths are
    seed = 1
    orders = [3, 4, 5]
    models = ["mkn", "glm uniform", "glm counts", "glm learned", "glm classes"]
    protocols = ["sequences", "running"]

    [sequences]                           # of the protocol of that name
    length = 5
    number = 100000

    [[corpus]]                            # any number of them
    name = "emma"
    language = "en"
    train = ["emma.1.txt", "emma.2.txt"]  # and test = …; or text = … and train_share = 0.8
    test = "emma.test.txt"
    max_lines = 50000

    [[sizes]]                             # the training size is varied: the first lines of the text
    corpus = "emma"
    lines = [5000, 500]                   # or shares = [1.0, 0.1]
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gapgram.errors import UsageError
from gapgram.lattice import check_order
from studies.fields import Fields, is_real, is_whole

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CLASSES = "glm classes"  # learned weights and classes found in the text: what `gapgram train` makes by default
MODELS = ("mkn", "glm uniform", "glm counts", "glm learned", CLASSES)
PROTOCOLS = ("sequences", "running")


@dataclass(frozen=True)
class CorpusConfig:
    """A corpus: training and test files, or files to be split."""

    name: str
    language: str
    train: tuple[Path, ...]
    test: tuple[Path, ...]
    train_share: float | None  # `train` is the whole text and this share of it is for training
    max_lines: int | None


@dataclass(frozen=True)
class SizesConfig:
    """Training sizes of one corpus: numbers of lines, or shares of all lines."""

    corpus: str
    lines: tuple[int, ...]
    shares: tuple[float, ...]


@dataclass(frozen=True)
class StudyConfig:
    """All that a study is asked to do."""

    title: str
    output: Path
    seed: int
    orders: tuple[int, ...]
    models: tuple[str, ...]
    protocols: tuple[str, ...]
    length: int
    number: int
    corpora: tuple[CorpusConfig, ...]
    sizes: tuple[SizesConfig, ...]


def read_config(path: str | Path) -> StudyConfig:
    """The study that a TOML file describes."""
    path = Path(path)
    try:
        data = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file; see docs/measured/results/study.toml for an example") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: not TOML: {error}") from None
    except (ValueError, RecursionError):  # a number of thousands of digits, tables thousands deep
        raise UsageError(f"{path}: not the TOML of a study: a number is too long, or tables are too deep") from None
    return _study(Fields(str(path), data), path.parent)


def _study(fields: Fields, folder: Path) -> StudyConfig:
    sequences = Fields(
        f"{fields.where}: sequences",
        fields.take("sequences", {}, "a [sequences] table", lambda v: isinstance(v, dict)),
    )
    study = StudyConfig(
        title=fields.text("title", "A study of n-gram language models"),
        output=folder / fields.text("output", "report"),
        seed=fields.number("seed", 1, least=0),
        orders=_orders(fields),
        models=fields.choices("models", MODELS),
        protocols=fields.choices("protocols", PROTOCOLS),
        length=sequences.number("length", 5),
        number=sequences.number("number", 100_000),
        corpora=tuple(_corpus(table, folder) for table in fields.tables("corpus")),
        sizes=tuple(_sizes(table) for table in fields.tables("sizes")),
    )
    sequences.done()
    fields.done()
    _check_names(fields, study)
    if "sequences" in study.protocols and study.length < max(study.orders):
        raise UsageError(
            f"{fields.where}: sequences of {study.length} words are too short for order {max(study.orders)}: "
            "raise length or leave the order out"
        )
    return study


def _orders(fields: Fields) -> tuple[int, ...]:
    expected = "a list of different whole numbers such as [3, 4, 5]"
    orders = fields.take("orders", [3, 4, 5], expected, lambda v: _all(v, is_whole))
    if len(set(orders)) < len(orders):
        raise fields.fail("orders", orders, expected)
    return tuple(sorted(map(check_order, orders)))


def _corpus(fields: Fields, folder: Path) -> CorpusConfig:
    name = fields.take(
        "name", ..., "letters, digits, dots, dashes",
        lambda v: isinstance(v, str) and re.fullmatch(r"[\w.-]+", v) is not None,
    )  # fmt: skip
    fields.where = f"{fields.where} ({name})"
    train, test, text = (fields.paths(key, folder) for key in ("train", "test", "text"))
    share = fields.share("train_share", 0.8)
    if bool(text) == bool(train or test) or bool(train) != bool(test):
        raise UsageError(f"{fields.where}: expected train and test, or text alone, which is split by train_share")
    if train and "train_share" in fields.data:
        raise UsageError(f"{fields.where}: train_share is for text that is to be split; there are train and test")
    corpus = CorpusConfig(
        name=name, language=fields.text("language", "-"), train=train or text, test=test,
        train_share=share if text else None, max_lines=fields.number("max_lines", None),
    )  # fmt: skip
    fields.done()
    return corpus


def _sizes(fields: Fields) -> SizesConfig:
    name = fields.text("corpus")
    lines = fields.take("lines", [], "a list of numbers of lines", lambda v: _all(v, lambda n: is_whole(n) and n > 0))
    shares = fields.take("shares", [], "a list of shares of 1", lambda v: _all(v, lambda s: is_real(s) and 0 < s <= 1))
    if bool(lines) == bool(shares):
        raise UsageError(f"{fields.where} ({name}): expected lines or shares, one of the two")
    fields.done()
    return SizesConfig(name, tuple(sorted(set(lines))), tuple(sorted(map(float, set(shares)))))


def _check_names(fields: Fields, study: StudyConfig) -> None:
    names = [corpus.name for corpus in study.corpora]
    if not names:
        raise UsageError(f"{fields.where}: no corpus: add a [[corpus]] table with name, train and test")
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise UsageError(f"{fields.where}: two corpora are called {twice[0]}")
    varied = [sizes.corpus for sizes in study.sizes]
    for name in varied:
        if name not in names:
            raise UsageError(f"{fields.where}: sizes of {name}: there is no such corpus, only {', '.join(names)}")
        if varied.count(name) > 1:
            raise UsageError(f"{fields.where}: two tables of sizes for {name}; put them into one")


def _all(value: object, fits: Callable[[Any], bool]) -> bool:
    return isinstance(value, list) and bool(value) and all(map(fits, value))
