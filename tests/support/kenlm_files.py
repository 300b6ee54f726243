"""The binary files of KenLM that come with the tests, and what KenLM says of them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from gapgram.models.kenlm_binary.model import KenlmModel

FOLDER = Path(__file__).parents[1] / "models" / "kenlm"
NAMES = sorted(path.stem for path in FOLDER.glob("*.bin"))
HAVE_WORDS = [name for name in NAMES if "no-words" not in name]


class Expected(NamedTuple):
    word: str
    log10_prob: float
    length: int
    unknown: bool
    state_words: int


def opened(name: str) -> KenlmModel:
    return KenlmModel(FOLDER / f"{name}.bin")


def expected(name: str) -> list[list[Expected]]:
    """What KenLM says of each sentence."""
    sentences: dict[str, list[Expected]] = {}
    for line in (FOLDER / f"{name}.tsv").read_text().splitlines():
        number, word, score, length, unknown, kept = line.split("\t")
        row = Expected(word, float(score), int(length), unknown == "1", int(kept))
        sentences.setdefault(number, []).append(row)
    return list(sentences.values())


def words_of(sentence: list[Expected]) -> list[str]:
    return [row.word for row in sentence[:-1]]


def changed(tmp_path: Path, name: str, at: int, data: bytes) -> Path:
    """A copy of a file with other bytes somewhere."""
    path, whole = tmp_path / f"{name}.bin", bytearray((FOLDER / f"{name}.bin").read_bytes())
    whole[at : at + len(data)] = data
    path.write_bytes(whole)
    return path
