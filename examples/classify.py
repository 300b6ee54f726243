"""Which package of Python's library is a docstring from? One model a package, trained on other files of it.

    python examples/classify.py                       three packages of Python itself
    python examples/classify.py CLASSIFIER "a text"   with a classifier of yours
"""

from __future__ import annotations

import ast
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import gapgram

PACKAGES = ("asyncio", "email", "unittest")


def docstrings(package: str) -> Iterator[tuple[int, str]]:
    """The docstrings of a package, each with the number of its file."""
    folder = Path(sysconfig.get_paths()["stdlib"]) / package
    for number, file in enumerate(sorted(folder.rglob("*.py"))):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (text := ast.get_docstring(node)):
                yield number, " ".join(text.split())


def main() -> None:
    """Train on three of four files, and evaluate on the others."""
    found = [(package, number, text) for package in PACKAGES for number, text in docstrings(package)]
    classifier = gapgram.train_classifier([(p, text) for p, number, text in found if number % 4], model="mkn")
    print(gapgram.evaluate(classifier, [(p, text) for p, number, text in found if not number % 4]))


if __name__ == "__main__":
    if len(sys.argv) == 3:
        for one in gapgram.load_classifier(sys.argv[1]).classify([sys.argv[2]]):
            print(one.label, one.probability)
    else:
        main()
