"""How much memory there is, how much is in use, and what disks have left."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from gapgram.errors import UsageError

PROGRAM_BYTES = 80 << 20  # what compiled kernels and the like may take beside a limit

_CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def parse_size(size: str | int, what: str = "memory") -> int:
    """Bytes from a number or from text: KB, MB, GB, TB count thousands, KiB, MiB, GiB, TiB and K, M, G, T 1,024s.

    >>> parse_size("4G"), parse_size("4GiB"), parse_size("400 MB"), parse_size(1000)
    (4294967296, 4294967296, 400000000, 1000)
    """
    match = re.fullmatch(r"\s*(\d{1,18}(?:\.\d{1,18})?)\s*([KMGT]?)(i?B)?\s*", str(size), re.IGNORECASE)
    n_bytes = int(float(match[1]) * _unit(match[2].upper(), match[3])) if match else 0
    if not 1 <= n_bytes < 1 << 62:
        raise UsageError(f"{what} {str(size)[:80]!r}: expected a size such as 4G, 400MB or 400MiB")
    return n_bytes


def _unit(letter: str, ending: str | None) -> int:
    """The bytes of a unit: M and MiB are 1,048,576, MB is 1,000,000."""
    powers = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}
    unit: int = (1000 if ending in ("B", "b") else 1024) ** powers[letter]
    return unit


def show_size(n_bytes: float) -> str:
    """Bytes for a reader.

    >>> show_size(5 << 30), show_size(123456), show_size(12)
    ('5.0GiB', '121KiB', '12')
    """
    for letter in ("G", "M", "K"):
        unit = _unit(letter, None)
        if n_bytes >= unit:
            digits = 1 if letter == "G" else 0
            return f"{n_bytes / unit:,.{digits}f}{letter}iB"
    return str(int(n_bytes))


def default_memory() -> int:
    """Half of what the machine has, or of what this process may use where a control group says less."""
    return half_of(_machine(), [*_own_cgroup(), *map(Path, _CGROUP_LIMITS)])


def half_of(machine_bytes: int, limit_files: Iterable[Path]) -> int:
    """Half of the memory of a machine, or of the least that one of the files of control groups allows."""
    limits = [machine_bytes]
    for path in limit_files:
        try:
            limits.append(int(path.read_text()))
        except (OSError, ValueError):  # not there, or "max"
            continue
    return min(limits) // 2


def _machine() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 8 << 30  # where the system does not say


def _own_cgroup() -> list[Path]:
    """The limits of the control group of this process and of those around it."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    inside = [line.split(":", 2)[2].strip("/") for line in lines if line.startswith("0::")]
    folders = [Path("/sys/fs/cgroup") / name for name in inside if name]
    return [
        f / "memory.max"
        for folder in folders
        for f in (folder, *folder.parents)
        if f.is_relative_to("/sys/fs/cgroup")
    ]


def resident() -> int:
    """The memory this process holds now; 0 where the system does not say."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


@dataclass(frozen=True)
class MemoryLimit:
    """What work may take of memory, in bytes, beside what the process held before it began."""

    bytes: int
    held_before: int

    @classmethod
    def of(cls, memory: str | int | None) -> MemoryLimit:
        """A limit from what a user says; by default half of the memory there is."""
        return cls(default_memory() if memory is None else parse_size(memory), resident())

    def left(self) -> int:
        """What the next stage may take: what is not held already, by a vocabulary for example."""
        trim()
        held = max(0, resident() - self.held_before - PROGRAM_BYTES)
        return max(self.bytes - held, self.bytes // 2)

    @property
    def most_resident(self) -> int:
        """What the process may hold in all."""
        return self.bytes + self.held_before + PROGRAM_BYTES

    def check(self, needed: int, what: str, otherwise: str) -> None:
        """Refuse work that takes more memory than is left."""
        if needed > self.left():
            raise UsageError(
                f"{what} takes about {show_size(needed)} of memory, and {show_size(self.left())} are left: "
                f"allow more (--memory), or {otherwise}"
            )


def trim() -> None:
    """Give memory that was freed back to the system, where the C library can."""
    if sys.platform == "linux":
        import ctypes

        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


def check_disk_space(needed: dict[Path, int]) -> None:
    """Refuse work that needs more room in some folders than their disks have; one disk may hold several."""
    by_disk: dict[int, tuple[list[Path], int]] = {}
    for folder, n_bytes in needed.items():
        folders, total = by_disk.get(os.stat(folder).st_dev, ([], 0))
        by_disk[os.stat(folder).st_dev] = ([*folders, folder], total + n_bytes)
    for folders, total in by_disk.values():
        free = shutil.disk_usage(folders[0]).free
        if total > free:
            raise UsageError(
                f"about {show_size(total)} of disk are needed in {' and '.join(map(str, folders))}, "
                f"{show_size(free)} are free: make room, name another folder for temporary files (--tmp), or allow "
                "more memory (--memory)"
            )
