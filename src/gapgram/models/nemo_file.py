"""A backoff model as the file that NVIDIA NeMo's NGPU-LM loads: an archive of a configuration and of tensors.

NGPU-LM is an automaton. A state is a context, with the state that it falls back on and the weight of that; an arc is a
gram: the label that is read, its weight, and the state after it. State 0 knows nothing, state 1 is the beginning of a
sentence; the arcs of state 0 are all labels in their order. Weights are natural logarithms.
"""

from __future__ import annotations

import io
import math
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gapgram.errors import UsageError, to_install
from gapgram.kernels.backoff.grams import suffixes_of
from gapgram.kernels.text.special_words import END_ID, START_ID, UNKNOWN_ID
from gapgram.models.backoff import BackoffModel
from gapgram.models.grams import Grams
from gapgram.system.atomic_file import written_aside

_CONFIG = """target: nemo.collections.asr.parts.submodules.ngram_lm.ngram_lm_batched.NGramGPULanguageModel
num_states: {num_states}
num_arcs: {num_arcs}
max_order: {max_order}
vocab_size: {vocab_size}
separate_bos_state: true
use_triton: null
"""


class Automaton(NamedTuple):
    """The tensors of NGPU-LM by their names there; those of arcs first, then those of states."""

    arcs_weights: Any
    from_states: Any
    to_states: Any
    ilabels: Any
    backoff_weights: Any
    final_weights: Any
    backoff_to_states: Any
    start_end_arcs: Any
    state_order: Any


def write_nemo(model: BackoffModel, path: str | Path, labels: Sequence[int | None], vocab_size: int) -> dict[str, int]:
    """Write the file; returns the numbers in its configuration.

    labels: of each word of the vocabulary; None for the three special words. vocab_size: how many labels the recogniser
    has, without the blank; those that no word has share the probability of `<unk>`.
    """
    try:
        import torch
    except ImportError:
        raise UsageError(f"{path}: to write it PyTorch is needed: {to_install('nemo')}") from None
    made = automaton(model.grams, labels, vocab_size)
    numbers = {
        "num_states": made.state_order.size, "num_arcs": made.arcs_weights.size - vocab_size,
        "max_order": model.order, "vocab_size": vocab_size,
    }  # fmt: skip
    weights = io.BytesIO()
    torch.save({name: torch.from_numpy(array) for name, array in made._asdict().items()}, weights)
    with written_aside(path) as file, tarfile.open(fileobj=file, mode="w:") as archive:
        for name, data in (
            ("model_config.yaml", _CONFIG.format(**numbers).encode()), ("model_weights.ckpt", weights.getvalue())
        ):  # fmt: skip
            about = tarfile.TarInfo(f"./{name}")
            about.size = len(data)
            archive.addfile(about, io.BytesIO(data))
    return numbers


def automaton(grams: Grams, labels: Sequence[int | None], vocab_size: int) -> Automaton:
    """The automaton of grams with every end of a gram among them."""
    order, base, words = grams.order, grams.base, grams.words
    if order < 2:
        raise UsageError("a model of order 1 has no contexts: NeMo's file wants order 2 or more")
    label_of = np.array([-1 if label is None else label for label in labels])
    if label_of.max() >= vocab_size:
        raise UsageError(f"a word of the model is label {label_of.max()}, and there are {vocab_size:,} labels")
    if (words[base[1] :] == UNKNOWN_ID).any():
        raise UsageError("NeMo reads no grams with <unk> among their words: train without --min-count, --vocab-limit")
    figures = grams.log10_probs, grams.log10_backoffs
    probs, backoffs = ((array.astype(np.float64) * math.log(10)).astype(np.float32) for array in figures)
    suffixes = suffixes_of(base, order, words, grams.children)
    lengths = np.repeat(np.arange(1, order + 1), np.diff(base))
    parents = np.concatenate([
        np.full(base[1], -1), np.repeat(np.arange(base[order - 1]), np.diff(grams.children[: base[order - 1] + 1]))
    ])  # fmt: skip
    # States: <s>, all labels, and all longer contexts.
    is_read = label_of[words] >= 0
    is_state = is_read & (lengths < order)
    states = np.full(words.size, -1)
    states[is_state] = 2 + np.arange(is_state.sum())
    states[START_ID] = 1
    held = np.append(START_ID, np.flatnonzero(is_state))  # the gram of each state but the first
    # Arcs: all labels after nothing, then all longer grams, those of one context together.
    is_arc = is_read & (lengths > 1)
    arcs = np.flatnonzero(is_arc)
    before = vocab_size + np.concatenate([[0], np.cumsum(is_arc)])  # arcs before each gram
    single = np.flatnonzero(is_read[: base[1]])
    n_missing = vocab_size - single.size
    weights = np.full(vocab_size, probs[UNKNOWN_ID] - (math.log(n_missing) if n_missing > 1 else 0.0), np.float32)
    targets = np.zeros(vocab_size, np.int64)
    weights[label_of[single]], targets[label_of[single]] = probs[single], states[single]
    reached = np.where(lengths[arcs] < order, states[arcs], states[suffixes[arcs]])
    padding = np.zeros(vocab_size)
    spans = np.column_stack([before[grams.children[held]], before[grams.children[held + 1]]])
    below = np.where(lengths[held] > 1, states[suffixes[held]], 0)
    return Automaton(
        arcs_weights=np.float32(np.concatenate([weights, probs[arcs], padding])),
        from_states=np.int32(np.concatenate([np.zeros(vocab_size), states[parents[arcs]], padding])),
        to_states=np.int32(np.concatenate([targets, reached, padding])),
        ilabels=np.int32(np.concatenate([np.arange(vocab_size), label_of[words[arcs]], padding])),
        backoff_weights=np.float32(np.append(0.0, backoffs[held])),
        final_weights=_finals(probs, backoffs, words, parents, states, held, below, lengths),
        backoff_to_states=np.int32(np.append(0, below)),
        start_end_arcs=np.int32(np.vstack([[[0, vocab_size]], spans])),
        state_order=np.int32(np.append(1, lengths[held] + 1)),
    )


def _finals(
    probs: Any, backoffs: Any, words: Any, parents: Any, states: Any, held: Any, below: Any, lengths: Any
) -> Any:  # fmt: skip
    """The weight of the end of a sentence in each state: its own gram's, or that of the state it falls back on."""
    finals = np.full(held.size + 1, np.nan, np.float32)
    finals[0] = probs[END_ID]
    ends = np.flatnonzero((words == END_ID) & (lengths > 1))
    finals[states[parents[ends]]] = probs[ends]
    for length in range(1, int(lengths[held].max()) + 1):
        own = np.flatnonzero((lengths[held] == length) & np.isnan(finals[1:]))
        finals[own + 1] = finals[below[own]] + backoffs[held[own]]
    return finals
