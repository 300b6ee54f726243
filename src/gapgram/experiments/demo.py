"""The main job on text that every CPython ships: the language reference in `pydoc_data.topics`."""

from __future__ import annotations

import re
from pydoc_data import topics


def reference_sentences() -> list[str]:
    """The sentences of Python's language reference, tokenised: words, numbers and marks apart."""
    sentences = []
    for topic in sorted(topics.topics):
        for paragraph in re.split(r"\n\s*\n", topics.topics[topic]):
            if not re.search(r"^\s*(>>>|\.\.\.|[-=*~^]{4,}|[a-z_]+\s*::=)", paragraph, re.MULTILINE):
                sentences += _sentences(" ".join(paragraph.split()))
    return sentences


def _sentences(paragraph: str) -> list[str]:
    plain = re.sub(r"[*`|]+", " ", paragraph)
    sentences = re.split(r"(?<=[.!?:])\s+(?=[A-Z“\"(])", plain)
    tokenised = (" ".join(re.findall(r"\w+(?:['’.-]\w+)*|[^\w\s]", sentence)) for sentence in sentences)
    return [sentence for sentence in tokenised if len(sentence.split()) > 2]
