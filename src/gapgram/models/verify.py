"""Whether a file is whole and means what it should: every bit, every table, and that distributions sum to one."""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gapgram.counts.check_meaning import check_parts
from gapgram.errors import ModelFileError, SumWarning, TokeniserError, UsageError
from gapgram.models.backoff import BackoffModel
from gapgram.models.grams import CLOSE_BY_FIGURES, sums_of_contexts
from gapgram.models.model import Model
from gapgram.models.open import load
from gapgram.system.array_file import SESSION, first_bytes
from gapgram.system.array_reading import odd_files_refused
from gapgram.text.vocabulary import Vocabulary, slots_for

if TYPE_CHECKING:
    from gapgram.models.open import AnyModel

CLOSE = 1e-9  # of one, for a distribution of a model of gapgram's own
_CONTEXTS_CHECKED = 8


@dataclass(frozen=True)
class Verified:
    """What was found of a file that is whole; a session has no distributions."""

    model: str
    distributions: int
    largest_miss_of_one: float
    signature: str

    def as_dict(self) -> dict[str, Any]:
        """All figures by name, for JSON."""
        return {"model": self.model, "whole": True, **asdict(self)}


def verify(path: str | PathLike[str], *, complete: bool = False) -> Verified:
    """Check a file of any kind; a `ModelFileError` says what is wrong with it.

    Of gapgram's own files, and of those that a mixture names, all bits are compared with their checksums, and tables
    with what tables of counts are. Of an ARPA file, or one of KenLM's, all is read that can be.

    complete: also look for the parts of every gram of a large model; those of small ones are always looked for.
    """
    if _is_session(Path(path)):
        from gapgram.queries.session_file import verify_session

        return Verified(str(path), 0, 0.0, verify_session(Path(path)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SumWarning)  # which is an error below
        opened = load(path, verify=True)
    _check_slots(path, opened)
    _check_tokeniser(path, opened)
    _check_spelling(path, opened)
    if complete:
        _check_parts(path, opened)
    contexts: list[list[str]] = [[], ["<s>"]]
    contexts += [[opened.vocabulary[i]] for i in range(3, min(3 + _CONTEXTS_CHECKED, len(opened.vocabulary)))]
    sums = np.array([float(opened.distribution(context).sum()) for context in contexts])
    if isinstance(opened, BackoffModel):
        sums = sums_of_contexts(opened.grams)
    worst = float(np.abs(sums - 1).max())
    if not worst <= (CLOSE if isinstance(opened, Model) else CLOSE_BY_FIGURES):
        raise ModelFileError(f"{path}: whole, but a distribution misses 1 by {worst:.2g}: train the model again")
    return Verified(str(path), sums.size, worst, str(opened.signature))


def _is_session(path: Path) -> bool:
    expected = first_bytes(SESSION)
    try:
        with path.open("rb") as file:
            return path.is_file() and file.read(len(expected)) == expected
    except (OSError, ValueError):
        return False


def _check_parts(path: str | PathLike[str], model: AnyModel) -> None:
    """Refuse grams that no search would find, also in the models of a mixture."""
    for mixed in getattr(model, "models", ()):
        _check_parts(mixed.path or path, mixed)
    if isinstance(model, Model):
        with odd_files_refused(Path(path)):
            check_parts(model.counts)


def _check_tokeniser(path: str | PathLike[str], model: AnyModel) -> None:
    """Refuse a tokeniser that cannot cut text; one whose library is not installed is not asked."""
    if model.tokeniser is None:
        return
    try:
        model.tokens("text")
    except UsageError:
        return
    except TokeniserError as error:
        raise ModelFileError(f"{path}: whole, but for its tokeniser: {error}; train the model again") from None


def _check_spelling(path: str | PathLike[str], model: AnyModel) -> None:
    """Refuse a spelling that does not leave to unknown words what known ones do not take, also in a mixture."""
    for mixed in getattr(model, "models", ()):
        _check_spelling(mixed.path or path, mixed)
    spelling = model.spelling
    if spelling is not None:
        miss = abs(10.0**spelling.log10_outside - 10.0 ** spelling.log10_outside_of(model.vocabulary))
        if miss > CLOSE:
            raise ModelFileError(f"{path}: whole, but its spelling misses 1 by {miss:.2g}: train the model again")


def _check_slots(path: str | PathLike[str], model: AnyModel) -> None:
    """Refuse a hash table that does not find the words that the file has."""
    words = getattr(model, "vocabulary", None)
    if isinstance(words, Vocabulary) and words.slots.size == slots_for(len(words)):
        again = Vocabulary(np.array(words.pool), np.array(words.offsets))
        if not np.array_equal(again.slots, words.slots):
            raise ModelFileError(f"{path}: words that are not found in the table of words; make the file again")
