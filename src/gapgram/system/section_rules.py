"""The sections of a file: an array each, where it lies, what may be in it, and how that is checked.

What is expected of sections is said by rules, in which sizes have names. A name stands for the same number wherever it
stands in the rules of one kind of file, so that the rules also say which sections belong together.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gapgram.arrays import Bytes

Arrays = dict[str, npt.NDArray[Any]]
Sizes = dict[str, int]

ALIGN = 64
CHECKED_SECTION_BYTES = 1 << 20  # of one that may be large, up to which its numbers are looked at on opening
_SIZE = re.compile(r"([a-z_]*)([+-]?\d+)?")


@dataclass(frozen=True)
class Section:
    """An array of the file and where it lies; `padded` bytes of it are under the checksum."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    padded: int
    checksum: int

    def array_in(self, memory: Bytes) -> npt.NDArray[Any]:
        """The array, over the bytes of the file; a plain one: kernels are compiled for those alone."""
        dtype = np.dtype(self.dtype)
        n_bytes = dtype.itemsize * int(np.prod(self.shape, dtype=np.int64))
        return np.asarray(memory[self.offset : self.offset + n_bytes]).view(dtype).reshape(self.shape)


@dataclass(frozen=True)
class Rule:
    """What is expected of one section.

    types: the types that its numbers may have, such as "i8" or "u1 u2 u4".
    shapes: the sizes that it may have, the first that fits: "words+1", "patterns 4", "0 | words".
    low, high: the least and the largest number; `high` may name a size, such as "patterns-1". NaN is never allowed.
    rises_to: for a list of bounds: it begins with 0, never falls, and ends with this size.
    optional: whether a file may do without it.
    large: whether it may be too large to look at its numbers whenever a file is opened; kernels believe none of them.
    """

    types: str
    shapes: str
    low: float | None = None
    high: float | str | None = None
    rises_to: str | None = None
    optional: bool = False
    large: bool = False


Rules = Mapping[str, Rule]


def checked_arrays(memory: Bytes, sections: Sequence[Section], rules: Rules, verify: bool | None) -> Arrays:
    """The arrays of a file by name; no section is missing, there twice, or unknown, and each is as its rule says.

    No array is made before all have the types and sizes of the rules. Numbers of large sections are looked at if
    `verify`; unless False, those of small ones always are.
    """
    sizes = _checked_shapes(sections, rules)
    arrays = {section.name: section.array_in(memory) for section in sections}
    for name, array in arrays.items():
        if not rules[name].large or is_checked(array, verify):
            _check_numbers(name, rules[name], array, sizes)
    return arrays


def is_checked(array: npt.NDArray[Any], verify: bool | None) -> bool:
    """Whether the numbers of a section that may be large are looked at when a file is opened."""
    return array.nbytes <= CHECKED_SECTION_BYTES if verify is None else verify


def _checked_shapes(sections: Sequence[Section], rules: Rules) -> Sizes:
    """The sizes that sections have by the rules for them."""
    names = [section.name for section in sections]
    unknown = set(names) - set(rules)
    if unknown:
        raise ValueError(f"an unknown section {min(unknown)!r}")
    if len(set(names)) != len(names):
        raise ValueError("a section that is there twice")
    missing = {name for name, rule in rules.items() if not rule.optional} - set(names)
    if missing:
        raise ValueError(f"no section {min(missing)}")
    by_name = {section.name: section for section in sections}
    sizes: Sizes = {}
    for name, rule in rules.items():
        section = by_name.get(name)
        if section is not None:
            _check_shape(name, rule, section.dtype, section.shape, sizes)
            n_bytes = np.dtype(section.dtype).itemsize
            for size in section.shape:
                n_bytes *= size
            if section.padded != n_bytes + -n_bytes % ALIGN:
                raise ValueError(f"section {name} of {section.padded:,} bytes, expected {n_bytes:,}")
    return sizes


def _check_shape(name: str, rule: Rule, dtype: str, shape: tuple[int, ...], sizes: Sizes) -> None:
    """Refuse a section of another type or size; `sizes` learns those that were not known."""
    if dtype not in {np.dtype(kind).str for kind in rule.types.split()}:
        raise ValueError(f"section {name} of type {dtype}, expected {rule.types}")
    if not any(_fits(shape, expected.split(), sizes) for expected in rule.shapes.split("|")):
        raise ValueError(f"section {name} of shape {list(shape)}, expected {rule.shapes} ({_known(rule, sizes)})")


def _fits(shape: tuple[int, ...], expected: list[str], sizes: Sizes) -> bool:
    """Whether a shape is the one expected; a size that has no number yet receives it."""
    if len(shape) != len(expected):
        return False
    learned: Sizes = {}
    for size, text in zip(shape, expected, strict=True):
        name, more = _parsed(text)
        known = {**sizes, **learned}
        if name and name not in known:
            learned[name] = size - more
        elif size != known.get(name, 0) + more:
            return False
    if min(learned.values(), default=0) < 0:
        return False
    sizes.update(learned)
    return True


def _parsed(text: str) -> tuple[str, int]:
    """(name, number) of a size such as "words+1", "words" or "15"."""
    match = _SIZE.fullmatch(text)
    assert match is not None, text
    return match[1], int(match[2] or 0)


def _known(rule: Rule, sizes: Sizes) -> str:
    names = sorted({_parsed(text)[0] for text in rule.shapes.replace("|", " ").split()} & set(sizes))
    return ", ".join(f"{name}: {sizes[name]:,}" for name in names) or "no size is known"


def _check_numbers(name: str, rule: Rule, array: npt.NDArray[Any], sizes: Sizes) -> None:
    """Refuse a section with a number that its rule does not allow."""
    if rule.rises_to is not None and array.size:
        last = _value(rule.rises_to, sizes)
        if array[0] != 0 or array[-1] != last or (array[1:] < array[:-1]).any():
            raise ValueError(f"section {name}: expected bounds that rise from 0 to {last:,.0f}")
    if array.size == 0 or (rule.low is None and rule.high is None):
        return
    low = -np.inf if rule.low is None else rule.low
    high = np.inf if rule.high is None else _value(rule.high, sizes)
    least, most = array.min(), array.max()
    if not (least >= low and most <= high):  # of NaN neither is true
        raise ValueError(f"section {name} holds numbers from {least} to {most}, expected {low:g} to {high:g}")


def _value(number: float | str, sizes: Sizes) -> float:
    if isinstance(number, str):
        name, more = _parsed(number)
        return sizes.get(name, 0) + more
    return number
