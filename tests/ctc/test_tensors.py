"""Logits are those of other libraries too: torch's tensors, and whatever speaks DLPack."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.ctc.test_decoder import LABELS, logits_of

from gapgram import Model
from gapgram.ctc import Decoder

pytestmark = pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning")


class Shared:
    """An array that is known by DLPack alone."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()


@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
def test_arrays_by_dlpack(made: dict[str, Model], kind: str) -> None:
    decoder, logits = Decoder(LABELS, made["mkn"]), logits_of(len(LABELS), 3).astype(kind)
    assert decoder.decode_beams(Shared(logits)) == decoder.decode_beams(logits)


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32", "float64"])
def test_tensors_of_torch(made: dict[str, Model], kind: str) -> None:
    torch = pytest.importorskip("torch")
    decoder = Decoder(LABELS, made["mkn"])
    tensor = torch.tensor(logits_of(len(LABELS), 3)).to(getattr(torch, kind)).requires_grad_()
    same = np.array(tensor.tolist())
    text = decoder.decode(same)
    assert text
    assert decoder.decode(tensor) == text
    assert decoder.decode_many(torch.stack([tensor, tensor]), lengths=[len(same)] * 2) == [text] * 2
