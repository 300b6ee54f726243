"""Spelling errors planted in sentences, and corrected by mkn, glm and SymSpell.

    python benchmarks/correction.py tune  SPELLING VALIDATION MODEL [SENTENCES]
    python benchmarks/correction.py test  SPELLING TEST TRAINING MODEL… [--sentences N]

SPELLING is a folder with wikipedia.dat and aspell.dat: right words, each with its misspellings. Half of the right words
(by a checksum) are for training the table of errors and for tuning, the others for testing. A sentence gets a
misspelling of one of its words, if there is one; and, in a set of its own, a real-word confusion (there for their …).
Reported of the planted errors: corrected, changed to something else, missed; of all other words: wrongly changed.
SymSpell has the words of TRAINING and their counts, knows no context, and changes what it does not know.
"""

from __future__ import annotations

import random
import sys
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from copy import copy
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import gapgram
from gapgram import CorrectionOptions, Corrector
from gapgram.applications.correction.errors import read_pairs
from gapgram.reporting.tables import table

CONFUSIONS = [
    ("their", "there"), ("its", "it's"), ("then", "than"), ("affect", "effect"), ("to", "too"), ("of", "off"),
    ("quite", "quiet"), ("form", "from"), ("where", "were"), ("lose", "loose"), ("weather", "whether"), ("by", "buy"),
    ("principal", "principle"), ("past", "passed"), ("accept", "except"), ("peace", "piece"), ("plain", "plane"),
    ("threw", "through"), ("your", "you"), ("are", "our"), ("an", "and"), ("on", "one"), ("lead", "led"),
]  # fmt: skip


class Planted(NamedTuple):
    """A sentence with an error: its words, which of them is wrong, and what it was."""

    words: list[str]
    place: int
    right: str


def pairs_of(folder: Path, *, testing: bool) -> list[tuple[str, str]]:
    """Misspellings of one word and their right words, one half of the right words."""
    found = [pair for name in ("wikipedia", "aspell") for pair in read_pairs(folder / f"{name}.dat")]
    return [(wrong, right) for wrong, right in found if (zlib.crc32(right.lower().encode()) % 2 == 1) == testing]


def planted(lines: list[str], wrongs: dict[str, list[str]], n: int, known: Callable[[str], bool]) -> Iterator[Planted]:
    """Sentences with one word made wrong; misspellings that are words themselves are left out by `known`."""
    draw = random.Random(1)
    for line in lines:
        words = line.split()
        places = [i for i, word in enumerate(words) if any(not known(w) for w in wrongs.get(word, ()))]
        if places and n > 0:
            n -= 1
            place = draw.choice(places)
            wrong = draw.choice([w for w in wrongs[words[place]] if not known(w)])
            yield Planted([*words[:place], wrong, *words[place + 1 :]], place, words[place])


def misspelt(lines: list[str], pairs: list[tuple[str, str]], n: int) -> list[Planted]:
    """Sentences with a misspelling each."""
    wrongs: dict[str, list[str]] = {}
    for wrong, right in pairs:
        if right.islower() and wrong.islower():
            wrongs.setdefault(right, []).append(wrong)
    return list(planted(lines, wrongs, n, lambda word: " " in word))


def confused(lines: list[str], n: int) -> list[Planted]:
    """Sentences with a real word in the place of another."""
    wrongs: dict[str, list[str]] = {}
    for one, other in CONFUSIONS:
        wrongs.setdefault(one, []).append(other)
        wrongs.setdefault(other, []).append(one)
    return list(planted(lines, wrongs, n, lambda word: False))


def judged(correct: Callable[[str], str], tests: list[Planted]) -> Counter[str]:
    """How many planted errors were corrected, changed otherwise or missed, and how many other words were changed."""
    out: Counter[str] = Counter()
    for words, place, right in tests:
        found = correct(" ".join(words)).split(" ")
        out["words"] += len(words) - 1
        if len(found) != len(words):  # split or joined: aligned by what is the same at both ends
            out[
                "corrected"
                if " ".join([*words[:place], right, *words[place + 1 :]]) == " ".join(found)
                else "otherwise"
            ] += 1
            continue
        got = found[place]
        out["corrected" if got == right else "missed" if got == words[place] else "otherwise"] += 1
        out["wrongly"] += sum(a != b for i, (a, b) in enumerate(zip(words, found, strict=True)) if i != place)
    return out


def symspell(training: Path) -> Callable[[str], str]:
    """SymSpell with the words of a text that occur five times and more."""
    from symspellpy import SymSpell, Verbosity

    counts = Counter(word for line in training.open(encoding="utf-8") for word in line.split() if word.isalpha())
    speller: Any = SymSpell(max_dictionary_edit_distance=2, prefix_length=7)
    for word, n in counts.items():
        if n >= 5:
            speller.create_dictionary_entry(word, n)

    def correct(line: str) -> str:
        return " ".join(
            speller.lookup(w, Verbosity.TOP, max_edit_distance=2, include_unknown=True)[0].term if w.isalpha() else w
            for w in line.split()
        )

    return correct


def tune(folder: Path, text: Path, path: str, n: int) -> None:
    """The options that correct most and change least, on validation text and the training half of the list."""
    lines = text.read_text(encoding="utf-8").splitlines()
    pairs = pairs_of(folder, testing=False)
    learned, held = pairs[::2], pairs[1::2]
    tests, others = misspelt(lines, held, n), confused(lines[::-1], n)
    model = gapgram.load(path)
    made = Corrector(model, learned)
    grid = product((0.01, 0.03, 0.1), (0.7, 1.0), (-4.0,), (-1.0,))
    for rate, weight, unknown, capital in grid:
        options = CorrectionOptions(error_rate=rate, weight=weight, unknown=unknown, unknown_capital=capital)
        made = copy(made)  # with its index of words
        made.options, made._readings = options, lru_cache(1 << 14)(made._readings_of)
        results = [judged(lambda line, made=made: made.correct(line).after, one) for one in (tests, others)]  # type: ignore[misc]
        shown = [
            f"{100 * r['corrected'] / len(t):.1f} {100 * r['wrongly'] / r['words']:.2f}"
            for r, t in zip(results, (tests, others), strict=True)
        ]
        print(rate, weight, unknown, capital, *shown, flush=True)


def test(folder: Path, text: Path, training: Path, paths: list[str], n: int) -> None:
    """All ways, once."""
    lines = text.read_text(encoding="utf-8").splitlines()
    sets = {"misspelt": misspelt(lines, pairs_of(folder, testing=True), n), "confused": confused(lines[::-1], n)}
    ways: dict[str, Callable[[], Callable[[str], str]]] = {"SymSpell": lambda: symspell(training)}
    learned = pairs_of(folder, testing=False)
    for path in paths:
        name = Path(path).name
        ways[f"{name}, no table"] = lambda path=path: _corrector(path, [])  # type: ignore[misc]
        ways[f"{name}, table"] = lambda path=path: _corrector(path, learned)  # type: ignore[misc]
    rows = []
    for name, make in ways.items():
        correct = make()
        for title, tests in sets.items():
            begun = time.perf_counter()
            found = judged(correct, tests)
            seconds = time.perf_counter() - begun
            shares = [f"{100 * found[kind] / len(tests):.1f} %" for kind in ("corrected", "otherwise", "missed")]
            wrongly, speed = f"{100 * found['wrongly'] / found['words']:.2f} %", f"{found['words'] / seconds:,.0f}"
            rows.append([name, f"{title} ({len(tests)})", *shares, wrongly, speed])
            print(rows[-1], file=sys.stderr, flush=True)
    print(table(["", "errors", "corrected", "otherwise", "missed", "wrongly changed", "words/s"], rows, left=2))


def _corrector(path: str, pairs: list[tuple[str, str]]) -> Callable[[str], str]:
    found = Corrector(gapgram.load(path), pairs)
    return lambda line: found.correct(line).after


if __name__ == "__main__":
    what, folder_, *rest = sys.argv[1:]
    if what == "tune":
        tune(Path(folder_), Path(rest[0]), rest[1], int(rest[2]) if len(rest) > 2 else 200)
    else:
        cut = rest.index("--sentences") if "--sentences" in rest else len(rest)
        number = int(rest[cut + 1]) if cut < len(rest) else 1000
        test(Path(folder_), Path(rest[0]), Path(rest[1]), rest[2:cut], number)
