"""PageBudget of mapped files, which count as memory in use once they were read and until they are given back."""

from __future__ import annotations

import mmap
from weakref import WeakSet

from gapgram.system.memory import resident

AROUND = 1 << 16  # bytes that the system maps around each address that is read
LEAST_BYTES = 32 << 20  # that may be read between one check and the next, whatever is held


def release_pages(mapping: mmap.mmap) -> None:
    """Give back all pages of a file; they are read again when needed, and what was written to them is the file's."""
    if hasattr(mmap, "MADV_DONTNEED"):
        mapping.madvise(mmap.MADV_DONTNEED)


class PageBudget:
    """The pages of mapped files, given back whenever the process holds more than it may.

    least_bytes: that may be read between one call of `release` and the next, whatever the process holds.
    """

    def __init__(self, most_resident: int, *mappings: mmap.mmap, least_bytes: int = LEAST_BYTES) -> None:
        self.most_resident, self.least_bytes, self._mappings = most_resident, least_bytes, WeakSet(mappings)

    def add(self, mapping: mmap.mmap) -> None:
        """Give back the pages of one more file, as long as it is mapped."""
        self._mappings.add(mapping)

    def release(self, wanted: int = 0) -> int:
        """Give back all pages if there are too many; returns how many bytes may be read until this is called again.

        To be called between one step of a long reading and the next, which is about to read the bytes `wanted`.
        """
        left = self.most_resident - resident()
        if left < max(wanted, self.least_bytes):
            for mapping in list(self._mappings):
                release_pages(mapping)
            left = self.most_resident - resident()
        return max(left, self.least_bytes)
