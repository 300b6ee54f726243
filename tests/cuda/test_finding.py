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


def test_arrays_of_a_card_are_taken_without_a_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    own, by_interface = SimpleNamespace(is_ours=True), SimpleNamespace(__cuda_array_interface__={})
    cuda: Any = SimpleNamespace(
        cudadrv=SimpleNamespace(devicearray=SimpleNamespace(is_cuda_ndarray=lambda array: hasattr(array, "is_ours"))),
        as_cuda_array=lambda array: ("seen", array), to_device=lambda array: ("copied", array),
    )  # fmt: skip
    cupy: Any = SimpleNamespace(from_dlpack=lambda array: ("by cupy", array))
    monkeypatch.setattr(card, "find_sorter", lambda: (cupy, 0))
    assert card.held_on_card(cuda, own) is own
    assert card.held_on_card(cuda, by_interface) == ("seen", by_interface)
    on_card, on_cpu, plain = OfDLPack(2), OfDLPack(1), np.zeros(3)  # 1 and 2: kDLCPU and kDLCUDA of DLPack's header
    assert card.held_on_card(cuda, on_card) == ("seen", ("by cupy", on_card))
    assert card.held_on_card(cuda, on_cpu) == ("copied", on_cpu)
    assert card.held_on_card(cuda, plain)[0] == "copied"  # NumPy's speak DLPack, too
