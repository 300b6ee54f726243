"""Laws on random corpora: models of every kind, whose distributions sum to one and leave no word without probability.

    python -m fuzz.corpora --corpora 500

Texts are small and odd, so that counts of counts are at their limits: few words or many, one line or many, lines that
repeat. The n-th text is the same for ever.
"""

from __future__ import annotations

import random
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np

import gapgram
from gapgram.errors import GapgramError
from gapgram.kernels.text.special_words import START_ID
from gapgram.models.arpa.writing import as_backoff, write_arpa
from gapgram.models.mixture import Mixture

CLOSE = 1e-9
CLOSE_IN_ARPA = 1e-4  # figures of a file have seven digits
_TRAINED: dict[str, dict[str, Any]] = {
    "mkn": {"model": "mkn"},
    "uniform": {"weights": "uniform", "classes": "none"},
    "counts": {"weights": "counts", "classes": "none"},
    "learned": {"classes": "none"},
    "classes": {"classes": 3},
    "clusterings": {"classes": [2, 3]},
    "open": {"model": "mkn", "open_vocabulary": True},
}


def made_text(seed: int) -> list[str]:
    """A text that is drawn: how many words, lines, words a line, and how often what was said is said again."""
    draw = random.Random(seed)
    n_words, again = draw.choice((1, 2, 3, 5, 12, 40)), draw.choice((0.0, 0.1, 0.5))
    longest, skew = draw.choice((1, 3, 8, 30)), draw.choice((0.5, 1.0, 3.0))
    lines: list[str] = []
    for _ in range(draw.choice((1, 2, 3, 6, 20, 60))):
        words = [f"w{int(n_words * draw.random() ** skew)}" for _ in range(draw.randint(1, longest))]
        lines.append(draw.choice(lines) if lines and draw.random() < again else " ".join(words))
    return lines


def models_of(text: list[str], order: int, folder: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Models of every kind, by their names; each is made when it is asked for."""
    made: dict[str, Any] = {}

    def trained(name: str) -> Any:
        if name not in made:
            made[name] = gapgram.train(sentences=text, order=order, threads=1, **_TRAINED[name])
        return made[name]

    def arpa() -> Any:
        write_arpa(as_backoff(trained("mkn")), folder / "arpa")
        return gapgram.load(folder / "arpa")

    def session() -> Any:
        reader = trained("classes").session()
        reader.read([*text[:3], "never seen w0", "seen never never"])
        return reader

    for name in _TRAINED:
        yield name, lambda name=name: trained(name)  # type: ignore[misc]
    yield "pruned", lambda: trained("learned").pruned(counts=(0, 1))
    yield "pruned by loss", lambda: trained("counts").pruned(keep=0.7)
    yield "compact", lambda: trained("classes").with_layout("compact")
    yield "quantised", lambda: trained("clusterings").quantised(2)
    yield "mixture", lambda: Mixture([trained("mkn"), trained("classes")], [0.3, 0.7])
    yield "session", session
    yield "arpa", arpa


def complaints(model: Any, contexts: list[list[str]], close: float) -> Iterator[str]:
    """What is wrong with a model: a distribution that is none, a word without probability, a score that differs."""
    for context in contexts:
        given = model.distribution(context)
        if abs(given.sum() - 1) > close:
            yield f"after {context}: the sum is {given.sum()!r}"
        without = np.flatnonzero(given <= 0).tolist()
        if without != [START_ID]:
            yield f"after {context}: no probability for {[model.vocabulary[i] for i in without[:5]]}"
        word = model.vocabulary[int(given.argmin()) if given.argmin() != START_ID else 0]
        score = model.log10_prob(word, context)
        if word != "<unk>" and abs(10**score - given[model.vocabulary.id(word)]) > close:
            yield f"after {context}: {word} has {10**score!r}, {given[model.vocabulary.id(word)]!r} in the distribution"


def tried(seed: int) -> tuple[int, list[str]]:
    """(how many distributions of all kinds of models of a text were looked at, what was wrong with them)."""
    text, draw = made_text(seed), random.Random(-seed)
    order = draw.randint(1, min(8, max(len(line.split()) for line in text) + 2))
    words = [word for line in text for word in line.split()] + ["never"]
    contexts = [[], ["<s>"], *([draw.choice(words) for _ in range(draw.randint(1, order + 1))] for _ in range(6))]
    contexts += [draw.choice(text).split()[:n] for n in (1, 2, 3)]
    looked, wrong = 0, []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, made in models_of(text, order, Path(folder)):
            try:
                model = made()
            except GapgramError:
                continue  # such as: more classes than words
            found = complaints(model, contexts, CLOSE_IN_ARPA if name == "arpa" else CLOSE)
            wrong += [f"text {seed}, order {order}, {name}: {what}" for what in found]
            looked += len(contexts)
    return looked, wrong


@click.command()
@click.option("--corpora", default=500, show_default=True)
@click.option("--seed", default=0, show_default=True, help="Number of the first text.")
def main(corpora: int, seed: int) -> None:
    """Ask models of every kind, made of random texts, whether the laws hold."""
    looked, failed = 0, 0
    for number in range(seed, seed + corpora):
        n, wrong = tried(number)
        looked, failed = looked + n, failed + len(wrong)
        for what in wrong:
            print(what, flush=True)
    print(f"{corpora} texts, {looked:,} distributions: {failed} of them not what they must be")
    raise SystemExit(int(failed > 0))


if __name__ == "__main__":
    main()
