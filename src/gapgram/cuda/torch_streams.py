"""`NextWords` for tensors of PyTorch: on its current stream, in memory that it manages."""

from __future__ import annotations

from functools import cache
from typing import Any

from gapgram.arrays import Ids
from gapgram.cuda.card import find_sorter
from gapgram.cuda.next_words import NextWords
from gapgram.errors import DeviceError


class TorchNextWords:
    """All next words after packed states, for tensors of one device."""

    def __init__(self, model: Any, words: Ids, device: Any) -> None:
        """model: one of gapgram's own. words: of each label, as for `NextWords`. device: a `torch.device`."""
        import torch

        if not torch.cuda.is_available():
            raise DeviceError(f"device {device}: this PyTorch sees no card that works with CUDA; use .to('cpu')")
        self._torch = torch
        xp, free = find_sorter()
        fast = model.with_layout("fast")
        try:
            with xp.cuda.Device(device.index or 0):
                self._next_words = NextWords(xp, fast._arrays, words)
        except xp.cuda.memory.OutOfMemoryError:
            raise DeviceError(f"device {device}: the model does not fit into the {free:,} bytes free there") from None
        self._n_labels = len(words)
        self._single = torch.empty(0, dtype=torch.float32, device=device)  # of the kind of new scores

    def advance(self, states: Any, eos: int, out: tuple[Any, Any] | None) -> tuple[Any, Any]:
        """(scores, states after), new tensors or those of `out`."""
        states, n = states.contiguous(), len(states)
        if out is None:
            scores = self._single.new_empty((n, self._n_labels))
            after = states.new_empty((n, self._n_labels))
        else:
            scores, after = out
        self._next_words(
            n, states.data_ptr(), scores.data_ptr(), after.data_ptr(), eos=eos, stream=self._stream(states.device)
        )
        return scores, after

    def end(self, states: Any) -> Any:
        """float32 [state]: of the end of a sentence."""
        states = states.contiguous()
        scores = self._torch.empty(states.shape, dtype=self._torch.float32, device=states.device)
        self._next_words.end(states.numel(), states.data_ptr(), scores.data_ptr(), stream=self._stream(states.device))
        return scores

    def _stream(self, device: Any) -> Any:
        """PyTorch's current stream, as CuPy has it; asked as compilers for PyTorch ask, which takes 0.2 µs, not 6."""
        raw = getattr(self._torch._C, "_cuda_getCurrentRawStream", None)
        return _external(raw(device.index) if raw else self._torch.cuda.current_stream(device).cuda_stream)


@cache
def _external(pointer: int) -> Any:
    from cupy.cuda import ExternalStream

    return ExternalStream(pointer)
