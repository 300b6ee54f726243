"""Training and test text of the corpora of a study.

Smaller training texts are the first lines of larger ones, so they are nested. A text that is split is
shuffled first, so that its first lines are a random sample.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

import numpy as np
import xxhash

from gapgram.errors import TextError, UsageError
from gapgram.preparation.split import sentences_of_file
from gapgram.text.corpus import Corpus, blocks_of_sentences, read_corpus
from studies.config import CorpusConfig, SizesConfig


@dataclass(frozen=True)
class TrainingText:
    """So many first lines of a corpus's training text."""

    corpus: str
    language: str
    lines: Sequence[str]
    is_main: bool  # the text of the tables by corpus
    is_size: bool  # one of the texts of the table of sizes

    @cached_property
    def encoded(self) -> Corpus:
        """The text as ids, with its vocabulary and digest."""
        return read_corpus(blocks_of_sentences(self.lines))

    @property
    def label(self) -> str:
        """What messages call it."""
        return f"{self.corpus}, {len(self.lines):,} lines"


@dataclass(frozen=True)
class TestText:
    """The test lines of a corpus."""

    __test__ = False  # not for pytest

    lines: Sequence[str]

    @cached_property
    def digest(self) -> str:
        """Of the lines in their order."""
        return xxhash.xxh64("\n".join(self.lines).encode()).hexdigest()


def corpus_texts(
    corpus: CorpusConfig, sizes: SizesConfig | None, *, seed: int, progress: bool = False
) -> tuple[list[TrainingText], TestText]:
    """The training texts of a corpus, the largest first, and its test text."""
    needed = None if sizes is not None and sizes.shares else _most(corpus.max_lines, sizes)
    if corpus.train_share is None:
        train = read_lines(corpus.train, needed, progress=progress)
        test = read_lines(corpus.test, progress=progress)
    else:
        train, test = _shuffled_parts(read_lines(corpus.train, progress=progress), corpus.train_share, seed)
    if not train or not test:
        raise TextError(f"corpus {corpus.name}: {len(train)} training and {len(test)} test lines: both need some")
    main = min(len(train), corpus.max_lines or len(train))
    varied = _varied(sizes, len(train)) if sizes else []
    return [
        TrainingText(corpus.name, corpus.language, train[:n], n == main, n in varied)
        for n in sorted({main, *varied}, reverse=True)
    ], TestText(test)


def _most(max_lines: int | None, sizes: SizesConfig | None) -> int | None:
    """The number of lines to read; None for all."""
    return None if max_lines is None else max(max_lines, *(sizes.lines if sizes else ()), 1)


def _varied(sizes: SizesConfig, available: int) -> list[int]:
    wanted = [*sizes.lines, *(max(1, round(share * available)) for share in sizes.shares)]
    if max(wanted) > available:
        raise UsageError(
            f"sizes of {sizes.corpus}: {max(wanted):,} lines asked for, the training text has {available:,}"
        )
    return wanted


def read_lines(paths: Sequence[Path], limit: int | None = None, *, progress: bool = False) -> list[str]:
    """The lines with words of some files, or the first of them."""
    return list(islice(_decoded(paths, progress), limit))


def _decoded(paths: Sequence[Path], progress: bool) -> Iterator[str]:
    for path in paths:
        for number, line in enumerate(sentences_of_file(path, title=path.name, progress=progress), 1):
            try:
                yield line.decode("utf-8")
            except UnicodeDecodeError as error:
                raise TextError(f"{path}: sentence {number} is not valid UTF-8 ({error.reason})") from None


def _shuffled_parts(lines: list[str], share: float, seed: int) -> tuple[list[str], list[str]]:
    """The lines in random order, cut into training and test part."""
    order = np.random.default_rng(seed).permutation(len(lines))
    cut = round(share * len(lines))
    return [lines[i] for i in order[:cut]], [lines[i] for i in order[cut:]]
