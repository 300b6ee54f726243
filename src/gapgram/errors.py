"""The one tree of errors: each says what was found, where, and what to do.

Each is also the built-in error that a Python program would look for: a wrong argument or text is a `ValueError`, one of
a wrong type a `TypeError` too, a file that is not there a `FileNotFoundError`, any other trouble with a file an
`OSError`.
"""

from __future__ import annotations


class GapgramError(Exception):
    """Anything that a user can mend. The command line prints it and exits with 2."""


class UsageError(GapgramError, ValueError):
    """An option or argument that makes no sense."""


class ArgumentTypeError(UsageError, TypeError):
    """An argument of another type than expected: None, a number for text, text for a number."""


class TextError(GapgramError, ValueError):
    """Text that cannot be read as one sentence a line of UTF-8 words."""


class TextFileError(TextError, OSError):
    """A file of text that cannot be read."""


class TextNotFoundError(TextFileError, FileNotFoundError):
    """A file of text that is not there."""


class FetchError(GapgramError, OSError):
    """A corpus or a model that cannot be fetched, or a model that cannot be sent."""


class TokeniserError(GapgramError, ValueError):
    """A tokeniser that cannot be read, or that cannot cut a text."""


class ModelFileError(GapgramError, OSError):
    """A model or counts file that is not ours, damaged, or cannot be read or written."""


class ModelNotFoundError(ModelFileError, FileNotFoundError):
    """A model or counts file that is not there."""


class EngineError(GapgramError, RuntimeError):
    """A cluster that cannot be reached or used, or that gave up."""


class DiscountWarning(UserWarning):
    """Discounts of a pattern could not be estimated; fallbacks are used."""


class DocumentWarning(UserWarning):
    """A text that was to have documents has no empty line; all of it is one."""


class PathWarning(UserWarning):
    """The name of a file was scored as if it were a sentence."""


class PruningWarning(UserWarning):
    """No gram of some pattern is frequent enough for the thresholds of pruning."""


class SplitWarning(UserWarning):
    """Words of a text touch punctuation marks that the model knows as words of their own."""


class LineWarning(UserWarning):
    """A line is so long that a limit of memory may not be kept."""


class KernelWarning(UserWarning):
    """There are no compiled kernels for this machine: they run as plain Python."""


class SumWarning(UserWarning):
    """The probabilities of a backoff file do not sum to one."""


class DeviceError(GapgramError, RuntimeError):
    """A card that was asked for is missing, or cannot do the work."""


def to_install(extra: str) -> str:
    """How to install the packages of an extra: true however gapgram itself was installed.

    >>> to_install("web")
    "pip install 'fastapi>=0.115' 'uvicorn<1,>=0.30'"
    """
    import re  # only where something is missing
    from importlib.metadata import PackageNotFoundError, requires

    try:
        wanted = [line for line in requires("gapgram") or () if re.search(rf"extra == ['\"]{extra}['\"]", line)]
    except PackageNotFoundError:  # run from its source, without having been installed
        wanted = []
    packages = [line.split(";")[0].strip() for line in wanted] or [f"gapgram[{extra}]"]
    return " ".join(["pip install", *(f"'{package}'" for package in packages)])
