"""What a session has read, in a small file: words, what was forgotten of them, and how far the views are trusted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from gapgram import sections
from gapgram.arrays import Ids
from gapgram.errors import ModelFileError
from gapgram.kernels.sessions.history_gate import HistoryGate
from gapgram.kernels.text.special_words import SPECIAL
from gapgram.queries.history import History, ReadSentences, SessionVocabulary
from gapgram.signature import is_same_model
from gapgram.system import array_file
from gapgram.system.array_reading import plain, reading
from gapgram.text.vocabulary import Vocabulary


def write_session(path: str | Path, signature: str, vocabulary: SessionVocabulary, history: History) -> None:
    """Write a session of the model with this signature."""
    sentences = [entry for entry in history.log if isinstance(entry, ReadSentences)]
    words = Vocabulary.of([word.encode("utf-8", "surrogatepass") for word in vocabulary.own])
    metadata = {
        "model": signature,
        "max_words": history.max_words,
        "words_read": history.words_read,
        "log": [
            [entry.ids.size, entry.begins.tolist()] if isinstance(entry, ReadSentences) else entry
            for entry in history.log
        ],
    }
    ids = np.concatenate([np.empty(0, np.int32), *(each.ids for each in sentences)])
    arrays = {"ids": ids, **words.packed(), **history.gate._asdict()}
    array_file.write(path, array_file.SESSION, metadata, arrays)


def read_session(
    path: str | Path, signature: str, vocabulary: SessionVocabulary, history: History
) -> tuple[SessionVocabulary, History]:
    """The words and the history of a session file, which must be of the model with this signature.

    vocabulary, history: of another session of the model.
    """
    with reading(path, array_file.SESSION, sections.SESSION, verify=True) as file:
        metadata, arrays = file.metadata, {name: np.array(array) for name, array in file.arrays.items()}
        if not is_same_model(plain(metadata["model"], str), signature):
            raise ModelFileError(
                f"{path}: a session of another model ({metadata['model']}); open it with the model it was made with"
            )
        own = Vocabulary.unpacked(arrays["words"], arrays["word_lengths"])
        words = SessionVocabulary(vocabulary.known, list(own)[len(SPECIAL) :])
        log = _log(metadata["log"], arrays["ids"].astype(np.int32), len(words))
        gate = HistoryGate(arrays["logits"].astype(np.float64), arrays["squares"].astype(np.float64))
        shape = history.weights.logits.shape
        if log is None or any(array.shape != shape for array in gate) or not _makes_sense(gate):
            raise ModelFileError(f"{path}: not a session as gapgram writes it; begin a new one")
        read = History(history.weights, history.views.class_of, max_words=plain(metadata["max_words"], int))
        words_read = plain(metadata["words_read"], int)
    read.replay(log, words_read)
    read.gate = gate
    return words, read


def verify_session(path: str | Path) -> str:
    """Check a session file as far as that can be done without its model; returns the signature of that."""
    with reading(path, array_file.SESSION, sections.SESSION, verify=True) as file:
        arrays, metadata = file.arrays, file.metadata
        Vocabulary.unpacked(np.array(arrays["words"]), np.array(arrays["word_lengths"]))
        plain(metadata["max_words"], int)
        plain(metadata["words_read"], int)
        if _log(metadata["log"], np.array(arrays["ids"]), np.iinfo(np.int32).max) is None:
            raise ModelFileError(f"{path}: not a session as gapgram writes it; begin a new one")
        return plain(metadata["model"], str)


def _makes_sense(gate: HistoryGate) -> bool:
    return bool(np.isfinite(gate.logits).all() and np.isfinite(gate.squares).all() and (gate.squares > 0.0).all())


def _log(entries: Any, ids: Ids, n_words: int) -> list[ReadSentences | float] | None:
    """The log of a session file; None where it makes no sense."""
    log: list[ReadSentences | float] = []
    at = 0
    whole = bool(ids.size == 0 or (int(ids.min()) >= 0 and int(ids.max()) < n_words))
    for entry in plain(entries, list):
        if isinstance(entry, list):
            size = plain(entry[0], int)
            begins = np.array([plain(begin, int) for begin in plain(entry[1], list)], np.int64)
            whole = whole and begins.size > 0 and bool(begins[0] == 0 and begins[-1] == size)
            whole = whole and bool((np.diff(begins) >= 0).all()) and at + size <= ids.size
            log.append(ReadSentences(ids[at : at + size], begins))
            at += size
        else:
            whole = whole and 0.0 < plain(entry, float) < 1.0
            log.append(plain(entry, float))
    return log if whole and at == ids.size else None
