"""Counts from the sections of a file, checked before any kernel reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gapgram import sections
from gapgram.arrays import Integers
from gapgram.counts.about import about_of_file
from gapgram.counts.check_meaning import are_small, check_meaning
from gapgram.counts.check_structure import check_structure
from gapgram.counts.counts import Counts
from gapgram.kernels.special_words import SPECIAL
from gapgram.kernels.tables import Tables
from gapgram.lattice import Lattice
from gapgram.system import array_file
from gapgram.system.array_file import Arrays
from gapgram.system.array_reading import is_checked, reading
from gapgram.system.mapped_pages import PageBudget
from gapgram.system.plain_values import count_of, entries_of, list_of, text_of
from gapgram.text.corpus import TextFacts
from gapgram.text.tokenisers.tokeniser import Tokeniser
from gapgram.text.vocabulary import Vocabulary, slots_for

MOST_PATTERNS = 1 << 12  # a full lattice of words and one of classes have half as many


def read_counts(path: str | Path, *, verify: bool | None = None) -> Counts:
    """Map the counts of a file; see `Counts.open`."""
    with reading(path, array_file.COUNTS, sections.COUNTS, verify=verify) as file:
        counts = counts_of(file.metadata, file.arrays, verify=verify)
        if verify or (verify is None and are_small(counts)):
            check_meaning(counts)
        return counts


def counts_of(
    metadata: dict[str, Any], arrays: Arrays, pages: PageBudget | None = None, *, verify: bool | None = None
) -> Counts:
    """The counts that `Counts.contents` has given, if their arrays fit each other."""
    facts, vocabulary = _facts_of(metadata["text"]), vocabulary_of(arrays, verify=verify)
    lattice_text = text_of(metadata["lattice"])
    if lattice_text.count(" ") > MOST_PATTERNS:
        raise ValueError(f"a lattice of more than {MOST_PATTERNS:,} patterns")
    lattice = Lattice.from_text(lattice_text, count_of(metadata["order"]))
    tables = Tables(**{name: arrays[name] for name in Tables._fields if name in arrays})
    names = tuple(map(text_of, list_of(metadata.get("classes", []))))
    check_structure(lattice.stored, tables, len(vocabulary), len(names))
    quantised, pruned = count_of(metadata.get("quantised", 0)), text_of(metadata["pruned"])
    about = about_of_file(metadata.get("about", {}))
    tokeniser = _tokeniser_of(metadata, arrays)
    return Counts(lattice, vocabulary, facts, tables, names, quantised, pages, pruned, about, tokeniser)


def _tokeniser_of(metadata: dict[str, Any], arrays: Arrays) -> Tokeniser | None:
    """The tokeniser of a file, of which only the size is looked at here: its library reads it when text is cut."""
    if ("tokenizer" in metadata) != ("tokenizer" in arrays):
        raise ValueError("a tokeniser without its kind, or a kind without a tokeniser")
    if "tokenizer" not in metadata:
        return None
    return Tokeniser(text_of(metadata["tokenizer"]), arrays["tokenizer"].tobytes())


def _facts_of(metadata: Any) -> TextFacts:
    facts = entries_of(metadata)
    return TextFacts(
        count_of(facts["sentences"]), count_of(facts["words"]), text_of(facts["digest"]), text_of(facts["rule"])
    )


def vocabulary_of(arrays: Arrays, *, verify: bool | None = None) -> Vocabulary:
    """The vocabulary of a file, which begins with the special words."""
    pool, slots = arrays["words"], arrays.get("word_slots")
    if slots is None:
        words = Vocabulary.unpacked(pool, arrays["word_lengths"])
    else:
        words = Vocabulary(pool, arrays["word_offsets"], slots)
        if slots.size != slots_for(len(words)):
            raise ValueError(f"{slots.size:,} slots for {len(words):,} words, expected {slots_for(len(words)):,}")
        if is_checked(slots, verify):
            _check_slots(slots, len(words))
    if len(words) < len(SPECIAL) or tuple(words[i] for i in range(len(SPECIAL))) != SPECIAL:
        raise ValueError(f"a vocabulary that does not begin with {' '.join(SPECIAL)}")
    return words


def _check_slots(slots: Integers, n_words: int) -> None:
    """Refuse slots of words that are not there, or that leave no slot empty, at which a search would end."""
    ids = slots[slots >= 0] & 0xFFFFFFFF
    if ids.size != n_words or int(ids.max(initial=0)) >= n_words:
        raise ValueError("a slot of a word that is not there")
