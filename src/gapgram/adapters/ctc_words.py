"""A gapgram model in the CTC decoder of torchaudio, which is flashlight's.

`torchaudio.models.decoder.ctc_decoder(lexicon, tokens, lm=CTCWordModel(model, words), …)`: `words` are the
words of the lexicon in the order of the decoder's word dictionary. Scores are log10, as flashlight's own
KenLM gives them, so that an `lm_weight` means the same.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from gapgram import kenlm
from gapgram.opening import AnyModel

try:
    from flashlight.lib.text.decoder import LM, LMState  # what torchaudio's CTCDecoderLM and its state are
except ImportError as error:
    raise ImportError("this adapter needs flashlight-text: pip install 'gapgram[flashlight]'") from error


class CTCWordModel(LM):  # type: ignore[misc]
    """torchaudio's `CTCDecoderLM`: start, score and finish over states that the decoder makes."""

    def __init__(self, model: AnyModel | str | os.PathLike[str], words: Sequence[str]) -> None:
        LM.__init__(self)
        self._model, self._words = kenlm.Model(model), list(words)
        self._states: dict[LMState, kenlm.State] = {}
        self._scores: dict[LMState, float] = {}

    def start(self, start_with_nothing: bool) -> LMState:
        """The state before the first word; after the beginning of a sentence unless `start_with_nothing`."""
        self._states.clear()
        self._scores.clear()
        state, words = LMState(), kenlm.State()
        if not start_with_nothing:
            self._model.BeginSentenceWrite(words)
        self._states[state] = words
        return state

    def score(self, state: LMState, usr_token_idx: int) -> tuple[LMState, float]:
        """The state after a word of the decoder's dictionary, and the word's log10 probability."""
        after = state.child(usr_token_idx)
        if after not in self._scores:
            known = 0 <= usr_token_idx < len(self._words)
            word = self._words[usr_token_idx] if known else "<unk>"
            self._states[after] = kenlm.State()
            self._scores[after] = self._model.BaseScore(self._states[state], word, self._states[after])
        return after, self._scores[after]

    def finish(self, state: LMState) -> tuple[LMState, float]:
        """The state after the end of the sentence, and the end's log10 probability."""
        after = state.child(-1)
        if after not in self._scores:
            self._states[after] = kenlm.State()
            self._scores[after] = self._model.BaseScore(self._states[state], "</s>", self._states[after])
        return after, self._scores[after]
