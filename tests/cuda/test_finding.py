"""Finding a card, and arrays on it: what numba-cuda needs of NumPy is there while it is imported, and no longer."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gapgram.cuda import card


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("fails", [False, True])
def test_a_name_that_numpy_has_given_up_is_lent_to_numba_cuda(monkeypatch: pytest.MonkeyPatch, fails: bool) -> None:
    found = []

    def imported(name: str) -> None:
        found.append((name, getattr(np, "row_stack", None)))
        if fails:
            raise ImportError(name)

    monkeypatch.delattr(np, "row_stack", raising=False)
    monkeypatch.setattr(card, "import_module", imported)
    if fails:
        with pytest.raises(ImportError):
            card._import_implementations()
    else:
        card._import_implementations()
    assert found == [("numba.cuda.cudaimpl", np.vstack)]
    assert "row_stack" not in vars(np)


class OfDLPack:
    """An array that gives its memory by DLPack alone; the kind of device it is on."""

    def __init__(self, device: int) -> None:
        self.device = device

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device, 0


def test_arrays_of_a_card_are_taken_without_a_copy() -> None:
    by_interface = SimpleNamespace(__cuda_array_interface__={})
    cupy: Any = SimpleNamespace(
        ndarray=bytes, from_dlpack=lambda array: ("seen", array), asarray=lambda array: ("taken", array)
    )
    assert card.held_on_card(cupy, by_interface) == ("taken", by_interface)
    on_card, on_cpu, plain = OfDLPack(2), OfDLPack(1), np.zeros(3)  # 1 and 2: kDLCPU and kDLCUDA of DLPack's header
    assert card.held_on_card(cupy, on_card) == ("seen", on_card)
    assert card.held_on_card(cupy, on_cpu) == ("taken", on_cpu)
    assert card.held_on_card(cupy, plain)[0] == "taken"  # NumPy's speak DLPack, too
