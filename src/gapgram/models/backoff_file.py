"""The file of a backoff model: its arrays, mapped when it is opened, so that no ARPA file is parsed again.

words, word_offsets, word_slots    the vocabulary
base, grams, children              the tree (`kernels.backoff`), of children those of contexts
log10_probs, log10_backoffs        the figures, as the model has them; backoffs are those of contexts
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gapgram import sections
from gapgram.arrays import Integers
from gapgram.counts.check_meaning import SMALL_GRAMS
from gapgram.models.backoff import BackoffModel
from gapgram.models.grams import Grams
from gapgram.system import array_file
from gapgram.system.array_file import FilePart
from gapgram.system.array_reading import plain, reading
from gapgram.system.section_rules import Arrays
from gapgram.text.vocabulary import Vocabulary

FIRST_BYTES = array_file.first_bytes(array_file.BACKOFF)


def write_backoff(model: BackoffModel, path: str | Path) -> None:
    """Write a backoff model to one file, aside and renamed."""
    arrays, metadata = backoff_contents(model)
    array_file.write(path, array_file.BACKOFF, metadata, arrays)


def backoff_contents(model: BackoffModel) -> tuple[Arrays, dict[str, str]]:
    """(arrays, metadata) of its file."""
    grams, words = model.grams, model.vocabulary
    contexts = int(grams.base[-2])
    n = int(grams.base[-1])
    arrays: Arrays = {
        "words": words.pool,
        "word_offsets": words.offsets,
        "word_slots": words.slots,
        "base": grams.base,
        "grams": grams.words.astype(np.int32),
        "children": grams.children[: contexts + 1].astype(np.int32 if n < 1 << 31 else np.int64),
        "log10_probs": grams.log10_probs,
        "log10_backoffs": grams.log10_backoffs[:contexts],
    }
    return arrays, {"signature": str(model.signature)}


def read_backoff(path: str | Path | FilePart, *, verify: bool | None = None) -> BackoffModel:
    """Map the file of a backoff model; large ones are checked in full only if `verify`."""
    with reading(path, array_file.BACKOFF, sections.BACKOFF, verify=verify) as file:
        arrays = file.arrays
        vocabulary = Vocabulary.of_file(arrays, verify=verify)
        figures = arrays["log10_probs"], arrays["log10_backoffs"]
        grams = Grams(arrays["base"], arrays["grams"], arrays["children"], *figures)
        _check(grams, len(vocabulary))
        if verify or (verify is None and grams.words.size <= SMALL_GRAMS):
            _check_tree(grams)
        own = None if isinstance(path, FilePart) else Path(path).absolute()
        return BackoffModel(vocabulary, grams, plain(file.metadata["signature"], str), own)


def _check_tree(grams: Grams) -> None:
    """Whether the tree is one that can be searched: lists one after the other, of rising words, for every context."""
    base, words, children = grams.base, grams.words, grams.children
    if not np.array_equal(words[: base[1]], np.arange(base[1])):
        raise ValueError("words in another order than that of their ids")
    if (np.diff(children) < 0).any() or not np.array_equal(children[base[:-1]], base[1:]):
        raise ValueError("lists of grams that overlap, or are not there")
    rising = np.diff(words) >= 0  # a file may have had a gram twice
    starts: Integers = np.unique(children).astype(np.int64)
    rising[starts[(starts > 0) & (starts < words.size)] - 1] = True  # from the last of a list to the first of another
    if not rising.all():
        raise ValueError("grams in no order")


def _check(grams: Grams, n_words: int) -> None:
    """Whether the arrays fit each other; what is in the large ones kernels do not trust."""
    sizes = np.diff(grams.base)
    if len(sizes) < 1 or sizes.min() < 0 or sizes[0] != n_words or grams.base[0] != 0:
        raise ValueError("grams that do not fit the words")
    contexts, n = int(grams.base[-2]), int(grams.base[-1])
    if (len(grams.words), len(grams.log10_probs)) != (n, n):
        raise ValueError("grams without a figure")
    if (len(grams.children), len(grams.log10_backoffs)) != (contexts + 1, contexts):
        raise ValueError("contexts without a figure")
