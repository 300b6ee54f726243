"""States of a model in tensors of PyTorch, for many words at a time: on the CPU, or on a card, where they stay."""

from __future__ import annotations

from typing import Any

import numpy as np

from gapgram.queries.state_rows import StateRows

Tensor = Any  # torch.Tensor


class RowStates:
    """States of a model that the CPU holds: a state is the number of a row."""

    def __init__(self, rows: StateRows, key: bytes) -> None:
        self._rows, self._n = rows, 1
        rows.begin(key)

    def beginning(self, n: int) -> Tensor:
        """n states at the beginning."""
        import torch

        return torch.zeros((n, 1), dtype=torch.int64)

    def step(self, states: Tensor, words: Tensor) -> tuple[Tensor, Tensor]:
        """(log10 of the probability of each word after its state, the states after)."""
        import torch

        n, answers = len(words), np.zeros(len(words))
        after = np.arange(self._n, self._n + n)
        self._n += n
        self._rows.make_room(2 * self._n)
        asked = np.column_stack([states[:, 0].numpy(), words.numpy(), after, after]).astype(np.int32)
        self._rows.extend(asked, n, answers)
        return torch.from_numpy(answers), torch.from_numpy(after)[:, None]


class CardStates:
    """States of a model on a card: the last words of each."""

    def __init__(self, model: Any, device: Any, *, bos: bool) -> None:
        self._model, self._device, self._bos = model, device, bos

    def beginning(self, n: int) -> Tensor:
        """n states at the beginning."""
        import torch

        return torch.as_tensor(self._model.new_states(n, bos=self._bos), device=self._device)

    def step(self, states: Tensor, words: Tensor) -> tuple[Tensor, Tensor]:
        """(log10 of the probability of each word after its state, the states after)."""
        import torch

        scores = torch.empty(len(words), dtype=torch.float64, device=self._device)
        after = torch.empty_like(states)
        if len(words):
            self._model.step(states.contiguous(), words.to(torch.int32), out=(scores, after))
        return scores, after
