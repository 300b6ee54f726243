"""The models of the package `models` beside KenLM's of the same text, words and size: `shipped.py TEXTS [NAME…]`.

TEXTS is as for models/build.py. lmplz and build_binary are those of $KENLM_BIN, or on the PATH. KenLM's file is a trie
of 8 bits each for probabilities and backoff weights, with pointers compressed, of the vocabulary of our model, order 3
to 5; of the thresholds of `lmplz --prune` those whose file is the largest that is no larger than ours. Both are then
asked by gapgram.
"""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
import tempfile
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

import gapgram
from gapgram.text.files import blocks_of_files

BUILD = runpy.run_path(str(Path(__file__).parents[1] / "models" / "build.py"))

PRUNED = [
    "0 0 0", "0 0 1", "0 1 1", "0 1 2", "0 2 2", "0 2 3", "0 3 4", "0 4 6", "0 6 9", "0 9 14", "0 14 22", "0 24 40",
]  # fmt: skip
DEEPER = ["0 0 1 1", "0 0 1 2", "0 0 1 1 1", "0 0 1 2 2"]
QUIET: dict[str, Any] = {"stderr": subprocess.DEVNULL, "check": True}
TYPED = 200  # sentences
SUGGESTIONS = 3


def program(name: str) -> str:
    """A program of KenLM's."""
    found = shutil.which(name, path=os.environ.get("KENLM_BIN")) or shutil.which(name)
    if not found:
        raise SystemExit(f"{name} of KenLM is not there: put it on the PATH, or name its folder in KENLM_BIN")
    return found


def kenlm_of(text: Path, words: list[str], most: int, folder: Path) -> tuple[Path, str]:
    """KenLM's largest file that is small enough, and its thresholds."""
    plain, allowed = folder / "text", folder / "words"
    with plain.open("wb") as out:
        for block in blocks_of_files(text):
            out.write(block.data)
    allowed.write_text(" ".join(words), encoding="utf-8")
    low, high, small = 0, len(PRUNED) - 1, []
    while low <= high:
        middle = (low + high) // 2
        path = _built(plain, allowed, PRUNED[middle], folder)
        if path.stat().st_size <= most:
            small, high = [(path, PRUNED[middle])], middle - 1
        else:
            low = middle + 1
    deeper = [(_built(plain, allowed, pruned, folder), pruned) for pruned in DEEPER]
    small += [one for one in deeper if one[0].stat().st_size <= most]
    if not small:
        raise SystemExit("no thresholds are high enough")
    return max(small, key=lambda one: one[0].stat().st_size)


def _built(plain: Path, allowed: Path, pruned: str, folder: Path) -> Path:
    """KenLM's file with these thresholds, one for each length of n-grams."""
    arpa, path = folder / "arpa", folder / f"{pruned.replace(' ', '-')}.bin"
    least = pruned.split()
    lmplz = [program("lmplz"), "-o", str(len(least)), "-S", "2G", "-T", str(folder), "--prune", *least]
    with plain.open("rb") as source, arpa.open("wb") as out:
        subprocess.run([*lmplz, "--limit_vocab_file", str(allowed)], stdin=source, stdout=out, **QUIET)
    options = ["-q", "8", "-b", "8", "-a", "22", "-T", str(folder), "trie"]
    subprocess.run([program("build_binary"), *options, str(arpa), str(path)], stdout=subprocess.DEVNULL, **QUIET)
    return path


def keystrokes_saved(model: Any, sentences: list[list[str]]) -> float:
    """As a keyboard that shows three words after each letter; a word is taken as soon as it is shown."""
    known = sorted((word, i) for i, word in enumerate(model.vocabulary) if i > 2)
    names, ids = np.array([word for word, _ in known]), np.array([i for _, i in known])
    pressed = letters = 0
    for words in sentences:
        for at, word in enumerate(words):
            letters += len(word) + 1
            if word not in model:
                pressed += len(word) + 1
                continue
            chances = model.distribution(["<s>", *words[:at]][-(model.order - 1) :])[ids]
            for n in range(len(word) + 1):
                first, last = np.searchsorted(names, [word[:n], word[:n] + chr(0x10FFFF)])
                if np.count_nonzero(chances[first:last] > chances[np.searchsorted(names, word)]) < SUGGESTIONS:
                    pressed += min(n + 1, len(word) + 1)
                    break
            else:
                pressed += len(word) + 1
    return 1 - pressed / letters


def main() -> None:
    """Two rows for each model."""
    texts, names = Path(sys.argv[1]), sys.argv[2:]
    print("| model | of | size | perplexity | without unknown words | keystrokes saved |\n|---|---|--:|--:|--:|--:|")
    for recipe in BUILD["RECIPES"]:
        if names and recipe.name not in names:
            continue
        train, test = (BUILD["_text"](texts / f"{recipe.text}.{part}.txt") for part in ("train", "test"))
        lines = (line for block in blocks_of_files(test) for line in block.data.decode().split("\n") if line.strip())
        sentences = [line.split() for line in islice(lines, TYPED)]
        ours = gapgram.Model.load(BUILD["PACKAGE"] / f"{recipe.name}.model")
        with tempfile.TemporaryDirectory() as scratch:
            own = BUILD["PACKAGE"] / f"{recipe.name}.model"
            path, thresholds = kenlm_of(train, [*ours.vocabulary][3:], own.stat().st_size, Path(scratch))
            for told, file in ((f"gapgram, {ours.name}", own), (f"KenLM, --prune {thresholds}", path)):
                model, size = gapgram.load(file), file.stat().st_size
                found = model.perplexity(test)
                cells = (f"{size / 1e6:.1f} MB", f"{found.perplexity:.1f}", f"{found.perplexity_known:.1f}")
                saved = keystrokes_saved(model, sentences)
                print(f"| `{recipe.name}` | {told} | {' | '.join(cells)} | {saved:.1%} |", flush=True)


if __name__ == "__main__":
    main()
