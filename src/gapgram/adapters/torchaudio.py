"""A gapgram model in the CTC decoder of torchaudio, which is flashlight's.

`torchaudio.models.decoder.ctc_decoder(lexicon, tokens, lm=CTCWordModel(model, words), …)`: `words` are the
words of the lexicon in the order of the decoder's word dictionary. Scores are log10, as flashlight's own
KenLM gives them, so that an `lm_weight` means the same.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from gapgram.kernels.special_words import END, UNKNOWN
from gapgram.models.open import load
from gapgram.queries.language_model import LanguageModel
from gapgram.queries.states import State

try:
    from flashlight.lib.text.decoder import LM, LMState  # what torchaudio's CTCDecoderLM and its state are
except ImportError as error:
    raise ImportError("this adapter needs flashlight-text: pip install 'gapgram[flashlight]'") from error


class CTCWordModel(LM):  # type: ignore[misc]
    """torchaudio's `CTCDecoderLM`: start, score and finish over states that the decoder makes."""

    def __init__(self, model: LanguageModel | str | os.PathLike[str], words: Sequence[str]) -> None:
        LM.__init__(self)
        self._model: LanguageModel = load(model) if isinstance(model, str | os.PathLike) else model
        self._words = list(words)
        self._known: dict[LMState, tuple[float, State]] = {}

    def start(self, start_with_nothing: bool) -> LMState:
        """The state before the first word; after the beginning of a sentence unless `start_with_nothing`."""
        self._known.clear()
        state = LMState()
        self._known[state] = 0.0, self._model.null_context() if start_with_nothing else self._model.begin_sentence()
        return state

    def score(self, state: LMState, usr_token_idx: int) -> tuple[LMState, float]:
        """The state after a word of the decoder's dictionary, and the word's log10 probability."""
        known = 0 <= usr_token_idx < len(self._words)
        return self._after(state, usr_token_idx, self._words[usr_token_idx] if known else UNKNOWN)

    def finish(self, state: LMState) -> tuple[LMState, float]:
        """The state after the end of the sentence, and the end's log10 probability."""
        return self._after(state, -1, END)

    def _after(self, state: LMState, token: int, word: str) -> tuple[LMState, float]:
        after = state.child(token)
        if after not in self._known:
            self._known[after] = self._model.extend(self._known[state][1], word)
        return after, self._known[after][0]
