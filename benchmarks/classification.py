"""Classes of texts told apart by mkn, glm and a linear classifier.

    python benchmarks/classification.py languages FOLDER [LINES]     wiki/ and law/ in en, de, fr, it, as .txt.xz
    python benchmarks/classification.py packages                     docstrings of Python's own packages, by package

The linear classifier is logistic regression on TF-IDF of character 1- to 5-grams, or of words and pairs of words
(scikit-learn). languages: by line, and by single words of four letters and more.
"""

from __future__ import annotations

import ast
import lzma
import random
import sys
import sysconfig
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import gapgram
from gapgram.reporting.tables import table

Pairs = list[tuple[str, str]]
WAYS = ("mkn", "glm", "linear")
LANGUAGES = ("en", "de", "fr", "it")
PACKAGES = (
    "asyncio",
    "email",
    "tkinter",
    "unittest",
    "xml",
    "ctypes",
    "multiprocessing",
    "importlib",
    "distutils",
    "http",
)


def language_lines(folder: Path, part: str, n: int) -> Pairs:
    """The first lines of the corpora of each language, labelled."""
    found = []
    for language in LANGUAGES:
        for corpus in ("wiki", "law"):
            with lzma.open(folder / corpus / f"{language}.{part}.txt.xz", "rt", encoding="utf-8") as file:
                found += [(language, line.rstrip("\n")) for line in islice(file, n)]
    return found


def docstring_lines() -> tuple[Pairs, Pairs]:
    """Docstrings of packages, by package, a line each: training and test texts, whole files in one of the two."""
    library, parts = Path(sysconfig.get_paths()["stdlib"]), (list[tuple[str, str]](), list[tuple[str, str]]())
    for package in PACKAGES:
        for number, file in enumerate(sorted((library / package).rglob("*.py"))):
            tree = ast.parse(file.read_text(encoding="utf-8", errors="replace"))
            nodes = (n for n in ast.walk(tree) if isinstance(n, ast.Module | ast.ClassDef | ast.FunctionDef))
            texts = [" ".join(text.split()) for node in nodes if (text := ast.get_docstring(node))]
            parts[number % 4 == 3].extend((package, text) for text in texts if len(text.split()) > 3)
    return parts


def linear(train: Pairs, unit: str) -> Callable[[list[str]], list[str]]:
    """A linear classifier."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    span = (1, 5) if unit == "characters" else (1, 2)
    features = TfidfVectorizer(
        analyzer="char_wb" if unit == "characters" else "word",
        ngram_range=span,
        max_features=300_000,
        sublinear_tf=True,
    )
    fitted = LogisticRegression(C=10, max_iter=200).fit(
        features.fit_transform([text for _, text in train]), [label for label, _ in train]
    )
    return lambda texts: list(fitted.predict(features.transform(texts)))


def models_of(kind: str, train: Pairs, unit: str) -> Callable[[list[str]], list[str]]:
    """A classifier of gapgram's."""
    found = gapgram.train_classifier(train, unit=unit, model=kind)
    return lambda texts: [one.label for one in found.classify(texts)]


def compared(train: Pairs, tests: dict[str, Pairs], units: tuple[str, ...], ways: tuple[str, ...] = WAYS) -> None:
    """Accuracy and speed of each way."""
    rows = []
    for unit in units:
        for way in ways:
            begun = time.perf_counter()
            found = linear(train, unit) if way == "linear" else models_of(way, train, unit)
            row: list[object] = [f"{way}, {unit}", f"{time.perf_counter() - begun:.0f} s"]
            for pairs in tests.values():
                begun = time.perf_counter()
                taken = found([text for _, text in pairs])
                seconds = time.perf_counter() - begun
                right = sum(label == one for (label, _), one in zip(pairs, taken, strict=True))
                row += [f"{100 * right / len(pairs):.2f} %", f"{len(pairs) / seconds:,.0f}"]
            rows.append(row)
            print(row, file=sys.stderr, flush=True)
    columns = [name for test in tests for name in (test, "a second")]
    print(table(["", "training", *columns], rows))
    print({name: len(pairs) for name, pairs in tests.items()}, len(train))


def languages(folder: Path, n: int) -> None:
    """Languages of lines and words."""
    lines = language_lines(folder, "test", 1000)
    words = [(label, word) for label, text in lines for word in text.split() if len(word) > 3 and word.isalpha()]
    random.Random(1).shuffle(words)
    compared(language_lines(folder, "train", n), {"lines": lines, "words": words[:20_000]}, ("characters",))


if __name__ == "__main__":
    if sys.argv[1] == "languages":
        languages(Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 2000)
    else:
        train_part, test_part = docstring_lines()
        compared(train_part, {"docstrings": test_part}, ("characters", "words"))
