"""Machine code as functions of Python."""

from __future__ import annotations

import gc

import pytest

from gapgram.kernels import jit
from gapgram.kernels.keys import key_bits_of
from gapgram.native import loading


@pytest.mark.skipif(jit.AS_PYTHON or not jit.AS_MACHINE_CODE, reason="kernels are called by Python or Numba")
def test_what_python_reads_of_a_function_is_never_freed() -> None:
    assert key_bits_of(5) == 3
    gc.collect()
    kept = [each.name for each in gc.get_objects() if isinstance(each, loading._Method)]
    assert any(name.startswith(b"keys.key_bits_of.") for name in kept)
