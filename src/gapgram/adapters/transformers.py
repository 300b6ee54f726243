"""A gapgram model beside a neural decoder of Hugging Face's transformers, such as Whisper: shallow fusion."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from gapgram.adapters.nemo import FusionModel
from gapgram.errors import to_install
from gapgram.queries.language_model import LanguageModel

try:
    from transformers import LogitsProcessor
except ImportError as error:
    raise ImportError(f"this adapter needs transformers: {to_install('transformers')}") from error


class FusionLogitsProcessor(LogitsProcessor):  # type: ignore[misc, unused-ignore]
    """Adds `alpha` times a gapgram model's natural logarithms to the scores of all next tokens.

    `decoder.generate(…, logits_processor=LogitsProcessorList([FusionLogitsProcessor(model, …)]))`. Give it log
    probabilities to add to, as beam search does; with greedy search logits serve as well.

    labels: the decoder's tokens by their ids, as for `FusionModel`; tokens with higher ids, such as Whisper's for times
        and languages, are neither scored nor seen as context.
    prompt: how many tokens at the beginning belong to the prompt, and are no context.
    eos_token_id: the token that ends a text, if it is among the labels.
    """

    def __init__(
        self,
        model: LanguageModel | str | os.PathLike[str],
        labels: Sequence[str] | None = None,
        *,
        alpha: float = 0.3,
        prompt: int = 0,
        eos_token_id: int | None = None,
    ) -> None:
        self.fusion, self.alpha, self._prompt, self._end = FusionModel(model, labels), alpha, prompt, eos_token_id

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """The scores, float [sequence, token], with those of the model added."""
        if scores.device != self.fusion.device:
            self.fusion.to(scores.device)
        n = self.fusion.vocab_size
        states = self.fusion.get_init_states(len(input_ids))
        for column in input_ids[:, self._prompt :].T:
            after = self.fusion.states_after(states, column.clamp(max=n - 1))
            is_label = (column < n) & (column != (-1 if self._end is None else self._end))
            states = after.where(is_label, states)
        added, _ = self.fusion.advance(states)
        fused = scores.clone()
        fused[:, :n] += self.alpha * added.to(scores.dtype)
        if self._end is not None:
            fused[:, self._end] = scores[:, self._end] + self.alpha * self.fusion.get_final(states).to(scores.dtype)
        return fused
