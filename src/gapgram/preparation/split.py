"""Parts of a text: training sets inside one another with validation and test sets, and random sequences.

A text is read twice, once to count and once to write, so sizes are exact and memory does not grow with it.
What is drawn depends on the seed and the sentences, not on how the file is compressed.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from gapgram.errors import TextError, UsageError
from gapgram.preparation.output import check_outputs, text_outputs
from gapgram.text.files import blocks_of_files

_COMPRESSIONS = ("", "gz", "bz2", "xz", "zst")
_TEXT_SUFFIXES = (".gz", ".bz2", ".xz", ".zst", ".txt")


@dataclass(frozen=True)
class TextPart:
    """One part of a text: its name, the share asked for, its file, and how much is in it."""

    name: str
    share: float
    path: str
    sentences: int
    words: int


@dataclass(frozen=True)
class TextSplit:
    """All parts of a text, the largest training set first."""

    seed: int
    sentences: int
    parts: tuple[TextPart, ...]

    def signature(self) -> dict[str, object]:
        """The figures with what they depend on."""
        return asdict(self)


def sentences_of_file(text: str | Path, *, title: str, progress: bool = False) -> Iterator[bytes]:
    """The lines of a text that hold a word, without their newlines."""
    if str(text) == "-":
        raise UsageError("standard input cannot be read twice: name a file")
    for block in blocks_of_files(text, title=title, progress=progress):
        yield from (line for line in block.data.split(b"\n") if line and not line.isspace())


def split_text(
    text: str | Path,
    prefix: str | Path | None = None,
    *,
    train: Sequence[float] = (0.8,),
    valid: float = 0.0,
    seed: int = 1,
    compression: str = "",
    progress: bool = False,
) -> TextSplit:
    """Share the sentences of a text out to training sets, a validation set and a test set (the rest).

    Each training set holds the smaller ones. A part of share p gets exactly round(p · N) of N sentences,
    every choice of them being equally likely; their order stays that of the text. Files are called
    PREFIX.train.txt (PREFIX.train-0.08.txt where there are several), PREFIX.valid.txt, PREFIX.test.txt.
    """
    shares = sorted(set(train), reverse=True)
    _check_shares(shares, valid, compression)
    names = _names(shares, valid)
    paths = [f"{prefix or default_prefix(text)}.{name}.txt{compression and '.' + compression}" for name in names]
    check_outputs(paths, [text])
    total = sum(1 for _ in sentences_of_file(text, title="counting", progress=progress))
    if not total:
        raise TextError(f"{text}: the text is empty: expected one sentence a line")
    sizes = [round(share * total) for share in shares]
    drawn = _drawn_parts(sizes, round(valid * total), total, seed)
    counted = [[0, 0] for _ in names]
    with text_outputs(paths, [text]) as files:
        for line, parts in zip(sentences_of_file(text, title="splitting", progress=progress), drawn, strict=True):
            words = len(line.split())
            for k in parts:
                files[k].write(line + b"\n")
                counted[k][0] += 1
                counted[k][1] += words
    all_shares = [*shares, *([valid] if valid else []), round(1 - shares[0] - valid, 12)]
    rows = zip(names, all_shares, paths, counted, strict=True)
    return TextSplit(seed, total, tuple(TextPart(name, share, path, n[0], n[1]) for name, share, path, n in rows))


def _drawn_parts(sizes: list[int], valid: int, total: int, seed: int) -> Iterator[tuple[int, ...]]:
    """The parts of each sentence in turn, drawn without replacement from an urn that holds every kind so often.

    Kind k is "in training set k and all larger ones"; then follow validation and test. One number is drawn for a
    sentence.
    """
    rings = [a - b for a, b in zip(sizes, [*sizes[1:], 0], strict=True)]
    left = [*rings, *([valid] if valid else []), total - sizes[0] - valid]
    parts_of = [tuple(range(k + 1)) for k in range(len(sizes))] + [(k,) for k in range(len(sizes), len(left))]
    draw = random.Random(seed).random
    for n in range(total, 0, -1):
        at, kind = int(draw() * n), 0
        while at >= left[kind]:
            at -= left[kind]
            kind += 1
        left[kind] -= 1
        yield parts_of[kind]


def _check_shares(shares: list[float], valid: float, compression: str) -> None:
    if not shares:
        raise UsageError("no training share: expected numbers between 0 and 1, such as 0.8,0.08")
    for share in shares:
        if not 0 < share <= 1:
            raise UsageError(f"training share {share:g}: expected more than 0 and at most 1")
    if not 0 <= valid < 1:
        raise UsageError(f"validation share {valid:g}: expected at least 0 and less than 1")
    if shares[0] + valid > 1 + 1e-9:
        raise UsageError(f"training share {shares[0]:g} and validation share {valid:g} are more than the whole text")
    if compression not in _COMPRESSIONS:
        raise UsageError(f"compression {compression!r}: expected gz, bz2, xz or zst")


def _names(shares: list[float], valid: float) -> list[str]:
    train = ["train"] if len(shares) == 1 else [f"train-{share:.12f}".rstrip("0").rstrip(".") for share in shares]
    return [*train, *(["valid"] if valid else []), "test"]


def default_prefix(text: str | Path) -> str:
    """The path of a text without its endings.

    >>> default_prefix("data/en.txt.xz")
    'data/en'
    """
    path = Path(text)
    while path.suffix in _TEXT_SUFFIXES:
        path = path.with_suffix("")
    return str(path)


@dataclass(frozen=True)
class DrawnSequences:
    """What was drawn from how much."""

    seed: int
    length: int
    sequences: int
    runs: int


def sample_text(
    text: str | Path,
    output: str | Path,
    *,
    sequences: int,
    length: int,
    seed: int = 1,
    progress: bool = False,
) -> DrawnSequences:
    """Write random sequences of so many words, one a line, in the order of the text.

    A run is so many words one after the other inside a sentence; sequences are drawn from all runs of the
    text with equal probability and without replacement. The same words may come twice from two places.
    """
    if sequences < 1:
        raise UsageError(f"sequences {sequences}: expected 1 or more")
    if length < 1:
        raise UsageError(f"length {length}: expected 1 or more words")
    check_outputs([output], [text])
    runs = sum(
        max(0, len(line.split()) - length + 1) for line in sentences_of_file(text, title="counting", progress=progress)
    )
    if runs < sequences:
        raise TextError(f"{text}: has {runs:,} runs of {length} words, fewer than the {sequences:,} asked for")
    chosen = _choose(runs, sequences, seed)
    with text_outputs([output], [text]) as (file,):
        for sequence in _runs_at(chosen, sentences_of_file(text, title="sampling", progress=progress), length):
            file.write(sequence + b"\n")
    return DrawnSequences(seed, length, sequences, runs)


def _choose(total: int, wanted: int, seed: int) -> list[int]:
    """Different numbers below a total, sorted, every choice equally likely (Floyd's algorithm)."""
    draw = random.Random(seed).random
    chosen: set[int] = set()
    for limit in range(total - wanted, total):
        number = int(draw() * (limit + 1))
        chosen.add(limit if number in chosen else number)
    return sorted(chosen)


def _runs_at(chosen: list[int], sentences: Iterator[bytes], length: int) -> Iterator[bytes]:
    """The runs with these numbers, counted through the whole text."""
    wanted = iter(chosen)
    number, first = next(wanted, None), 0
    for line in sentences:
        words = line.split()
        after = first + max(0, len(words) - length + 1)
        while number is not None and number < after:
            yield b" ".join(words[number - first : number - first + length])
            number = next(wanted, None)
        if number is None:
            return
        first = after
