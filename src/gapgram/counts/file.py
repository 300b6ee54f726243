"""Counts from the sections of a file, checked before any kernel reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gapgram import sections
from gapgram.counts.about import MOST_CHARACTERS, MOST_ENTRIES, About
from gapgram.counts.assemble import numbers_of
from gapgram.counts.check_meaning import check_meaning, is_checked_whole
from gapgram.counts.counts import Counts
from gapgram.kernels.tables.arrays import Tables
from gapgram.kernels.tables.structure import FAULTS, fault_of_structure
from gapgram.lattice import Lattice
from gapgram.pattern import Pattern
from gapgram.system import array_file
from gapgram.system.array_reading import plain, reading
from gapgram.system.mapped_pages import PageBudget
from gapgram.system.section_rules import Arrays
from gapgram.text.corpus import TextFacts
from gapgram.text.splitting import MARKS
from gapgram.text.tokenisers.tokeniser import Tokeniser
from gapgram.text.vocabulary import Vocabulary

MOST_PATTERNS = 1 << 12  # a full lattice of words and one of classes have half as many


def read_counts(path: str | Path, *, verify: bool | None = None) -> Counts:
    """Map the counts of a file; see `Counts.open`."""
    with reading(path, array_file.COUNTS, sections.COUNTS, verify=verify) as file:
        return counts_of(file.metadata, file.arrays, verify=verify)


def counts_of(
    metadata: dict[str, Any], arrays: Arrays, pages: PageBudget | None = None, *, verify: bool | None = None
) -> Counts:
    """The counts that `Counts.contents` has given, if their arrays fit each other and mean what counts mean."""
    facts, about = _facts_of(metadata["text"]), _about_of(metadata.get("about", {}))
    names = tuple(plain(name, str) for name in plain(metadata.get("classes", []), list))
    quantised, pruned = plain(metadata.get("quantised", 0), int), plain(metadata["pruned"], str)
    tokeniser, splitting = _tokeniser_of(metadata, arrays), _splitting_of(metadata)
    vocabulary = Vocabulary.of_file(arrays, verify=verify)
    lattice_text = plain(metadata["lattice"], str)
    if lattice_text.count(" ") > MOST_PATTERNS:
        raise ValueError(f"a lattice of more than {MOST_PATTERNS:,} patterns")
    lattice = Lattice.from_text(lattice_text, plain(metadata["order"], int))
    tables = Tables(**{name: arrays[name] for name in Tables._fields if name in arrays})
    check_structure(lattice.stored, tables, len(vocabulary), len(names))
    counts = Counts(lattice, vocabulary, facts, tables, names, quantised, pages, pruned, about, tokeniser, splitting)
    if is_checked_whole(counts, verify):
        check_meaning(counts)
    return counts


def check_structure(patterns: tuple[Pattern, ...], tables: Tables, n_words: int, n_classes: int) -> None:
    """Refuse tables whose places are not those that patterns with so many grams and rows have.

    So no kernel is led outside by what says where things lie; what lies in large tables kernels do not believe.
    n_classes: how many classes of all clusterings have names; 0 without patterns of classes.
    """
    number, p, column, found, expected = fault_of_structure(numbers_of(patterns), tables, n_words, n_classes)
    if number:
        named = {"pattern": patterns[p], "column": column, "found": f"{found:,}", "expected": f"{expected:,}"}
        raise ValueError(FAULTS[number].format(**named))


def _tokeniser_of(metadata: dict[str, Any], arrays: Arrays) -> Tokeniser | None:
    """The tokeniser of a file, of which only the size is looked at here: its library reads it when text is cut."""
    if ("tokenizer" in metadata) != ("tokenizer" in arrays):
        raise ValueError("a tokeniser without its kind, or a kind without a tokeniser")
    if "tokenizer" not in metadata:
        return None
    return Tokeniser(plain(metadata["tokenizer"], str), arrays["tokenizer"].tobytes())


def _splitting_of(metadata: dict[str, Any]) -> str:
    """How marks were cut off words, in a way that this program knows."""
    splitting = plain(metadata.get("splitting", ""), str)
    if splitting not in ("", MARKS) or (splitting and "tokenizer" in metadata):
        raise ValueError(f"text split by {splitting!r}, expected {MARKS}, and no tokeniser")
    return splitting


def _about_of(metadata: Any) -> About:
    """What the maker of a file says of it."""
    about = [(plain(name, str), plain(text, str)) for name, text in plain(metadata, dict).items()]
    if len(about) > MOST_ENTRIES or any(max(len(name), len(text)) > MOST_CHARACTERS for name, text in about):
        raise ValueError(f"more about a model than {MOST_ENTRIES} texts of {MOST_CHARACTERS:,} characters")
    return tuple(sorted(about))


def _facts_of(metadata: Any) -> TextFacts:
    facts = plain(metadata, dict)
    sizes = plain(facts["sentences"], int), plain(facts["words"], int)
    return TextFacts(*sizes, plain(facts["digest"], str), plain(facts["rule"], str))
