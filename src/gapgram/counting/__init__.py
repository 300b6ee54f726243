"""Corpus to counts. Every engine gives the same counts, bit for bit."""

from gapgram.counting.local import checked_threads, count

__all__ = ["checked_threads", "count"]
