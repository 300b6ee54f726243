"""A keyboard with three suggestions that learns its user's words: types a text and counts the keystrokes.

    python examples/keyboard.py                          a note of a few sentences, on Python's own language reference
    python examples/keyboard.py MODEL TEXT [SENTENCES]   with a model and a text of yours; an empty line ends a document

A word is picked as soon as it is suggested, with one keystroke, which types the space too; otherwise each of its
letters and the space is typed. The keyboard that learns reads every sentence once it was typed, and forgets after a
document.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import gapgram
from gapgram import LanguageModel, Session
from gapgram.experiments.demo import reference_sentences

NOTE = [
    "The value of Zorblax is returned by the function",
    "If Zorblax is not defined , a NameError exception is raised",
    "The name Zorblax is bound to the value of Zorblax",
]


def type_word(keyboard: LanguageModel | Session, before: list[str], word: str, *, show: bool) -> int:
    """Type a word letter by letter until it is suggested; returns the keystrokes, the pick or the space included."""
    for typed in range(len(word)):
        suggested = [p.word for p in keyboard.predict(["<s>", *before], k=3, prefix=word[:typed])]
        if show:
            print(f"  {' '.join([*before[-6:], word[:typed] + '|']):45} {'   '.join(suggested)}")
        if word in suggested:
            return typed + 1
    return len(word) + 1


def type_text(model: LanguageModel, lines: Iterable[str], *, learn: bool, show: bool = False) -> tuple[int, int]:
    """(keystrokes, letters and spaces) of a text."""
    keyboard, keys, letters = model.session(), 0, 0
    for line in lines:
        words = line.split()
        if not words:
            keyboard.forget()
        keys += sum(type_word(keyboard, words[:i], word, show=show) for i, word in enumerate(words))
        letters += sum(len(word) + 1 for word in words)
        if learn and words:
            keyboard.read([words])
    return keys, letters


def main(model: LanguageModel, lines: list[str], *, show: bool) -> None:
    """Type a text with a keyboard that does not learn, and with one that does."""
    for learn in (False, True):
        keys, letters = type_text(model, lines, learn=learn, show=show and learn)
        name = "that learns" if learn else "that does not learn"
        saved = 100 * (1 - keys / letters)
        print(f"a keyboard {name}: {keys} keystrokes for {letters} letters and spaces, {saved:.1f} % saved")


def sentences_of(path: str, limit: int) -> Iterator[str]:
    """The first sentences of a text, and the empty lines between them."""
    n = 0
    for line in Path(path).read_text("utf-8").split("\n"):
        n += bool(line.strip())
        if n > limit:
            return
        yield line


if __name__ == "__main__":
    if len(sys.argv) > 2:
        text = list(sentences_of(sys.argv[2], int(next(islice(sys.argv, 3, None), "100"))))
        main(gapgram.load(sys.argv[1]), text, show=False)
    else:
        main(gapgram.train(sentences=reference_sentences(), order=4), NOTE, show=True)
