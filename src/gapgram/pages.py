"""Pages of mapped files, which count as memory in use once they were read and until they are given back."""

from __future__ import annotations

from typing import Protocol

from gapgram.memory import resident

AROUND = 1 << 16  # bytes that the system maps around each place that is read
_LEAST = 32 << 20  # bytes that may be read between one check and the next


class Mapping(Protocol):
    """Mapped memory whose pages can be given back."""

    def give_back(self) -> None:
        """Let go of all pages; they are read again when needed."""
        ...


class Pages:
    """The pages of mappings, given back whenever the process holds more than it may."""

    def __init__(self, most_resident: int, *mappings: Mapping) -> None:
        self._most, self._mappings = most_resident, list(mappings)

    def add(self, mapping: Mapping) -> None:
        """Give back the pages of one more mapping."""
        self._mappings.append(mapping)

    def give_back(self) -> int:
        """Give back all pages if there are too many; returns how many bytes may be read until this is called again.

        To be called between one part of a long reading and the next.
        """
        left = self._most - resident()
        if left < _LEAST:
            for mapping in self._mappings:
                mapping.give_back()
            left = self._most - resident()
        return max(left, _LEAST)
