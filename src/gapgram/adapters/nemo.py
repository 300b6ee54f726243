"""A gapgram model where NVIDIA NeMo's decoders expect NGPU-LM, its language model for a card.

NeMo's decoders keep a list `fusion_models` of such objects, and ask each for the scores of all labels after a batch of
states: greedy and beam search of CTC, RNN-T, TDT and AED models alike. Scores are natural logarithms.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from gapgram.arrays import Ids
from gapgram.errors import DeviceError, UsageError, to_install
from gapgram.kernels.text.special_words import END_ID, START, UNKNOWN_ID
from gapgram.models.model import Model
from gapgram.models.open import load
from gapgram.queries.language_model import LanguageModel
from gapgram.queries.packed_states import PackedStates

try:
    import torch
except ImportError as error:
    raise ImportError(f"this adapter needs PyTorch: {to_install('nemo')}") from error

Tensor = Any  # torch.Tensor


class FusionModel(torch.nn.Module):  # type: ignore[misc, unused-ignore]
    """The interface of NeMo's `NGramGPULanguageModel`, with a gapgram model or a path to one.

    A state is one whole number, which holds the last words. On the CPU it takes every kind of model; on a card,
    after `to("cuda")`, one that gapgram has trained.

    labels: the recogniser's, in their order, without the blank, as words of the model; by default the tokens of the
        model's tokeniser, by their ids. Labels that the model does not know share the probability of `<unk>`.
    """

    START_STATE = 0  # nothing is known

    def __init__(self, model: LanguageModel | str | os.PathLike[str], labels: Sequence[str] | None = None) -> None:
        super().__init__()
        self.model: LanguageModel = load(model) if isinstance(model, str | os.PathLike) else model
        self._labels = _labels_of(self.model) if labels is None else list(labels)
        self._words = _ids_of(self.model, self._labels)
        self._packed = PackedStates(len(self._labels), self.model.order)
        self._on_card: Any = None
        self.device = torch.device("cpu")

    @property
    def vocab_size(self) -> int:
        """The number of labels, without the blank."""
        return len(self._labels)

    @property
    def max_order(self) -> int:
        """A prediction sees at most max_order - 1 earlier labels."""
        return self.model.order

    @property
    def bos_state(self) -> int:
        """The state at the beginning of a sentence."""
        return int(self._packed.beginning)

    def to(self, device: Any, *_: Any, **__: Any) -> FusionModel:
        """Answer on this device from now on: a name or a `torch.device`."""
        device = torch.device(device)
        if device.type == "cuda" and self._on_card is None:
            from gapgram.cuda.torch_streams import TorchNextWords

            self._on_card = TorchNextWords(self._own_model(), self._words, device)
        self.device = device
        return self

    def _own_model(self) -> Model:
        if not isinstance(self.model, Model):
            raise DeviceError(
                f"device cuda: {self.model!r} is no model that gapgram has trained, and stays on the CPU: .to('cpu')"
            )
        return self.model

    def compatible_with_cuda_graphs(self) -> bool:
        """Whether a CUDA graph may record what is asked: on a card, yes."""
        return torch.cuda.is_available() and isinstance(self.model, Model)

    def get_init_states(self, batch_size: int, bos: bool = True) -> Tensor:
        """So many states at the beginning of a sentence, or, without `bos`, where nothing is known."""
        first = self.bos_state if bos else self.START_STATE
        return torch.full([batch_size], first, device=self.device, dtype=torch.int64)

    def advance(
        self, states: Tensor, eos_id: int | None = None, *, out: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        """(scores float32 [state, label], states int64 [state, label] after each label).

        eos_id: the label that ends a sentence, if the recogniser has one; the state stays as it is after it.
        out: where to write the two answers.
        """
        self._check(states)
        if eos_id is not None and not 0 <= eos_id < self.vocab_size:
            raise UsageError(f"eos_id {eos_id}: expected the label that ends a sentence, 0 to {self.vocab_size - 1}")
        if states.is_cuda:
            answer: tuple[Tensor, Tensor] = self._on_card.advance(states, -1 if eos_id is None else eos_id, out)
            return answer
        scores = torch.from_numpy(self._log_probs(states))
        if eos_id is not None:
            scores[:, eos_id] = scores[:, -1]
        after = self._packed.after(states[:, None], torch.arange(self.vocab_size))
        if eos_id is not None:
            after[:, eos_id] = states
        if out is None:
            return scores[:, :-1].contiguous(), after
        out[0].copy_(scores[:, :-1])
        out[1].copy_(after)
        return out

    def get_final(self, states: Tensor) -> Tensor:
        """float32, as `states`: the natural logarithm of the probability that the sentence ends here."""
        flat = states.reshape(-1)
        self._check(flat)
        if states.is_cuda:
            ends: Tensor = self._on_card.end(flat).view(states.shape)
            return ends
        return torch.from_numpy(self._log_probs(flat)[:, -1].copy()).view(states.shape)

    def states_after(self, states: Tensor, labels: Tensor) -> Tensor:
        """The states after a label each; a decoder finds them among those that `advance` gives."""
        after: Tensor = self._packed.after(states, labels)
        return after

    def score_sentences(
        self, labels: Tensor, labels_lengths: Tensor | None = None, bos: bool = True, eos: bool = False
    ) -> Tensor:
        """float32 [sentence, label], and where `eos` one more: of each label of sentences that end in padding."""
        n, longest = labels.shape
        lengths = torch.full([n], longest, device=labels.device) if labels_lengths is None else labels_lengths
        scores = torch.zeros([n, longest + int(eos)], device=labels.device)
        states = self.get_init_states(n, bos)
        for i in range(longest):
            inside, own = i < lengths, labels[:, i].clamp(0, self.vocab_size - 1)
            given = self.advance(states)[0].gather(1, own[:, None]).squeeze(1)
            scores[:, i] = torch.where(inside, given, 0.0)
            states = torch.where(inside, self.states_after(states, own), states)
        if eos:
            scores.scatter_(1, lengths[:, None].to(torch.int64), self.get_final(states)[:, None])
        return scores

    def forward(
        self, labels: Tensor, labels_lengths: Tensor | None = None, bos: bool = True, eos: bool = False
    ) -> Tensor:
        """As `score_sentences`."""
        return self.score_sentences(labels, labels_lengths, bos, eos)

    def _check(self, states: Tensor) -> None:
        if states.device.type != self.device.type:
            raise UsageError(f"states on {states.device}, the model on {self.device}: call .to({str(states.device)!r})")
        if states.dtype != torch.int64 or states.dim() != 1:
            raise UsageError(
                f"states of shape {list(states.shape)} and type {states.dtype}: expected [state], torch.int64"
            )

    def _log_probs(self, states: Tensor) -> Any:
        """float32 [state, label, and the end]: natural logarithms, by the CPU."""
        different, rows = np.unique(states.numpy(), return_inverse=True)
        if different.size and not 0 <= different[0] <= different[-1] <= self._packed.kept:
            raise UsageError(f"state {different[-1 if different[0] >= 0 else 0]}: that of another model")
        words, shares = self._columns
        given = np.empty((different.size, words.size), np.float32)
        for i, state in enumerate(different.tolist()):
            given[i] = self.model.distribution(self._context(state))[words] * shares
        with np.errstate(divide="ignore"):
            return np.log(given)[rows]

    @cached_property
    def _columns(self) -> tuple[Ids, Any]:
        """The words of all labels and of the end, and what part of their probability is a label's."""
        shares = np.where(self._words == UNKNOWN_ID, 1.0 / max((self._words == UNKNOWN_ID).sum(), 1), 1.0)
        return np.append(self._words, np.int32(END_ID)), np.append(shares, 1.0)

    def _context(self, state: int) -> list[str]:
        """The words of a state."""
        labels = self._packed.labels(state)
        if max(labels, default=0) > self.vocab_size or self.vocab_size in labels[1:]:
            raise UsageError(f"state {state}: that of another model")
        return [START if label == self.vocab_size else self._context_words[label] for label in labels]

    @cached_property
    def _context_words(self) -> list[str]:
        return [self.model.vocabulary[int(word)] for word in self._words]

    def extra_repr(self) -> str:
        """What PyTorch shows of it."""
        return f"{self.model!r}, {self.vocab_size:,} labels"


def _labels_of(model: LanguageModel) -> list[str]:
    """The tokens of a model's tokeniser, by their ids."""
    ids = model.tokeniser.engine.ids if model.tokeniser is not None else {}
    if not ids:
        raise UsageError(
            "the model has no tokeniser whose tokens have ids: give the recogniser's labels as words of the model, "
            "labels=[…], or train with its tokeniser"
        )
    labels = [""] * (max(ids.values()) + 1)
    for token, number in ids.items():
        labels[number] = token
    return labels


def _ids_of(model: LanguageModel, labels: Sequence[str]) -> Ids:
    """The word of each label; UNKNOWN_ID where the model has none."""
    words: Ids = model.vocabulary.ids(labels)
    words[np.isin(words, (END_ID, model.vocabulary.id(START)))] = UNKNOWN_ID
    if not (words != UNKNOWN_ID).any():
        shown = ", ".join(map(repr, labels[:3]))
        raise UsageError(
            f"none of {len(labels):,} labels ({shown}, …) is a word of the model: its vocabulary is another"
        )
    return words
