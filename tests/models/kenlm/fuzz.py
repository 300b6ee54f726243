"""Damages binary files of KenLM and asks the models they then are: each must answer with numbers, or with an error.

    python tests/models/kenlm/fuzz.py MUTANTS SEED FILE…
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

from gapgram.text.corpus import blocks_of_sentences

SENTENCES = ["w1 w2 w3 w1", "w4 nothing w2 w2", "c a b a c", ""]
EXTREMES = [0, 0x7F, 0x80, 0xFF, 0xFFFF, 0x7FC00000, 0x7F800000, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, (1 << 63) - 1]
HEADER = 160  # bytes, about


def mutant(data: bytes, draw: random.Random) -> bytes:
    """The file with something wrong, more often near its beginning."""
    out = bytearray(data)
    for _ in range(draw.choice((1, 1, 1, 2, 8, 64))):
        at = draw.randrange(min(len(out), HEADER) if draw.random() < 0.4 else len(out))
        what = draw.random()
        if what < 0.4:
            out[at] ^= 1 << draw.randrange(8)
        elif what < 0.6:
            out[at] = draw.randrange(256)
        elif what < 0.85:
            size = draw.choice((4, 8))
            at -= at % 4
            value = draw.choice((draw.choice(EXTREMES), draw.getrandbits(64), draw.randrange(1 << 17)))
            out[at : at + size] = (value % (1 << 8 * size)).to_bytes(size, "little")[: len(out) - at]
        else:
            begin = draw.randrange(len(out))
            out[at : at + 40] = out[begin : begin + 40][: len(out) - at].ljust(min(40, len(out) - at), b"\xff")
    cut = draw.random()
    if cut < 0.1:
        del out[draw.randrange(len(out)) :]
    elif cut < 0.12:
        out += bytes(draw.randrange(100))
    return bytes(out)


def ask(path: Path) -> str:
    """Ask a model for everything; returns what came of it, raises where it is neither numbers nor an error."""
    from gapgram.errors import ModelFileError
    from gapgram.models.kenlm_binary.model import KenlmModel

    outcome = "answers"
    try:
        model = KenlmModel(path)
    except ModelFileError as error:
        _check_message(error)
        return "refused"
    for question in (_score, _step, _distribution, _list, _convert):
        try:
            question(model)
        except ModelFileError as error:
            _check_message(error)
            outcome = "error"
    return outcome


def _check_message(error: Exception) -> None:
    if "\n" in str(error) or not 20 < len(str(error)) < 400:
        raise AssertionError(str(error))


def _check(values: object, largest: float = 1e7) -> None:
    if not (np.abs(np.asarray(values, float)) <= largest).all():
        raise AssertionError(f"not all numbers: {values}")


def _score(model) -> None:  # type: ignore[no-untyped-def]
    _check(model.score_many(SENTENCES, threads=1))
    _check(model.score("w1 w2", bos=False, eos=False))
    (block,) = blocks_of_sentences(SENTENCES)
    lines = model.score_block(block)
    scores, lengths = model.located(lines.ids, lines.begins)
    _check(scores)
    if not (lengths.min() >= 1 and lengths.max() <= model.order):
        raise AssertionError(f"lengths {lengths}")


def _step(model) -> None:  # type: ignore[no-untyped-def]
    state = model.begin_sentence()
    for word in ("w1", "w2", "c", "</s>"):
        score, state = model.extend(state, word)
        _check(score)
        _check(model.extend_many([state] * 2, ["w3", "<unk>"])[0])


def _distribution(model) -> None:  # type: ignore[no-untyped-def]
    if len(model.vocabulary) < 1000:
        with np.errstate(over="ignore"):
            found = model.distribution("<s> w1 w2")
        if np.isnan(found).any() or len(found) != len(model.vocabulary):
            raise AssertionError("a distribution that is none")


def _list(model) -> None:  # type: ignore[no-untyped-def]
    words = list(model.vocabulary)
    if len(words) != len(model.vocabulary):
        raise AssertionError("words that are missing")


def _convert(model) -> None:  # type: ignore[no-untyped-def]
    from gapgram.models.kenlm_binary.conversion import as_backoff

    if sum(model.counts) < 10_000:
        backoff = as_backoff(model, threads=1)
        _check(backoff.score_many(SENTENCES, threads=1))
        _check(backoff.grams.log10_probs)


def campaign(path: Path, mutants: int, seed: int, folder: Path) -> Counter[str]:
    """How many mutants of a file did what; one that is wrong is left in the folder."""
    data, draw, found = path.read_bytes(), random.Random(f"{path.name} {seed}"), Counter[str]()
    place = folder / f"{path.stem}.mutant"
    for _ in range(mutants):
        place.write_bytes(mutant(data, draw))
        found[ask(place)] += 1
    place.unlink()
    return found


if __name__ == "__main__":
    folder = Path(tempfile.mkdtemp())
    for name in sys.argv[3:]:
        found = campaign(Path(name), int(sys.argv[1]), int(sys.argv[2]), folder)
        print(Path(name).stem, *(f"{what} {n}" for what, n in sorted(found.items())), flush=True)
    folder.rmdir()
