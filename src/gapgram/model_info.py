"""What is in a model, as plain values."""

from __future__ import annotations

from typing import Any

from gapgram.model import Model


def model_info(model: Model) -> dict[str, Any]:
    """Order, estimator, sizes, and for each pattern its grams, counts of counts and discounts."""
    counts, text = model.counts, model.counts.text
    grams = {str(p): counts.size(p) for p in counts.patterns}
    report = model.parts.weights.report
    n_bytes = sum(array.nbytes for array in model.parts.arrays().values())
    if model.path is not None:
        n_bytes = model.path.stat().st_size
    return {
        "order": model.order,
        "model": model.name,
        "lattice": counts.lattice.name,
        "weights": model.parts.weights.name,
        "learned": {k: v for k, v in report.items() if k != "mean_weights"},
        "patterns": [pattern_info(model, i) for i in range(len(counts.patterns))],
        "grams": sum(grams.values()),
        "bytes": n_bytes,
        "bytes_per_gram": n_bytes / max(1, sum(grams.values())),
        "vocabulary": len(model.vocabulary),
        "words": text.words,
        "sentences": text.sentences,
        "pruned": counts.pruned,
        "signature": str(model.signature),
    }


def pattern_info(model: Model, i: int) -> dict[str, Any]:
    """The figures of one pattern."""
    counts, pattern = model.counts, model.counts.patterns[i]
    d = model.parts.derived["discounts"][i]
    return {
        "pattern": str(pattern),
        "words": pattern.describe(),
        "grams": counts.size(pattern),
        "counts_of_counts": list(counts.counts_of_counts(pattern)),
        "discounts": [float(d[1]), float(d[2]), float(d[3])],
        "mean_weight": model.parts.weights.report.get("mean_weights", {}).get(str(pattern)),
    }
