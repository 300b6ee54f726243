"""Choosing text by perplexity: keeps the lines that look like the text a model was trained on.

    python examples/filter.py                      on Python's own language reference, mixed with noise
    python examples/filter.py MODEL TEXT LIMIT     lines of TEXT with a perplexity of at most LIMIT
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import gapgram
from gapgram.experiments.demo import reference_sentences
from gapgram.queries.language_model import LanguageModel


def kept(model: LanguageModel, text: str | Path, limit: float, least_words: int = 4) -> Iterator[str]:
    """The lines of at least some words whose perplexity is not above the limit, in order, a few megabytes at a time."""
    for line in gapgram.score_lines(model, text):
        if line.words >= least_words and line.perplexity <= limit:
            yield line.text


def noisy(lines: list[str], seed: int = 1) -> list[tuple[bool, str]]:
    """Lines as they are (True), each followed by one whose words are shuffled (False)."""
    sample = random.Random(seed).sample
    shuffled = [" ".join(sample(words, len(words))) for words in map(str.split, lines)]
    return [pair for line, noise in zip(lines, shuffled, strict=True) for pair in ((True, line), (False, noise))]


def demonstrate(folder: Path) -> None:
    """Train on nine tenths of the reference, mix the rest with noise, and filter it."""
    lines = [line for line in reference_sentences() if 8 <= len(line.split()) <= 40]
    model = gapgram.train(sentences=[line for i, line in enumerate(lines) if i % 10], order=4)
    web = noisy(lines[::10])
    (folder / "web.txt").write_text("\n".join([line for _, line in web] + [""]), encoding="utf-8")
    limit = 8 * model.perplexity(sentences=lines[::10]).perplexity
    taken = set(kept(model, folder / "web.txt", limit))
    good = [line in taken for clean, line in web if clean]
    bad = [line in taken for clean, line in web if not clean]
    print(f"limit {limit:.0f}: {sum(good)} of {len(good)} sentences kept, {sum(bad)} of {len(bad)} shuffled ones")


if __name__ == "__main__":
    if len(sys.argv) == 4:
        for chosen in kept(gapgram.load(sys.argv[1]), sys.argv[2], float(sys.argv[3])):
            print(chosen)
    else:
        with tempfile.TemporaryDirectory() as place:
            demonstrate(Path(place))
