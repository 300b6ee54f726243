"""Text read by several threads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.corpora import sentences

from gapgram.errors import TextError
from gapgram.text.corpus import TextRules, read_corpus
from gapgram.text.files import Block

# Words that other blocks do not have, among those that all have.
BLOCKS = [" ".join(f"w{i * j % 97} all{j % 5}" for j in range(200)) + "\n\n" + f"only{i}\n" for i in range(9)]


def blocks(texts: list[str]) -> list[Block]:
    """Each text as a block of lines."""
    return [Block("text", 1 + 3 * i, text.encode()) for i, text in enumerate(texts)]


@pytest.mark.parametrize("rules", [TextRules(), TextRules(min_count=2, vocab_limit=50, empty_lines="count")])
def test_the_corpus_is_the_same_for_any_number_of_threads(rules: TextRules) -> None:
    one = read_corpus(blocks(BLOCKS), rules)
    for threads in (2, 4):
        several = read_corpus(blocks(BLOCKS), rules, threads=threads)
        assert np.array_equal(one.ids, several.ids)
        assert list(one.vocabulary) == list(several.vocabulary)
        assert np.array_equal(one.word_counts, several.word_counts)
        assert (one.facts, one.longest_sentence, one.empty_lines) == (
            several.facts, several.longest_sentence, several.empty_lines,
        )  # fmt: skip


@given(sentences(), st.integers(1, 4))
def test_so_it_is_of_any_text(text: list[list[str]], threads: int) -> None:
    texts = [" ".join(sentence) + "\n" for sentence in text]
    one, several = (read_corpus(blocks(texts), threads=n) for n in (1, threads))
    assert np.array_equal(one.ids, several.ids)
    assert list(one.vocabulary) == list(several.vocabulary)


def test_the_first_line_that_may_not_be_read_is_named() -> None:
    texts = [*BLOCKS[:4], "a\nb <s>\n", *BLOCKS[4:], "c </s>\n"]
    with pytest.raises(TextError, match="text:14: the word <s> is the model's own"):
        read_corpus(blocks(texts), threads=3)
