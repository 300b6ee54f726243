"""Corpus to counts. Every engine gives the same counts, bit for bit."""

from gapgram.counting.local import Counted, checked_threads, count

__all__ = ["Counted", "checked_threads", "count"]
