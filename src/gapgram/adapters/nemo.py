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
from gapgram.kernels.text.special_words import END_ID, START, START_ID, UNKNOWN_ID
from gapgram.models.model import Model
from gapgram.models.open import load
from gapgram.queries.language_model import LanguageModel
from gapgram.queries.packed_states import STATE_BITS, PackedStates
from gapgram.queries.stream_sessions import StreamSessions

try:
    import torch
except ImportError as error:
    raise ImportError(f"this adapter needs PyTorch: {to_install('nemo')}") from error

Tensor = Any  # torch.Tensor
ROWS = 1 << 22
_FIRST = 2  # rows that stay: nothing is known; the beginning of a sentence


class FusionModel(torch.nn.Module):  # type: ignore[misc, unused-ignore]
    """The interface of NeMo's `NGramGPULanguageModel`, with a gapgram model or a path to one.

    A state is one whole number, which holds the last words, or, where they need more than 63 bits, a place in a table
    (`LongStates` says what that costs). On the CPU it takes every kind of model; on a card,
    after `to("cuda")`, one that gapgram has trained.

    labels: the recogniser's, in their order, without the blank, as words of the model; by default the tokens of the
        model's tokeniser, by their ids. Labels that the model does not know share the probability of `<unk>`.
    streams: how many streams are heard side by side, each with a session that learns (`learn`); by default none is.
        Utterance i of a batch is of stream i, unless `assign` says otherwise.
    """

    START_STATE = 0  # nothing is known

    def __init__(
        self, model: LanguageModel | str | os.PathLike[str], labels: Sequence[str] | None = None, *, streams: int = 0
    ) -> None:
        super().__init__()
        self.model: LanguageModel = load(model) if isinstance(model, str | os.PathLike) else model
        self._words = _ids_of(self.model, labels)
        fits = (self._words.size + 1).bit_length() * (self.model.order - 1) <= STATE_BITS
        self._packed = PackedStates(self._words.size, self.model.order) if fits else None
        self._long = None if fits else LongStates(self._words, self.model.order)
        self._states: Any = self._packed or self._long
        self._sessions = StreamSessions(self.model, streams) if streams else None
        self._batch = list(range(streams))
        self._on_card: Any = None
        self.device = torch.device("cpu")

    @property
    def vocab_size(self) -> int:
        """The number of labels, without the blank."""
        return int(self._words.size)

    @property
    def max_order(self) -> int:
        """A prediction sees at most max_order - 1 earlier labels."""
        return self.model.order

    @property
    def bos_state(self) -> int:
        """The state at the beginning of a sentence."""
        return int(self._states.beginning)

    def to(self, device: Any, *_: Any, **__: Any) -> FusionModel:
        """Answer on this device from now on: a name or a `torch.device`."""
        device = torch.device(device)
        if device.type == "cuda" and self._on_card is None:
            from gapgram.cuda.torch_streams import TorchNextWords

            if not isinstance(self.model, Model):
                said = f"{self.model!r} is no model that gapgram has trained, and stays on the CPU: .to('cpu')"
                raise DeviceError(f"device cuda: {said}")
            self._on_card = TorchNextWords(self.model, self._words, self._packed, device, self._sessions)
        self.device = device
        if self._long is not None:
            self._long.to(device)
        return self

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
        eos = -1 if eos_id is None else eos_id
        if states.is_cuda and self._long is None:
            answer: tuple[Tensor, Tensor] = self._on_card.advance(states, eos, out)
            return answer
        labels = torch.arange(self.vocab_size, device=states.device)
        if self._long is not None:
            places, rows = self._long.rows(states)
            after = places[:, None] << self._long.bits | labels + 1
        else:
            rows, after = None, self._states.after(states[:, None], labels)
        if states.is_cuda:
            scores, _ = self._on_card.advance(states, eos, None, rows)
        else:
            scores = torch.from_numpy(self._log_probs(states, rows))
            if eos_id is not None:
                scores[:, eos_id] = scores[:, -1]
            scores = scores[:, :-1].contiguous()
        if eos_id is not None:
            after[:, eos_id] = states
        if out is None:
            return scores, after
        out[0].copy_(scores)
        out[1].copy_(after)
        return out

    def learn(self, stream: int, ids: Sequence[int]) -> None:
        """Learn a settled segment of a stream, the ids of its labels, as a sentence: later ones expect its words."""
        labels = np.asarray(ids, np.int64).reshape(-1)
        if labels.size and not 0 <= labels.min() <= labels.max() < self.vocab_size:
            raise UsageError(f"labels from {labels.min()} to {labels.max()}: expected 0 to {self.vocab_size - 1}")
        self._learning().learn(stream, self._words[labels])
        if self._on_card is not None:
            self._on_card.update(stream)

    def forget(self, stream: int, share: float = 1.0) -> None:
        """Forget what a stream has read, or a share of it."""
        self._learning().forget(stream, share)
        if self._on_card is not None:
            self._on_card.update(stream)

    def assign(self, streams: Sequence[int]) -> None:
        """Say of which stream each utterance of the next batches is; the states of an utterance follow each other."""
        for stream in streams:
            self._learning().check(stream)
        if not 0 < len(streams) <= len(self._learning()):
            raise UsageError(f"{len(streams)} utterances: expected 1 to {len(self._learning())}, one a stream at most")
        self._batch = list(streams)
        if self._on_card is not None:
            self._on_card.assign(self._batch)

    def _learning(self) -> StreamSessions:
        if self._sessions is None:
            raise UsageError("the model has no streams that learn: FusionModel(…, streams=N) makes N")
        return self._sessions

    def get_final(self, states: Tensor) -> Tensor:
        """float32, as `states`: the natural logarithm of the probability that the sentence ends here."""
        flat = states.reshape(-1)
        self._check(flat)
        rows = None if self._long is None else self._long.rows(flat)[1]
        if states.is_cuda:
            ends: Tensor = self._on_card.end(flat, rows).view(states.shape)
            return ends
        return torch.from_numpy(self._log_probs(flat, rows)[:, -1].copy()).view(states.shape)

    def states_after(self, states: Tensor, labels: Tensor) -> Tensor:
        """The states after a label each; a decoder finds them among those that `advance` gives."""
        after: Tensor = self._states.after(states, labels)
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
        if self._batch and len(states) % len(self._batch):
            raise UsageError(
                f"{len(states)} states for {len(self._batch)} streams: expected as many of each; assign([stream, …]) "
                "says of which streams a batch is"
            )

    def _log_probs(self, states: Tensor, rows: Tensor | None) -> Any:
        """float32 [state, label, and the end]: natural logarithms, by the CPU. rows: of long states."""
        each = max(len(states) // max(len(self._batch), 1), 1)
        of_streams = np.repeat(self._batch, each) if self._batch else np.zeros(len(states), np.int64)
        keys = np.column_stack([states.numpy() if rows is None else rows.numpy(), of_streams])
        different, at = np.unique(keys, axis=0, return_inverse=True)
        words, shares = self._columns
        given = np.empty((len(different), words.size), np.float32)
        for i, (*key, stream) in enumerate(different.tolist()):
            context = self._context(key)
            probabilities = self.model.distribution(context)
            if self._sessions is not None:
                probabilities = self._sessions.mixed(stream, self.model.vocabulary.ids(context), probabilities)
            given[i] = probabilities[words] * shares
        with np.errstate(divide="ignore"):
            return np.log(given)[at.reshape(-1)]

    @cached_property
    def _columns(self) -> tuple[Ids, Any]:
        """The words of all labels and of the end, and what part of their probability is a label's."""
        shares = np.where(self._words == UNKNOWN_ID, 1.0 / max((self._words == UNKNOWN_ID).sum(), 1), 1.0)
        return np.append(self._words, np.int32(END_ID)), np.append(shares, 1.0)

    def _context(self, key: list[int]) -> list[str]:
        """The words of a state, packed, or of a row."""
        if self._packed is None:
            return [self.model.vocabulary[word] for word in key[1 : key[0] + 1][::-1]]
        state = key[0]
        labels = self._packed.labels(state) if 0 <= state <= self._packed.kept else [self.vocab_size] * 2
        if max(labels, default=0) > self.vocab_size or self.vocab_size in labels[1:]:
            raise UsageError(f"state {state}: that of another model")
        return [START if label == self.vocab_size else self._context_words[label] for label in labels]

    @cached_property
    def _context_words(self) -> list[str]:
        return [self.model.vocabulary[int(word)] for word in self._words]

    def extra_repr(self) -> str:
        """What PyTorch shows of it."""
        return f"{self.model!r}, {self.vocab_size:,} labels"


class LongStates:
    """States of decoders that do not fit into 63 bits: a place in a table of rows, and the label after it.

    Where there are many labels, or the order is high, the words of a state are a row of a table, on PyTorch's device. A
    state that is asked for gets the next place; when all places were given, the oldest are given again. So a step takes
    some more kernels, and a state serves until ROWS states more were asked for: 16,384 steps of a batch of 256.

    States are `place << bits | label + 1`; without a label, the row itself. words: of each label.
    """

    def __init__(self, words: Ids, order: int, rows: int = ROWS) -> None:
        self.bits, self.order = len(words).bit_length(), order
        self.beginning = 1 << self.bits
        self._words = torch.from_numpy(words.astype("int32"))
        self._table = torch.full((rows, order), -1, dtype=torch.int32)
        self._table[0, 0], self._table[1, 0], self._table[1, 1] = 0, 1, START_ID
        self._given = torch.zeros(1, dtype=torch.int64)  # places: counted on the device, so that graphs count, too

    def to(self, device: Any) -> None:
        """Keep the table there."""
        self._words, self._table, self._given = (each.to(device) for each in (self._words, self._table, self._given))

    def rows(self, states: Any) -> tuple[Any, Any]:
        """(new places, int32 [state, order]: how many words are known, and these, the nearest first)."""
        before = self._table[(states >> self.bits).clamp(0, len(self._table) - 1)]
        codes = (states & (1 << self.bits) - 1).clamp(max=len(self._words))
        words = self._words[(codes - 1).clamp(min=0)]
        known = (before[:, :1] + 1).clamp(max=self.order - 1)
        rows = torch.where(codes[:, None] > 0, torch.cat([known, words[:, None], before[:, 1:-1]], dim=1), before)
        places = self._given + torch.arange(len(states), device=states.device)
        places = _FIRST + places % (len(self._table) - _FIRST)
        self._table.index_copy_(0, places, rows)
        self._given += len(states)
        return places, rows

    def after(self, states: Any, labels: Any) -> Any:
        """The states after a label each."""
        return self.rows(states)[0] << self.bits | labels + 1


def _ids_of(model: LanguageModel, labels: Sequence[str] | None) -> Ids:
    """The word of each label, by default each token; UNKNOWN_ID where the model has none."""
    if labels is None and (model.tokeniser is None or not model.tokeniser.engine.ids):
        raise UsageError(
            "the model has no tokeniser whose tokens have ids: give the recogniser's labels as words of the model, "
            "labels=[…], or train with its tokeniser"
        )
    words: Ids = (model.token_words if labels is None else model.vocabulary.ids(labels)).copy()
    words[np.isin(words, (END_ID, START_ID))] = UNKNOWN_ID
    if labels is not None and not (words != UNKNOWN_ID).any():
        shown = ", ".join(map(repr, labels[:3]))
        raise UsageError(
            f"none of {len(labels):,} labels ({shown}, …) is a word of the model: its vocabulary is another"
        )
    return words
