"""Build the models of this package, with their cards: `python models/build.py TEXTS`.

TEXTS is a folder of tokenised text, one sentence a line, as `gapgram fetch`, `prepare` and `split` give it:
`wiki/en.train.txt.xz`, `wiki/en.test.txt.xz`, and so on for each recipe below; plain or otherwise compressed files do.

    gapgram fetch wikipedia-en && gapgram prepare wikipedia enwiki-….xml.bz2 -o en.txt.zst --language en
    gapgram split en.txt.zst -o wiki/en

Of each text a generalized model and a modified Kneser-Ney model are trained, and pruned to the same size in the compact
layout. The one with the lower perplexity on the test text is kept; its card has the figures of both. So small a
generalized model is best with few patterns (`effort="small"`), pruned from the whole in one step.
Sentences of the test text that show what it knows lie beside it, for the page of `gapgram serve`.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import gapgram
from gapgram.reporting.model_card import model_card
from gapgram.reporting.prediction_quality import judge
from gapgram.reporting.showcase import best_places
from gapgram.text.files import blocks_of_files

HERE = Path(__file__).parent
PACKAGE = HERE / "gapgram_models"
JUDGED = 1000  # sentences of the test text whose keystrokes are counted
SEARCHED = 5000  # sentences of the test text in which examples are looked for
TOKENISATION = "marks are words of their own; raw text is cut by the model itself"
KINDS = {"mkn": "modified Kneser-Ney", "glm": "generalized model", "whole": "generalized model before it is pruned"}
BY_SA = "CC BY-SA 3.0"
EU = "legislation of the European Union (EUR-Lex)"


@dataclass(frozen=True)
class Recipe:
    """A model: its text in the folder of texts, how large it may be, and what is to be said of it."""

    name: str
    text: str
    language: str
    size: str
    words: int  # of the vocabulary
    title: str
    source: str
    licence: str


RECIPES = (
    Recipe("en", "wiki/en", "en", "12MB", 60_000, "English", "sentences of the English Wikipedia of 2014", BY_SA),
    Recipe("de", "wiki/de", "de", "10MB", 60_000, "German", "sentences of the German Wikipedia", BY_SA),
    Recipe(
        "law-en", "law/en", "en", "5.5MB", 30_000, "English of European law", EU,
        "CC BY 4.0",
    ),
    Recipe(
        "law-fr", "law/fr", "fr", "5.5MB", 40_000, "French of European law", EU,
        "CC BY 4.0",
    ),
    Recipe(
        "law-it", "law/it", "it", "5.5MB", 40_000, "Italian of Swiss law", "federal legislation of Switzerland",
        "public domain",
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Figures:
    """What a model is worth on the test text."""

    size: int
    perplexity: float
    without_unknown: float
    unknown_share: float
    keystrokes_saved: float

    @classmethod
    def of(cls, path: Path, test: Path, threads: int) -> Figures:
        """The figures of a model file."""
        model = gapgram.Model.load(path)
        found = model.perplexity(test, threads=threads)
        judged = judge(model, test, limit=JUDGED, threads=threads)
        unknown = found.unknown_words / found.words
        return cls(path.stat().st_size, found.perplexity, found.perplexity_known, unknown, judged.keystrokes_saved)

    def row(self, name: str) -> str:
        """A row of the card's table."""
        cells = (
            f"{self.size / 1e6:.1f} MB", f"{self.perplexity:.1f}", f"{self.without_unknown:.1f}",
            f"{100 * self.keystrokes_saved:.1f} %",
        )  # fmt: skip
        return f"| {name} | {' | '.join(cells)} |"


def build(recipe: Recipe, texts: Path, threads: int) -> None:
    """Train, prune, measure and write one model and its card."""
    train, test = (_text(texts / f"{recipe.text}.{part}.txt") for part in ("train", "test"))
    path = PACKAGE / f"{recipe.name}.model"
    rules = gapgram.TextRules(vocab_limit=recipe.words)
    about = {
        "name": f"{recipe.title} ({recipe.name})", "language": recipe.language, "licence": recipe.licence,
        "source": recipe.source, "tokenisation": TOKENISATION,
    }  # fmt: skip
    options = {"rules": rules, "split": "done", "layout": "compact", "threads": threads, "about": about}
    with tempfile.TemporaryDirectory(dir=HERE) as scratch:
        folder = Path(scratch)
        whole = gapgram.train(train, output=folder / "whole", effort="small", **options)
        print(f"{recipe.name}: trained", flush=True)
        whole.pruned(size=recipe.size, output=folder / "glm")
        gapgram.train(train, output=folder / "mkn", model="mkn", size=recipe.size, **options)
        print(f"{recipe.name}: pruned", flush=True)
        figures = {name: Figures.of(folder / name, test, threads) for name in KINDS}
        best = min(("glm", "mkn"), key=lambda name: figures[name].perplexity)
        shutil.copyfile(folder / best, path)
    lines = (line for block in blocks_of_files(test) for line in block.data.decode().split("\n"))
    places = best_places(gapgram.load(path), list(islice(lines, SEARCHED)))
    (PACKAGE / f"{recipe.name}.examples.txt").write_text("".join(f"{p.sentence}\n" for p in places), encoding="utf-8")
    card = _card(path, recipe, figures)
    (HERE / f"{recipe.name}.md").write_text(card, encoding="utf-8")
    print(card, flush=True)


def _card(path: Path, recipe: Recipe, figures: dict[str, Figures]) -> str:
    """What `gapgram card` says, and the figures."""
    model = gapgram.Model.load(path)
    own = figures[model.name]
    shown = {**KINDS, model.name: f"**{KINDS[model.name]}**, this one"}
    rows = [one.row(shown[name]) for name, one in figures.items()]
    said = model_card(model).replace(f"gapgram.load(\"{path.name}\")", f"gapgram.load(\"{recipe.name}\")")
    said = said.replace(f"perplexity {path.name} TEXT", f"perplexity {recipe.name} TEXT")
    return "\n".join([
        said,
        "## What it is worth\n",
        f"On test text of the same source, {100 * own.unknown_share:.1f} % of whose words are unknown. Keystrokes are "
        f"those of a keyboard that shows three words, on the first {JUDGED:,} sentences.\n",
        "| | size | perplexity | without unknown words | keystrokes saved |",
        "|---|--:|--:|--:|--:|",
        *rows,
        f"\nThe command: `python models/build.py TEXTS {recipe.name}`\n",
    ])  # fmt: skip


def _text(plain: Path) -> Path:
    """A text, or its compressed file."""
    found = [path for ending in ("", ".xz", ".zst", ".gz", ".bz2") if (path := Path(f"{plain}{ending}")).is_file()]
    if not found:
        raise SystemExit(f"{plain}: no such text, compressed or not: see the beginning of models/build.py")
    return found[0]


def main() -> None:
    """Build the models that are named, or all."""
    parser = argparse.ArgumentParser(description="Build the models of this package, with their cards.")
    parser.add_argument("texts", type=Path, metavar="TEXTS", help="folder of tokenised texts")
    parser.add_argument("names", nargs="*", metavar="NAME", help="models to build; all by default")
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    for recipe in RECIPES:
        if not given.names or recipe.name in given.names:
            build(recipe, given.texts, given.threads)


if __name__ == "__main__":
    main()
