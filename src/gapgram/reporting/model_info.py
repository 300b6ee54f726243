"""What is in a model, as plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gapgram.counts.layouts import Parts, bits_of
from gapgram.estimation.parts import ModelParts
from gapgram.kernels.text.special_words import SPECIAL
from gapgram.models.model import Model
from gapgram.queries.language_model import LanguageModel

if TYPE_CHECKING:  # of a model of gapgram's own no other kind is needed
    from gapgram.models.backoff import BackoffModel
    from gapgram.models.kenlm_binary.model import KenlmModel
    from gapgram.models.mixture import Mixture


def foreign_info(model: BackoffModel | KenlmModel | Mixture) -> dict[str, Any]:
    """Of a model that gapgram did not train itself: its kind, order and sizes, and what a mixture mixes."""
    from gapgram.models.kenlm_binary.model import KenlmModel
    from gapgram.models.mixture import Mixture

    kind: dict[str, Any]
    if isinstance(model, Mixture):
        mixed = zip(model.names, model.weights.tolist(), strict=True)
        kind = {"model": "mixture", "models": [{"path": name, "weight": weight} for name, weight in mixed]}
    elif isinstance(model, KenlmModel):
        kind = {"model": "kenlm", "kind": model.kind, "grams": list(model.counts)}
    else:
        kind = {"model": "backoff", "grams": model.grams.sizes()}
    return {"order": model.order, **kind, "vocabulary": len(model.vocabulary), "signature": str(model.signature)}


def model_info(model: Model) -> dict[str, Any]:
    """Order, estimator, sizes, and for each pattern its grams, counts of counts and discounts."""
    counts, report = model.counts, model.parts.weights.report
    return {
        **train_summary(model.parts, 0),
        **tokeniser_info(model),
        **size_info(model),
        "learned": {k: v for k, v in report.items() if k != "mean_weights"},
        "patterns": [pattern_info(model, i) for i in range(len(counts.lattice.stored))],
        "pruned": counts.pruned,
        "spelling": spelling_info(model),
        "signature": str(model.signature),
    }


def tokeniser_info(model: LanguageModel) -> dict[str, str]:
    """What cuts raw text, where the model holds it."""
    return {"tokenizer": str(model.tokeniser)} if model.tokeniser is not None else {}


def spelling_info(model: Model) -> dict[str, Any] | None:
    """Of a model with an open vocabulary, what spells unknown words."""
    if model.spelling is None:
        return None
    counts = model.spelling.parts.counts
    n_characters = len(counts.vocabulary) - len(SPECIAL)
    return {
        "order": counts.lattice.order,
        "characters": n_characters,
        "grams": counts.n_grams,
        "words": counts.text.sentences,
        "most_characters": model.spelling.most_characters,
        "outside": 10.0**model.spelling.log10_outside,
    }


def train_summary(parts: ModelParts, n_bytes: int) -> dict[str, Any]:
    """What is told of a model that was just written into so many bytes: sizes that need no look at its grams."""
    counts, text = parts.counts, parts.counts.text
    return {
        "order": counts.lattice.order,
        "model": parts.name,
        "lattice": counts.lattice.name,
        "classes": sum(counts.n_classes),
        "clusterings": counts.n_classes,
        "weights": parts.weights.name,
        "words": text.words,
        "sentences": text.sentences,
        "vocabulary": len(counts.vocabulary),
        "patterns": len(counts.lattice.stored),
        "grams": counts.n_grams,
        "bytes": n_bytes,
    }


def size_info(model: Model) -> dict[str, Any]:
    """The layout, the bytes, and how many a gram takes, in all and by what they hold."""
    counts, (arrays, _) = model.counts, model.parts.contents()
    n_bytes = model.path.stat().st_size if model.path is not None else sum(a.nbytes for a in arrays.values())
    grams = max(1, sum(counts.size(p) for p in counts.lattice.stored))
    bits = [bits_of(counts.tables, p) for p in range(len(counts.lattice.stored))]
    by_part = {name: sum(getattr(of_pattern, name) for of_pattern in bits) / 8 / grams for name in Parts._fields}
    by_part["vocabulary"] = sum(array.nbytes for name, array in arrays.items() if name.startswith("word")) / grams
    return {
        "layout": model.layout,
        "quantised": counts.quantised or None,
        "bytes": n_bytes,
        "bytes_per_gram": n_bytes / grams,
        "bytes_per_gram_by_part": by_part,
    }


def pattern_info(model: Model, i: int) -> dict[str, Any]:
    """The figures of one pattern."""
    counts, pattern = model.counts, model.counts.lattice.stored[i]
    d = model.parts.arrays.discounts[i]
    return {
        "pattern": str(pattern),
        "words": pattern.describe(),
        "grams": counts.size(pattern),
        "bytes_per_gram": sum(bits_of(counts.tables, i)) / 8 / max(1, counts.size(pattern)),
        "counts_of_counts": list(counts.counts_of_counts(pattern)),
        "discounts": [float(d[1]), float(d[2]), float(d[3])],
        "mean_weight": model.parts.weights.report.get("mean_weights", {}).get(str(pattern)),
    }


def class_info(model: Model, top: int) -> list[dict[str, Any]]:
    """The classes of each clustering, the most frequent first: name, number of words, and its most frequent ones."""
    arrays, vocabulary = model.parts.arrays, model.vocabulary
    classes = []
    for clustering, own in enumerate(model.counts.clusterings, 1):
        for number in range(own.start + len(SPECIAL), own.stop):
            begin, end = arrays.member_base[number : number + 2]
            members = [vocabulary[int(word)] for word in arrays.members[begin : min(end, begin + top)]]
            name = model.counts.class_names[number]
            figures = {"class": name, "words": int(end - begin), "most_frequent": members}
            classes.append({"clustering": clustering, **figures})
    return classes
