"""Standard streams that whoever started the program has closed: no later file may take their place unnoticed."""

from __future__ import annotations

import io
import os
import sys


class ClosedOutput(io.TextIOBase):
    """In the place of a standard output that is closed: takes what is printed, and remembers that there was any."""

    was_needed = False

    def write(self, text: str) -> int:
        """Take a text."""
        self.was_needed = True
        return len(text)


def open_closed_streams() -> None:
    """Let nothing be read from or written to what is closed."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free, which is this one
    if sys.stdout is None:
        sys.stdout = ClosedOutput()
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - until the program ends
