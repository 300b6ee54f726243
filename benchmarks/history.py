"""What a session gains by learning while it reads, and the weights that are shipped for it.

    python benchmarks/history.py MODEL TEXT                 static and learning perplexity, words a CPU second
    python benchmarks/history.py MODEL VALIDATION --fit     writes the weights that come with the program anew

TEXT has a sentence a line and an empty line between documents; the model must not have been trained on it. The weights
of models without classes are fitted with the same model, its classes unused.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import gapgram
from gapgram.arrays import Floats
from gapgram.queries import history
from gapgram.queries.history import ReadSentences
from gapgram.text.corpus import block_of_sentence
from gapgram.training.fit_history import fit


def documents(model: gapgram.Model, path: str) -> Iterator[tuple[ReadSentences, Floats]]:
    """Each document as a session reads it, and what the model gives its positions."""
    for document in Path(path).read_text("utf-8").split("\n\n"):
        session = model.session()
        scored = [
            session._of_model(block_of_sentence(line), gapgram.TextRules(special="unk"), True, True, True)
            for line in document.split("\n")
            if line.strip()
        ]
        ids = np.concatenate([part.text.ids for part in scored])
        begins = np.append(np.flatnonzero(ids == 1), ids.size)
        yield ReadSentences(ids, begins), np.concatenate([part.log10_probs for part in scored])


def main() -> None:
    """Measure, or fit."""
    model, path = gapgram.load(sys.argv[1]), sys.argv[2]
    assert isinstance(model, gapgram.Model)
    if sys.argv[3:] == ["--fit"]:
        class_of = model.counts.tables.class_of
        read = list(documents(model, path))
        for classes, name in ((True, "history_classes.npy"), (False, "history_words.npy")):
            weights = fit(read, class_of, classes=classes, any_words=True)
            np.save(Path(history.__file__).with_name(name), weights.logits.astype(np.float32))
        return
    static = model.perplexity(path)
    session = model.session()
    session.perplexity(sentences=["a b c"])  # compiles what is needed
    begin = time.process_time()
    learning = model.session().perplexity(path, documents=True)
    seconds = time.process_time() - begin
    for name, figure in (("static", static), ("learning", learning)):
        print(f"{name:9} {figure.perplexity_known:8.2f} known words {figure.perplexity:8.2f} all words")
    print(f"{learning.words / seconds:,.0f} words a CPU second\n{learning.signature}")


if __name__ == "__main__":
    main()
