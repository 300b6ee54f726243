"""Finding a card: what numba-cuda needs of NumPy is there while it is imported, and no longer."""

from __future__ import annotations

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
