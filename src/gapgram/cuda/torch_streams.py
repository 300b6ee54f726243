"""`NextWords` for tensors of PyTorch: on its current stream, in memory that it manages; what its streams have read."""

from __future__ import annotations

from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from gapgram.arrays import Ids
from gapgram.cuda.card import find_cupy
from gapgram.cuda.next_words import HeldArrays, NextWords, address
from gapgram.errors import DeviceError
from gapgram.queries.packed_states import PackedStates
from gapgram.queries.stream_sessions import StreamSessions, lists_of


class TorchNextWords:
    """All next words after packed states, for tensors of one device."""

    def __init__(
        self, model: Any, words: Ids, states: PackedStates | None, device: Any, sessions: StreamSessions | None
    ) -> None:
        """model: one of gapgram's own. words, states: as for `NextWords`. device: a `torch.device`."""
        import torch

        if not torch.cuda.is_available():
            raise DeviceError(f"device {device}: this PyTorch sees no card that works with CUDA; use .to('cpu')")
        self._torch = torch
        xp, free = find_cupy()
        fast = model.with_layout("fast")
        try:
            with xp.cuda.Device(device.index or 0):
                self._next_words = NextWords(HeldArrays(xp, fast._arrays), words, states)
                self._sessions = SessionsOnCard(xp, sessions) if sessions else None
        except xp.cuda.memory.OutOfMemoryError:
            raise DeviceError(f"device {device}: the model does not fit into the {free:,} bytes free there") from None
        self._n_labels = len(words)
        # The addresses of what the streams of a batch have read: graphs record where they lie.
        self._of_batch = torch.zeros(len(sessions) if sessions else 0, dtype=torch.int64, device=device)
        self._batch: list[int] = []
        if sessions:
            self.assign(list(range(len(sessions))))
        self._single = torch.empty(0, dtype=torch.float32, device=device)  # of the kind of new scores

    def assign(self, batch: list[int]) -> None:
        """Let these be the streams of the utterances of a batch."""
        self._batch = batch
        held = [self._sessions.of_streams[stream] for stream in batch] if self._sessions else []
        self._of_batch[: len(held)] = self._torch.tensor(held, dtype=self._torch.int64)

    def update(self, stream: int) -> None:
        """Lay out anew what a stream has read."""
        if self._sessions:
            with self._stream(self._of_batch.device):
                self._sessions.update(stream)
            self.assign(self._batch)

    def _streams_of(self, n: int) -> dict[str, Any]:
        """What the kernel is told of streams, for n states."""
        if self._sessions is None:
            return {}
        return {"sessions": self._of_batch.data_ptr(), "states_a_stream": n // len(self._batch) or 1}

    def advance(self, states: Any, eos: int, out: tuple[Any, Any] | None, rows: Any = None) -> tuple[Any, Any]:
        """(scores, states after), new tensors or those of `out`; with rows in the place of states, scores alone."""
        states, n = states.contiguous(), len(states)
        if out is None:
            scores = self._single.new_empty((n, self._n_labels))
            after = states.new_empty((n, self._n_labels))
        else:
            scores, after = out
        self._next_words(
            n, states.data_ptr(), scores.data_ptr(), after.data_ptr() if rows is None else 0, eos=eos,
            rows=0 if rows is None else rows.data_ptr(), stream=self._stream(states.device), **self._streams_of(n),
        )
        return scores, after

    def end(self, states: Any, rows: Any = None) -> Any:
        """float32 [state]: of the end of a sentence."""
        states = states.contiguous()
        scores = self._torch.empty(states.shape, dtype=self._torch.float32, device=states.device)
        n, stream = states.numel(), self._stream(states.device)
        held = 0 if rows is None else rows.data_ptr()
        self._next_words.end(n, states.data_ptr(), scores.data_ptr(), rows=held, stream=stream, **self._streams_of(n))
        return scores

    def _stream(self, device: Any) -> Any:
        return current_stream(device)


def current_stream(device: Any) -> Any:
    """PyTorch's current stream, as CuPy has it; asked as compilers for PyTorch ask, which takes 0.2 µs, not 6."""
    import torch

    raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    return _external(raw(device.index) if raw else torch.cuda.current_stream(device).cuda_stream)


@cache
def _external(pointer: int) -> Any:
    from cupy.cuda import ExternalStream

    return ExternalStream(pointer)


MOST_VIEWS = 16  # that the kernel has room for


class SessionsOnCard:
    """The lists of each stream, one buffer a stream, and their addresses, int64 [stream], which graphs may record."""

    def __init__(self, xp: ModuleType, sessions: StreamSessions) -> None:
        self._xp, self._sessions = xp, sessions
        history = sessions.histories[0]
        n_views = len(history.weights.views)
        if n_views > MOST_VIEWS:
            raise DeviceError(f"device cuda: sessions with {n_views} views: a card has room for {MOST_VIEWS}")
        views = np.zeros((MOST_VIEWS, 4), np.int32)
        views[:n_views, :3], views[:n_views, 3] = history.views.offsets, history.views.of_classes
        self._views, self._n_views = views.view(np.int64).reshape(-1), n_views
        self._classes = xp.asarray(history.views.class_of)
        self._held: list[Any] = [None] * len(sessions)
        self.of_streams = [0] * len(sessions)
        for stream in range(len(sessions)):
            self.update(stream)

    def update(self, stream: int) -> int:
        """Lay out anew what a stream has read; returns its address. What kernels under way still read stays."""
        lists = lists_of(self._sessions.histories[stream])
        parts = [np.ascontiguousarray(part).view(np.int64).reshape(-1) for part in lists[:3]]
        places = 8 + self._views.size + np.cumsum([0, *(part.size for part in parts)])
        buffer = self._xp.empty(int(places[-1]), np.int64)
        slots, following, logits = (address(buffer) + 8 * int(place) for place in places[:-1])
        head = (
            len(lists.slots) - 1, slots, following, logits, self._n_views, lists.age_row, address(self._classes),
            self._classes.size,
        )  # fmt: skip
        parts = [np.array(head, np.int64), self._views, *parts]
        buffer[:] = self._xp.asarray(np.concatenate(parts))
        self._held[stream] = buffer, self._held[stream] and self._held[stream][0]
        self.of_streams[stream] = address(buffer)
        return self.of_streams[stream]
