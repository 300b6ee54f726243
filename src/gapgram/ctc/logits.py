"""What a recogniser gives, made into labels that may be there, frame by frame."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from gapgram.arguments import wrong_type
from gapgram.errors import UsageError
from gapgram.kernels.ctc.beams import Frames

LEAST = 1e-15  # a probability is at least this


def as_array(logits: Any) -> npt.NDArray[Any]:
    """An array of NumPy of what NumPy, torch or a library that knows DLPack gives."""
    if not isinstance(logits, np.ndarray):
        if hasattr(logits, "detach"):  # torch
            logits = logits.detach().cpu()
            logits = (logits.float() if str(logits.dtype) == "torch.bfloat16" else logits).numpy()
        elif hasattr(logits, "__dlpack__"):
            logits = np.from_dlpack(logits)
        else:
            try:
                logits = np.asarray(logits)
            except (ValueError, TypeError):
                raise wrong_type("logits", logits, "an array of numbers [frame, label]") from None
    if logits.dtype.kind not in "fiu":
        raise wrong_type("logits", logits, "an array of numbers [frame, label]")
    array: npt.NDArray[Any] = logits
    return array.astype(np.float32) if array.dtype.itemsize < 4 or array.dtype.kind != "f" else array


def check_shape(array: Any, n_labels: int) -> None:
    """Refuse what is no array of frames and as many columns as there are labels."""
    if array.ndim != 2:
        raise UsageError(f"logits of {array.ndim} dimensions: expected two, frames and labels")
    if array.shape[1] != n_labels:
        raise UsageError(
            f"logits of {array.shape[1]} columns for {n_labels} labels, the blank among them: expected one for each"
        )


def highest_of(array: npt.NDArray[Any], n_labels: int) -> npt.NDArray[Any]:
    """The highest of each frame, [frame, 1]; logits of a wrong shape, or with what is no number, are refused."""
    check_shape(array, n_labels)
    highest = array.max(axis=1, keepdims=True)
    wrong = np.flatnonzero(~np.isfinite(highest[:, 0]))  # of a row with NaN this is NaN
    if wrong.size:
        frame = int(wrong[0])
        raise UsageError(f"logits of frame {frame}: the highest is {highest[frame, 0]}; expected finite numbers")
    return np.asarray(highest)


def log_probs_of(logits: Any, n_labels: int) -> npt.NDArray[Any]:
    """log of the probability of each label of each frame, from logits, such logarithms or probabilities."""
    array = as_array(logits)
    highest = highest_of(array, n_labels)
    if not len(array):
        return array
    if math.isclose(array.sum() / len(array), 1):  # probabilities
        return np.asarray(np.log(np.clip(array, LEAST, 1)))
    with np.errstate(under="ignore"):
        shifted = array - highest
        out: npt.NDArray[Any] = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
        return np.clip(out, np.log(LEAST), 0, out=out)


def frames_of(log_probs: npt.NDArray[Any], least: float, always: int | None = None) -> Frames:
    """Of each frame the labels that have at least log of a probability, the most probable one, and one always."""
    n = len(log_probs)
    there = log_probs >= least
    if n:
        there[np.arange(n), log_probs.argmax(axis=1)] = True
        if always is not None:
            there[:, always] = True
    begins = np.zeros(n + 1, np.int64)
    np.cumsum(np.count_nonzero(there, axis=1), out=begins[1:])
    labels = np.nonzero(there)[1].astype(np.int32)
    return Frames(labels, log_probs[there].astype(np.float64), begins)
