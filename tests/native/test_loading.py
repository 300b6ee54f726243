"""Machine code as functions of Python."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tests.support.running import HANGING_SECONDS

from gapgram.kernels import jit

# In a process of its own: others may have loaded the kernel, and the module, before.
_PROGRAM = """
import gc
from gapgram.kernels.keys import key_bits_of
from gapgram.native import loading
assert key_bits_of(5) == 3
gc.collect()
kept = [each.name for each in gc.get_objects() if isinstance(each, loading._Method)]
print(any(name.startswith(b"keys.key_bits_of.") for name in kept))
"""


@pytest.mark.skipif(jit.AS_PYTHON or not jit.AS_MACHINE_CODE, reason="kernels are called by Python or Numba")
def test_what_python_reads_of_a_function_is_never_freed() -> None:
    command = [sys.executable, "-c", _PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANGING_SECONDS)
    assert done.stdout == "True\n", done.stderr
