"""What a session gains by learning while it reads, beside a plain baseline; and the weights that are shipped for it.

    python benchmarks/history.py measure MODEL VALIDATION TEST    perplexities, words a CPU second
    python benchmarks/history.py speed MODEL TEXT                 reading, scoring, predicting after 100,000 words
    python benchmarks/history.py fit MODEL TEXT [MODEL TEXT …]    writes the weights that come with the program anew

Texts have a sentence a line and an empty line between documents; the models must not have been trained on them.
`fit` reads each text document by document and, once more, as one stream; models with classes give the weights for
models that have some, all give those for models that have none.

The baseline is a fixed mixture of the model and of decayed counts of words by themselves, after the last word and after
the last two, with weights by buckets of how much of the longest context was read, fitted by expectation maximisation on
the validation text; the decays are the best of a few there.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import gapgram
from gapgram.arrays import Floats, Ids, Integers, Mask
from gapgram.estimation import history_weights
from gapgram.estimation.history_weights import VIEWS, VIEWS_OF_WORDS, HistoryWeights, View
from gapgram.kernels.sessions.history_gate import SUMS
from gapgram.kernels.text.special_words import START_ID
from gapgram.queries.history import History, ReadSentences
from gapgram.text.files import Block
from gapgram.training.fit_history import fit, read_documents

RULES = gapgram.TextRules(special="unk")
DECAYS = ((0.999, 0.9995, 0.9999), (0.998, 0.999, 0.9995), (0.995, 0.999, 0.999))
BUCKETS, STEPS = 7, 60


def documents(model: gapgram.LanguageModel, path: str, *, stream: bool) -> Iterator[tuple[ReadSentences, Floats]]:
    """Each document, or all as one, as a session reads it, and what the model gives its positions."""
    text = Path(path).read_text("utf-8")
    for document in [text.replace("\n\n", "\n")] if stream else text.split("\n\n"):
        lines = "".join(f"{line}\n" for line in document.split("\n") if line.strip())
        reader = gapgram.Session(model, HistoryWeights.zeros(()), classes_of(model))
        scored = reader._of_model(Block(path, 1, lines.encode()), RULES, True, True, True)
        yield scored.text, scored.scores


def classes_of(model: gapgram.LanguageModel) -> Ids:
    """The class of each word; 0 for models without classes."""
    classes = model._classes_of_words()
    return np.zeros(len(model.vocabulary), np.int32) if classes is None else classes


# The baseline.


def shares_and_buckets(
    model: gapgram.LanguageModel, path: str, decays: tuple[float, ...], *, stream: bool
) -> tuple[Floats, Integers, Mask]:
    """What each source gives each position, the bucket of its longest context, and whether its word is known."""
    views = tuple(View(offsets, decay) for offsets, decay in zip(((), (1,), (1, 2)), decays, strict=True))
    shares, buckets, known = [], [], []
    for text, log10_probs in documents(model, path, stream=stream):
        given, rows = History(HistoryWeights.zeros(views), classes_of(model)).sources(text, log10_probs)
        bucket = np.zeros(text.ids.size, np.int64)
        for v in (1, 2):
            level = np.clip((rows[:, 2 * v] - v * SUMS - 4) // 2, 0, 2)
            bucket = np.where(given[:, v + 1] >= 0, 1 + 3 * (v - 1) + level, bucket)
        kept = text.ids != START_ID
        shares.append(np.maximum(given, 0.0)[kept])
        buckets.append(bucket[kept])
        known.append(text.ids[kept] < len(model.vocabulary))
    return np.concatenate(shares), np.concatenate(buckets), np.concatenate(known)


def mixed_by_bucket(fitted: tuple[Floats, Integers, Mask], asked: tuple[Floats, Integers, Mask]) -> Floats:
    """The probability of every position asked for, by weights fitted on the known words of others."""
    out = np.empty(len(asked[0]))
    for bucket in range(BUCKETS):
        shares = fitted[0][fitted[2] & (fitted[1] == bucket)]
        weights = np.full(4, 0.25)
        for _ in range(STEPS if len(shares) else 0):
            parts = shares * weights
            weights = (parts / parts.sum(axis=1, keepdims=True)).mean(axis=0)
        here = asked[1] == bucket
        out[here] = asked[0][here] @ weights
    return out


def baseline(model: gapgram.LanguageModel, validation: str, test: str, *, stream: bool) -> tuple[float, float]:
    """(perplexity of the known words, of all words) of the baseline with the decays that suit the validation best."""
    found = []
    for decays in DECAYS:
        fitted = shares_and_buckets(model, validation, decays, stream=stream)
        own = np.log(mixed_by_bucket(fitted, fitted)[fitted[2]]).mean()
        asked = shares_and_buckets(model, test, decays, stream=stream)
        logs = np.log(mixed_by_bucket(fitted, asked))
        found.append((own, np.exp(-logs[asked[2]].mean()), np.exp(-logs.mean())))
    _, known, every = max(found)
    return float(known), float(every)


# What is measured.


def measure(model: gapgram.LanguageModel, validation: str, test: str) -> None:
    """Print perplexities: static, baseline and learning, by documents and as one stream."""
    static = model.perplexity(test)
    print(f"{'':24}{'known words':>12}{'all words':>12}")
    print(f"{'static':24}{static.perplexity_known:12.2f}{static.perplexity:12.2f}")
    for stream in (False, True):
        name = "one stream" if stream else "documents"
        known, every = baseline(model, validation, test, stream=stream)
        print(f"{'baseline, ' + name:24}{known:12.2f}{every:12.2f}")
        learning = model.session().perplexity(test, documents=not stream)
        print(f"{'session, ' + name:24}{learning.perplexity_known:12.2f}{learning.perplexity:12.2f}")
    print(learning.signature)


def speed(model: gapgram.LanguageModel, path: str) -> None:
    """Print words a CPU second and milliseconds a prediction."""
    lines = [line for line in Path(path).read_text("utf-8").split("\n") if line.strip()]
    model.session().perplexity(sentences=lines[:300])  # what is needed is compiled, and near
    for documents_apart in (True, False):
        begin = time.process_time()
        figure = model.session().perplexity(path, documents=documents_apart)
        seconds = time.process_time() - begin
        print(f"{'documents' if documents_apart else 'one stream'}: {figure.words / seconds:,.0f} words a CPU second")
    session, words = model.session(), " ".join(lines[-1000:]).split()
    while session.words_read < 98_000 and lines:
        session.read(lines[:100])
        lines = lines[100:]
    for prefix_length in (0, 1, 3):
        taken = []
        for i in range(0, min(10_000, len(words) - 5), 50):
            prefix = words[i + 4][:prefix_length]
            begin = time.perf_counter()
            session.predict(words[i : i + 4], 5, prefix=prefix)
            taken.append(1000 * (time.perf_counter() - begin))
        middle, most = np.median(taken), np.quantile(taken, 0.9)
        print(f"5 words, {prefix_length} letters given: median {middle:.2f} ms, 90 % within {most:.2f} ms")


def write_weights(pairs: list[tuple[str, str]]) -> None:
    """Fit the weights that are shipped, on texts each read by documents and as one stream."""
    for classes, views, name in ((True, VIEWS, "history_classes.npy"), (False, VIEWS_OF_WORDS, "history_words.npy")):
        parts = []
        for model_path, text in pairs:
            model = gapgram.load(model_path)
            if classes and model._classes_of_words() is None:
                continue
            for stream in (False, True):
                parts.append(read_documents(documents(model, text, stream=stream), views, classes_of(model)))
        weights = fit(parts, views, any_words=True)
        gate = np.stack([weights.logits, weights.squares]).astype(np.float32)
        np.save(Path(history_weights.__file__).with_name(name), gate)


def main() -> None:
    """Measure, or fit."""
    task, paths = sys.argv[1], sys.argv[2:]
    if task == "fit":
        write_weights(list(zip(paths[::2], paths[1::2], strict=True)))
    elif task == "measure":
        measure(gapgram.load(paths[0]), *paths[1:])
    else:
        speed(gapgram.load(paths[0]), paths[1])


if __name__ == "__main__":
    main()
