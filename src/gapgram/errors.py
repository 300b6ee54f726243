"""The one tree of errors: each says what was found, where, and what to do."""

from __future__ import annotations


class GapgramError(Exception):
    """Anything that a user can mend. The command line prints it and exits with 2."""


class UsageError(GapgramError):
    """An option or argument that makes no sense."""


class TextError(GapgramError):
    """Text that cannot be read as one sentence a line of UTF-8 words."""


class ModelFileError(GapgramError):
    """A model or counts file that is not there, not ours, damaged, or cannot be written."""


class EngineError(GapgramError):
    """A cluster that cannot be reached or used, or that gave up."""


class DiscountWarning(UserWarning):
    """Discounts of a pattern could not be estimated; fallbacks are used."""
