"""Lists of translations of a real system ranked by a model of language: apertium's words where it has a choice.

    python -m benchmarks.translation TEXT NAME=MODEL … [--sentences 500]

TEXT: held-out English sentences. apertium translates them into Spanish, and that into English; where its dictionary
has several English words, each choice is a hypothesis, with one score: how many words differ from those that its own
rules choose. `gapgram rescore` tunes on two fifths. Figures are of the rest, words in small letters without marks,
beside apertium's own choice; bounds of 95 % from sacrebleu. Needs apertium-eng-spa, apertium-lex-tools and sacrebleu.
"""

from __future__ import annotations

import argparse
import itertools
import re
import subprocess
import tempfile
from importlib import import_module
from pathlib import Path

from benchmarks.ctc import LETTERS

from gapgram.reporting.tables import table

MODE = Path("/usr/share/apertium/modes/spa-eng.mode")
UNIT = re.compile(r"\^[^$]*\$")
MOST = 100  # hypotheses of a sentence


def ran(command: str, lines: list[str], between: str = "\n") -> list[str]:
    """What a command makes of lines; between: how what it reads divides them."""
    given = "".join(line + between for line in lines)
    done = subprocess.run(["bash", "-c", command], input=given, capture_output=True, text=True, check=True)
    out = re.sub(r"[\[\]]", "", done.stdout).split("\n")
    if len(out) - 1 != len(lines):
        raise SystemExit(f"{command[:60]}: {len(out) - 1} lines of {len(lines)}")
    return out[:-1]


def plain(text: str) -> str:
    """Words in small letters, without marks."""
    words = ("".join(c for c in word if c in LETTERS).strip("-.'") for word in text.lower().split())
    return " ".join(word for word in words if word)


def variants(units: list[str], chosen: list[str]) -> list[tuple[int, list[str]]]:
    """Choices of words, those with the fewest changes first: how many, and the units."""
    choices = []
    for i, (unit, own) in enumerate(zip(units, chosen, strict=True)):
        source, *targets = unit[1:-1].split("/")
        choices += [(i, f"^{source}/{target}$") for target in targets if f"^{source}/{target}$" != own]
    out: list[tuple[int, list[str]]] = [(0, chosen)]
    for n in (1, 2, 3):
        for changes in itertools.islice(itertools.combinations(choices, n), MOST):
            if len({i for i, _ in changes}) == n and len(out) < MOST:
                made = chosen[:]
                for i, unit in changes:
                    made[i] = unit
                out.append((n, made))
    return out


def lists(sentences: list[str]) -> list[list[tuple[int, str]]]:
    """Of each sentence the hypotheses: how many changes, and the text."""
    stages = MODE.read_text(encoding="utf-8").strip().replace("$1", "-n").replace("$2", "").split(" | ")
    at = next(i for i, stage in enumerate(stages) if stage.startswith("lrx-proc"))
    spanish = ran("apertium -u eng-spa", sentences)
    units = ran("apertium-destxt -n | " + " | ".join(stages[:at]), spanish)
    chosen = ran(stages[at], units)
    chosen = [UNIT.sub(lambda unit: "/".join(unit[0][:-1].split("/")[:2]) + "$", one) for one in chosen]
    numbered, given = [], []
    for i, (one, own) in enumerate(zip(units, chosen, strict=True)):
        between = UNIT.split(one)
        for changes, made in variants(UNIT.findall(one), UNIT.findall(own)):
            numbered.append((i, changes))
            given.append("".join(a + b for a, b in itertools.zip_longest(between, made, fillvalue="")))
    texts = ran(" | ".join(stages[at + 1 :]) + " | apertium-retxt", given, "[\n]")
    out: list[dict[str, int]] = [{} for _ in sentences]
    for (i, changes), text in zip(numbered, texts, strict=True):
        out[i].setdefault(plain(text), changes)
    return [[(changes, text) for text, changes in own.items()] for own in out]


def main() -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("text")
    arguments.add_argument("models", nargs="+")
    arguments.add_argument("--sentences", type=int, default=500)
    given = arguments.parse_args()
    lines = [re.sub(r"[\[\]{}^$/<>@\\*~]", "", line) for line in Path(given.text).read_text("utf-8").split("\n")]
    said = [re.sub(r" ([,.;:!?])", r"\1", line) for line in lines if 6 <= len(line.split()) <= 25][: given.sentences]
    found, right, k = lists(said), [plain(line) for line in said], len(said) * 2 // 5
    print(f"{len(said) - k} sentences, {sum(map(len, found)) / len(found):.1f} hypotheses each")
    results = {"apertium": [own[0][1] for own in found[k:]]}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part, (begin, end) in {"dev": (0, k), "test": (k, len(said))}.items():
            rows = [f"{i}\tchanges={-n}\t{text}\n" for i in range(begin, end) for n, text in found[i]]
            (folder / part).write_text("".join(rows), encoding="utf-8")
            rows = [f"{i}\t{right[i]}\n" for i in range(begin, end)]
            (folder / f"{part}.right").write_text("".join(rows), encoding="utf-8")
        for name, path in (one.split("=", 1) for one in given.models):
            tuning = ["--tune", str(folder / "dev"), "--tune-references", str(folder / "dev.right")]
            command = ["gapgram", "rescore", path, str(folder / "test"), *tuning, "-o", str(folder / "best"), "-q"]
            subprocess.run(command, check=True)
            best = dict(line.split("\t") for line in (folder / "best").read_text("utf-8").splitlines())
            results[name] = [best[str(i)] for i in range(k, len(said))]
    metrics = import_module("sacrebleu.metrics")
    cells = []
    for name, texts in results.items():
        both = metrics.CHRF(), metrics.BLEU()
        scores = [metric.corpus_score(texts, [right[k:]], n_bootstrap=1000) for metric in both]
        cells.append([name, *(f"{score.score:.1f} ± {score._ci:.1f}" for score in scores)])
    print(table(["", "chrF", "BLEU"], cells))


if __name__ == "__main__":
    main()
