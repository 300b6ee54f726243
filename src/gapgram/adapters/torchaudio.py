"""A gapgram model in the CTC decoder of torchaudio, which is flashlight's.

`torchaudio.models.decoder.ctc_decoder(lexicon, tokens, lm=CTCWordModel(model, words), …)`: `words` are the
words of the lexicon in the order of the decoder's word dictionary. Scores are log10, as flashlight's own
KenLM gives them, so that an `lm_weight` means the same.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from gapgram.errors import UsageError, to_install
from gapgram.kernels.special_words import END_ID, UNKNOWN_ID
from gapgram.models.open import load
from gapgram.queries.language_model import LanguageModel

try:
    from flashlight.lib.text.decoder import LM, LMState  # what torchaudio's CTCDecoderLM and its state are
except ImportError as error:
    raise ImportError(f"this adapter needs flashlight-text: {to_install('flashlight')}") from error


MOST_STATES = 1 << 19  # that are kept of texts decoded before; some hundred megabytes
_END = -1  # the token of the end of a sentence, which no dictionary has

# What is known of a decoder's state: the key of the model's state, (state, score) after each token that was asked for,
# and all states of the text that is decoded.
_Known = tuple[bytes, dict[int, tuple[LMState, float]], list[LMState]]


class CTCWordModel(LM):  # type: ignore[misc]
    """torchaudio's `CTCDecoderLM`: start, score and finish over states that the decoder makes.

    Several decoders may share one and stream in turn. States are kept until many more texts were begun: there is no
    telling when a decoder has done with one.

    most_states: beyond so many the texts begun first are forgotten.
    """

    def __init__(
        self, model: LanguageModel | str | os.PathLike[str], words: Sequence[str], *, most_states: int = MOST_STATES
    ) -> None:
        LM.__init__(self)
        self._model: LanguageModel = load(model) if isinstance(model, str | os.PathLike) else model
        self._ids = dict(enumerate(self._model._step_id(word) for word in words))
        self._ids[_END] = END_ID
        self._step = self._model._stepper.one
        self._most_states = most_states
        self._known: dict[LMState, _Known] = {}
        self._texts: list[list[LMState]] = []  # the states of each, the oldest first

    def start(self, start_with_nothing: bool) -> LMState:
        """The state before the first word; after the beginning of a sentence unless `start_with_nothing`."""
        self._forget()
        stepper, state = self._model._stepper, LMState()
        self._texts.append([state])
        self._known[state] = stepper.null if start_with_nothing else stepper.beginning, {}, self._texts[-1]
        return state

    def score(self, state: LMState, usr_token_idx: int) -> tuple[LMState, float]:
        """The state after a word of the decoder's dictionary, and the word's log10 probability."""
        known = self._known.get(state)
        if known is None:
            raise UsageError("a state that this model did not give, or of a text begun too many texts ago")
        found = known[1].get(usr_token_idx)
        if found is not None:
            return found
        score, length, key = self._step(known[0], self._ids.get(usr_token_idx, UNKNOWN_ID))
        if length < 1:
            raise self._model._stepper.fault(length)
        after = LMState()
        self._known[after] = key, {}, known[2]
        known[2].append(after)
        known[1][usr_token_idx] = found = after, score
        return found

    def finish(self, state: LMState) -> tuple[LMState, float]:
        """The state after the end of the sentence, and the end's log10 probability."""
        return self.score(state, _END)

    def _forget(self) -> None:
        """Drop the oldest texts while there are too many states."""
        while len(self._known) > self._most_states:
            for state in self._texts.pop(0):
                del self._known[state]
