"""Strings of a list as lines of bytes, read from memory by a kernel, which leaves Python's lock to other threads.

How strings lie in memory is Python's own affair. It is asked of some strings, and tried on them, once; where that is
not what is expected, and of few strings, Python itself makes the bytes.
"""

from __future__ import annotations

import sys
from functools import cache

from gapgram.arrays import Bytes
from gapgram.kernels.jit import AS_PYTHON
from gapgram.kernels.strings import StringLayout, lines_of_strings

_FEWEST = 64  # strings that are worth it
_SAMPLES = ("ascii", "b\u00fccher", "\u0436\u4e2d\ud800", "\U0001f600 x\u0436")
_SIZES = (1, 1, 2, 4)  # bytes of a character of each
_STATES = (0b11001, 0b01001, 0b01010, 0b01100)  # of each
_SHIFTS = (2, 8, 16)  # where these bits may be in the state: that changed from version to version


def lines_of(strings: list[str]) -> Bytes | None:
    """Strings as lines in UTF-8, halves of characters as they are; None where Python is to do it.

    Nobody else may change the list meanwhile.
    """
    if len(strings) < _FEWEST:
        return None
    layout = layout_of_strings()
    lines: Bytes | None = None if layout is None else lines_of_strings(id(strings), len(strings), layout)
    return lines if lines is not None and lines.size else None


class _OtherString(str):
    """Its characters lie elsewhere."""

    __slots__ = ()


@cache
def layout_of_strings(states: tuple[int, ...] = _STATES) -> StringLayout | None:
    """How strings lie in memory, if that is as expected: after the head length, hash and state, then the characters.

    The state has three bits for the size of a character, one for whether the characters lie there, and one for ASCII.
    states: what these bits are expected to be.
    """
    head = object.__basicsize__
    is_known = sys.implementation.name == "cpython" and sys.maxsize >> 32 and list.__basicsize__ == head + 24
    if AS_PYTHON or not is_known:
        return None
    from ctypes import c_int64, c_uint32

    def number_at(address: int) -> int:
        return c_int64.from_address(address).value

    def state_of(string: str, shift: int) -> int:
        return c_uint32.from_address(id(string) + head + 16).value >> shift & 0b11111

    samples = ["".join(list(sample)) for sample in _SAMPLES]
    shifts = [shift for shift in _SHIFTS if tuple(state_of(sample, shift) for sample in samples) == states]
    data, *wide = (sys.getsizeof(s) - size * (len(s) + 1) for s, size in zip(samples, _SIZES, strict=True))
    is_as_expected = (
        len(shifts) == 1
        and state_of(_OtherString(_SAMPLES[0]), shifts[0]) not in states
        and len(set(wide)) == 1
        and all(number_at(id(s) + head) == len(s) and number_at(id(s) + head - 8) == id(str) for s in samples)
        and [number_at(number_at(id(samples) + head + 8) + 8 * i) for i in range(len(samples))] == [*map(id, samples)]
    )
    if not is_as_expected:
        return None
    ascii, bytes, pairs, fours = (state << shifts[0] for state in states)
    layout = StringLayout(
        id(str), items=head + 8, type=head - 8, length=head, state=head + 16, mask=0b11111 << shifts[0],
        ascii=ascii, bytes=bytes, pairs=pairs, fours=fours, data=data, wide=wide[0],
    )  # fmt: skip
    tried: Bytes = lines_of_strings(id(samples), len(samples), layout)
    return layout if tried.tobytes() == "\n".join([*samples, ""]).encode("utf-8", "surrogatepass") else None
