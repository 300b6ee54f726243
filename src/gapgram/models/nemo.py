"""What NVIDIA NeMo's decoders read: words of an ARPA file that are ids of tokens, and the file that NGPU-LM loads.

NeMo's decoders know tokens by their ids, and an ARPA file writes an id as one character: the one with the number
id + 100, so that no white space is among them. What characters the tokeniser does not know become is a token with an id
like any other; `<s>`, `</s>` and `<unk>` stay what they are, and `<unk>` may only stand by itself, as in files that
NeMo's own script makes.

The file of NGPU-LM is an archive of a configuration and of tensors: an automaton. A state is a context, with the state
that it falls back on and the weight of that; an arc is a gram: the label that is read, its weight, and the state after
it. State 0 knows nothing, state 1 is the beginning of a sentence; the arcs of state 0 are all labels in their order.
Weights are natural logarithms.
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
from gapgram.kernels.text.special_words import END_ID, SPECIAL, START_ID, UNKNOWN, UNKNOWN_ID
from gapgram.models.backoff import BackoffModel
from gapgram.models.grams import Grams
from gapgram.queries.language_model import LanguageModel
from gapgram.system.atomic_file import written_aside

OFFSET = 100  # of characters, before the first id
_SURROGATES = range(0xD800, 0xE000)  # numbers that are no characters
_CHARACTERS = 0x110000

_CONFIG = """target: nemo.collections.asr.parts.submodules.ngram_lm.ngram_lm_batched.NGramGPULanguageModel
num_states: {num_states}
num_arcs: {num_arcs}
max_order: {max_order}
vocab_size: {vocab_size}
separate_bos_state: true
use_triton: null
"""


def nemo_words(model: LanguageModel, written: BackoffModel) -> list[str]:
    """The words of an ARPA file of a model, in the order of its vocabulary; `written` is what goes into the file."""
    if model.tokeniser is None:
        raise UsageError("the encoding nemo writes ids of tokens: train with the tokeniser of the acoustic model first")
    ids = model.tokeniser.engine.ids
    if not ids:
        raise UsageError(f"the encoding nemo writes ids of tokens: those of {model.tokeniser} have none")
    if (written.grams.words[written.grams.base[1] :] == UNKNOWN_ID).any():
        raise UsageError(
            f"the encoding nemo: NeMo reads no grams with {UNKNOWN} among their words; train without --min-count and "
            "--vocab-limit"
        )
    return [*SPECIAL, *(_character(word, ids.get(word)) for word in list(written.vocabulary)[len(SPECIAL) :])]


def nemo_labels(model: LanguageModel, n_labels: int | None = None) -> tuple[list[int | None], int]:
    """(the label of each word, None for special ones, how many labels the recogniser has).

    By the model's tokeniser; of a model without one, which was read from a file in this encoding, by its characters:
    n_labels must say then how many there are.
    """
    words = list(model.vocabulary)[len(SPECIAL) :]
    if model.tokeniser is not None and model.tokeniser.engine.ids:
        ids = model.tokeniser.engine.ids
        numbers = [ids.get(word, -1) for word in words]
        n_labels = max(ids.values()) + 1 if n_labels is None else n_labels
    elif n_labels is None:
        raise UsageError("NeMo's file has ids of tokens, and the model no tokeniser that has them: say --labels N, how "
                         "many the recogniser has, for a file that gapgram arpa --encoding nemo wrote")  # fmt: skip
    else:
        numbers = [ord(word) - OFFSET if len(word) == 1 else -1 for word in words]
    for word, number in zip(words, numbers, strict=True):
        if not 0 <= number < n_labels:
            raise UsageError(f"{word!r} is none of {n_labels:,} labels of the recogniser")
    return [*[None] * len(SPECIAL), *numbers], n_labels


def _character(word: str, number: int | None) -> str:
    """The character of a token.

    >>> _character("▁the", 3), ord(_character("x", 1023))
    ('g', 1123)
    """
    if number is None:
        raise UsageError(f"the encoding nemo: {word!r} is no token of the model's tokeniser, and has no id")
    if number + OFFSET in _SURROGATES or number + OFFSET >= _CHARACTERS:
        raise UsageError(f"the encoding nemo: id {number} of {word!r}: there is no character {number + OFFSET:#x}")
    return chr(number + OFFSET)


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
