"""A keyboard with three suggestions: types a sentence and shows what each letter would have offered.

    python examples/keyboard.py                     on Python's own language reference
    python examples/keyboard.py MODEL "a sentence"  with a model of yours
"""

from __future__ import annotations

import sys

import gapgram
from gapgram.experiments.demo import reference_sentences
from gapgram.queries.language_model import LanguageModel

SENTENCE = "The value of the expression is returned"


def type_word(model: LanguageModel, before: list[str], word: str) -> int:
    """Type a word letter by letter until it is suggested; returns the keystrokes, the pick or the space included."""
    for typed in range(len(word)):
        shown = [p.word for p in model.predict(["<s>", *before], k=3, prefix=word[:typed])]
        print(f"  {' '.join([*before, word[:typed] + '|']):45} {'   '.join(shown)}")
        if word in shown:
            return typed + 1
    return len(word) + 1


def main(model: LanguageModel, sentence: str) -> None:
    """Type a sentence and count the keystrokes."""
    words = sentence.split()
    keys = sum(type_word(model, words[:i], word) for i, word in enumerate(words))
    print(f"{keys} keystrokes for {len(sentence) + 1} letters and spaces")


if __name__ == "__main__":
    if len(sys.argv) == 3:
        main(gapgram.load(sys.argv[1]), sys.argv[2])
    else:
        held_in = [line for line in reference_sentences() if SENTENCE not in line]
        main(gapgram.train(sentences=held_in, order=4), SENTENCE)
