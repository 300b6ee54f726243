"""The published figures, recomputed, beside what the formulas give on the same text and sequences.

The published program is in `published`. Beside it stand the normalised models by the protocol
`sequences`, and by how much each misses 1 when its figures are summed over the vocabulary.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from gapgram.arrays import Ids, Mask
from gapgram.errors import DiscountWarning, TextError, UsageError
from gapgram.reporting.tables import table
from gapgram.signature import __version__
from gapgram.text.corpus import blocks_of_sentences, read_corpus
from gapgram.training.train import train
from studies.config import CLASSES, MODELS
from studies.protocols import Sequences, Tally, observed, place_tallies
from studies.published import (
    LONGEST,
    PublishedProgram,
    perplexity_of_known,
    place_sums,
    published_perplexity,
)
from studies.texts import read_lines

ORDERS = (3, 4, 5)
PRINTED = {"MKN": (1212.1, 1120.5, 1009.6), "GLM": (1025.6, 875.5, 750.3)}
ENDINGS = (".gz", ".bz2", ".xz", ".zst")
CONTEXTS = 300
SEED = 1
Say = Callable[[str], None]
Row = dict[str, Any]


def find_data(folder: str | Path | None) -> tuple[Path, Path]:
    """The paper's training text and test sequences, plain or compressed: in a folder, or those of the repository."""
    shipped = Path(__file__).resolve().parents[1] / "data" / "paper"
    texts = shipped if folder is None else Path(folder)
    if not texts.is_dir():
        raise UsageError(f"{texts}: no such folder; name the one that holds train.txt and test.5.txt (--data)")
    return _text_in(texts, "train.txt"), _text_in(texts, "test.5.txt")


def _text_in(folder: Path, name: str) -> Path:
    """A text of this name, or of this name and an ending such as `.xz`."""
    paths = sorted(path for path in folder.glob(f"{name}*") if path.suffix in (".txt", *ENDINGS))
    if not paths:
        raise UsageError(f"{folder}: holds no {name}; train.txt and test.5.txt are needed (--data)")
    return paths[0]


def read_sequences(path: Path) -> Sequences:
    """The test sequences, one a line."""
    words = [line.split() for line in read_lines([path])]
    for number, sequence in enumerate(words, 1):
        if len(sequence) != LONGEST:
            raise TextError(f"{path}: sequence {number} has {len(sequence)} words; expected {LONGEST}")
    return Sequences(words, LONGEST)


def compare_published(
    data: str | Path | None = None, *, threads: int | None = None, say: Say = lambda _: None
) -> dict[str, Any]:
    """Perplexities and sums over the vocabulary, of the published program and of every model."""
    training, test = find_data(data)
    lines, sequences = read_lines([training]), read_sequences(test)
    drawn = random.Random(SEED).sample(range(len(sequences.words)), min(CONTEXTS, len(sequences.words)))
    contexts = [tuple(sequences.words[i]) for i in drawn]
    corpus = read_corpus(blocks_of_sentences(lines))
    texts = f"corpus:{corpus.facts.digest}|test:{sequences.digest}|gapgram:{__version__}"
    rows = published_rows(lines, sequences, contexts, texts, say)
    ids = sequences.ids(corpus.vocabulary)
    seen = observed(corpus.ids, ids)
    for name in (model for model in MODELS if model != CLASSES):  # the paper has models of words alone
        say(f"{name}: orders 1 to {LONGEST}")
        rows.append(_model_row(name, lines, ids, seen, contexts, f"test:{sequences.digest}", threads))
    return {
        "orders": list(ORDERS), "sequences": len(sequences.words), "contexts": len(contexts), "seed": SEED,
        "rows": rows,
    }  # fmt: skip


def published_rows(
    lines: Sequence[str], sequences: Sequences, contexts: Sequence[tuple[str, ...]], texts: str, say: Say
) -> list[Row]:
    """What the published program makes of MKN and of GLM."""
    say("the published program: counting")
    program = PublishedProgram.of(lines)
    rows = []
    for name in ("MKN", "GLM"):
        say(f"the published program: {name}")
        generalized = name == "GLM"
        sums = place_sums(program, map(tuple, sequences.words), generalized=generalized)
        totals = {
            n: [program.sum_over_vocabulary(context[: n - 1], generalized=generalized) for context in contexts]
            for n in ORDERS
        }
        rows.append({
            "name": f"published {name}", "printed": list(PRINTED[name]),
            "perplexity": [published_perplexity(sums, n) for n in ORDERS],
            "perplexity_known": [perplexity_of_known(sums, n) for n in ORDERS],
            "mean_sum": [_mean(totals[n]) for n in ORDERS],
            "signature": f"program:published|rule:{name}|distribution:no|log:2|protocol:sequences|{texts}",
        })  # fmt: skip
    return rows


def _model_row(
    name: str, lines: Sequence[str], ids: Ids, seen: Mask, contexts: Sequence[tuple[str, ...]], test: str,
    threads: int | None,
) -> Row:  # fmt: skip
    kind, _, weights = name.partition(" ")
    tallies: list[Tally] = []
    row: Row = {"name": name, "perplexity": [], "perplexity_known": [], "mean_sum": []}
    for order in range(1, LONGEST + 1):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DiscountWarning)
            model = train(
                sentences=lines, order=order, model=kind, weights=weights or None, classes="none", threads=threads
            )
        tallies.append(place_tallies(model, ids, seen, threads=threads)[order][0])
        if order in ORDERS:
            total = Tally.sum(tallies)
            row["perplexity"].append(total.perplexity)
            row["perplexity_known"].append(total.perplexity_known)
            row["mean_sum"].append(_mean([float(model.distribution(c[: order - 1]).sum()) for c in contexts]))
            row["signature"] = f"{model.signature}|protocol:sequences,orders=1-{order}|{test}"
    return row


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def published_table(comparison: dict[str, Any]) -> str:
    """The comparison as text."""
    orders = comparison["orders"]
    header = ["", *(f"n={n}" for n in orders), *(f"known n={n}" for n in orders), *(f"sum n={n}" for n in orders)]
    cells = [
        [
            row["name"], *(f"{v:.1f}" for v in row["perplexity"]), *(f"{v:.1f}" for v in row["perplexity_known"]),
            *(f"{v:.3f}" for v in row["mean_sum"]),
        ]
        for row in comparison["rows"]
    ]  # fmt: skip
    note = (
        f"\nPerplexity per word of {comparison['sequences']:,} sequences, all words and known words alone; mean over "
        f"{comparison['contexts']} contexts\nof the sum over the vocabulary. The published program's figures are no "
        "probability distribution: they do not\nsum to 1 and compare with nothing. Below them, the formulas, "
        "normalised, on the same text and sequences."
    )
    return f"{table(header, cells)}\n{note}"
