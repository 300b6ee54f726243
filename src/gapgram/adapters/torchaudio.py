"""A gapgram model in the CTC decoder of torchaudio, which is flashlight's.

`torchaudio.models.decoder.ctc_decoder(lexicon, tokens, lm=CTCWordModel(model, words), …)`: `words` are the
words of the lexicon in the order of the decoder's word dictionary. Scores are log10, as flashlight's own
KenLM gives them, so that an `lm_weight` means the same.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
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

# What was asked after a state: the state after each such token, and by token the scores and the keys of what follows,
# which all states with the same key share.
_Asked = tuple[dict[int, LMState], dict[int, float], dict[int, bytes]]


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
        self._one = self._model._stepper.one
        self._ids = dict(enumerate(self._model._step_id(word) for word in words))
        self._ids[_END] = END_ID
        self._most_states = most_states
        self._keys: dict[LMState, bytes] = {}  # of all states, the oldest first
        self._known: dict[LMState, _Asked] = {}
        self._shared: dict[bytes, tuple[dict[int, float], dict[int, bytes]]] = {}
        self._n_steps = 0
        self.score = self._scorer()  # type: ignore[method-assign, assignment]

    def start(self, start_with_nothing: bool) -> LMState:
        """The state before the first word; after the beginning of a sentence unless `start_with_nothing`."""
        self._forget()
        stepper, state = self._model._stepper, LMState()
        self._keys[state] = stepper.null if start_with_nothing else stepper.beginning
        return state

    def score(self, state: LMState, usr_token_idx: int) -> tuple[LMState, float]:
        """The state after a word of the decoder's dictionary, and the word's log10 probability."""
        return self._scorer()(state, usr_token_idx)

    def finish(self, state: LMState) -> tuple[LMState, float]:
        """The state after the end of the sentence, and the end's log10 probability."""
        return self.score(state, _END)

    def _scorer(self) -> Callable[[LMState, int], tuple[LMState, float]]:
        """What a decoder finds as `score`, and calls thousands of times a word: a function that looks up no attributes.

        It keeps few tuples and lists: Python would go through all that there are whenever there are many more.
        """
        known, keys, asked, step, new = self._known, self._keys, self._asked, self._step, LMState

        def score(state: LMState, token: int) -> tuple[LMState, float]:
            states, scores, afters = known[state] if state in known else asked(state)
            if token in states:
                return states[token], scores[token]
            found = scores.get(token)
            if found is None:
                found = scores[token] = step(state, token, afters)
            after = states[token] = new()
            keys[after] = afters[token]
            return after, found

        return score

    def _asked(self, state: LMState) -> _Asked:
        """What is known after a state after which nothing was asked before."""
        key = self._keys.get(state)
        if key is None:
            raise UsageError("a state that this model did not give, or one that was given too many states ago")
        scores, afters = self._shared.setdefault(key, ({}, {}))
        asked: _Asked = {}, scores, afters
        self._known[state] = asked
        return asked

    def _step(self, state: LMState, token: int, afters: dict[int, bytes]) -> float:
        """The score of a token that was never asked for after the key of a state; the key after it goes to `afters`."""
        score, length, after = self._one(self._keys[state], self._ids.get(token, UNKNOWN_ID))
        if length < 1:
            raise self._model._stepper.fault(length)
        self._n_steps += 1
        afters[token] = after
        return score

    def _forget(self) -> None:
        """Drop the oldest states, and what is known of keys, while there is too much."""
        for state in list(islice(self._keys, max(len(self._keys) - self._most_states, 0))):
            del self._keys[state]
            self._known.pop(state, None)
        if self._n_steps > self._most_states:
            self._shared.clear()
            self._n_steps = 0
