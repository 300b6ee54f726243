"""A gapgram model in the CTC decoder of torchaudio, which is flashlight's.

`torchaudio.models.decoder.ctc_decoder(lexicon, tokens, lm=CTCWordModel(model, words), …)`: `words` are the
words of the lexicon in the order of the decoder's word dictionary. Scores are log10, as flashlight's own
KenLM gives them, so that an `lm_weight` means the same.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import islice

from gapgram.errors import UsageError, to_install
from gapgram.kernels.special_words import END_ID, UNKNOWN_ID
from gapgram.models.open import load
from gapgram.queries.language_model import LanguageModel

try:
    from flashlight.lib.text.decoder import LM, LMState  # what torchaudio's CTCDecoderLM and its state are
except ImportError as error:
    raise ImportError(f"this adapter needs flashlight-text: {to_install('flashlight')}") from error


MOST_STATES = 1 << 19  # that are kept, also of texts decoded before; some hundred megabytes
_END = -1  # the token of the end of a sentence, which no dictionary has

# What is known of a decoder's state: the key of the model's state. Once a token was asked for after it also the state
# after each such token, and (score, key after it) of tokens, which all states with this key share.
_Steps = dict[int, tuple[float, bytes]]
_Asked = tuple[bytes, dict[int, LMState], _Steps]


class CTCWordModel(LM):  # type: ignore[misc]
    """torchaudio's `CTCDecoderLM`: start, score and finish over states that the decoder makes.

    Several decoders may share one and stream in turn. States are kept until many more were made: there is no telling
    when a decoder has done with one.

    most_states: beyond so many the oldest are forgotten when the next text begins.
    """

    def __init__(
        self, model: LanguageModel | str | os.PathLike[str], words: Sequence[str], *, most_states: int = MOST_STATES
    ) -> None:
        LM.__init__(self)
        self._model: LanguageModel = load(model) if isinstance(model, str | os.PathLike) else model
        self._ids = dict(enumerate(self._model._step_id(word) for word in words))
        self._ids[_END] = END_ID
        self._most_states = most_states
        self._known: dict[LMState, bytes | _Asked] = {}  # the oldest first
        self._steps: dict[bytes, _Steps] = {}
        self._n_steps = 0

    def start(self, start_with_nothing: bool) -> LMState:
        """The state before the first word; after the beginning of a sentence unless `start_with_nothing`."""
        self._forget()
        stepper, state = self._model._stepper, LMState()
        self._known[state] = stepper.null if start_with_nothing else stepper.beginning
        return state

    def score(self, state: LMState, usr_token_idx: int) -> tuple[LMState, float]:
        """The state after a word of the decoder's dictionary, and the word's log10 probability."""
        known = self._known.get(state)
        if not isinstance(known, tuple):
            known = self._asked(state, known)
        key, states, steps = known
        after = states.get(usr_token_idx)
        if after is not None:
            return after, steps[usr_token_idx][0]
        step = steps.get(usr_token_idx)
        if step is None:
            step = steps[usr_token_idx] = self._step(key, usr_token_idx)
        states[usr_token_idx] = after = LMState()
        self._known[after] = step[1]
        return after, step[0]

    def finish(self, state: LMState) -> tuple[LMState, float]:
        """The state after the end of the sentence, and the end's log10 probability."""
        return self.score(state, _END)

    def _asked(self, state: LMState, key: bytes | None) -> _Asked:
        """What is known of a state of which nothing was asked before."""
        if key is None:
            raise UsageError("a state that this model did not give, or one that was given too many states ago")
        known = self._known[state] = key, {}, self._steps.setdefault(key, {})
        return known

    def _step(self, key: bytes, token: int) -> tuple[float, bytes]:
        score, length, after = self._model._stepper.one(key, self._ids.get(token, UNKNOWN_ID))
        if length < 1:
            raise self._model._stepper.fault(length)
        self._n_steps += 1
        return score, after

    def _forget(self) -> None:
        """Drop the oldest states, and what is known of keys, while there is too much."""
        for state in list(islice(self._known, max(len(self._known) - self._most_states, 0))):
            del self._known[state]
        if self._n_steps > self._most_states:
            self._steps.clear()
            self._n_steps = 0
