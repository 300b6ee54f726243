"""A gapgram model in the CTC decoder of torchaudio, which is flashlight's.

`torchaudio.models.decoder.ctc_decoder(lexicon, tokens, lm=CTCWordModel(model, words), …)`: `words` are the
words of the lexicon in the order of the decoder's word dictionary. Scores are log10, as flashlight's own
KenLM gives them, so that an `lm_weight` means the same.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from itertools import islice
from sys import getrefcount

from gapgram.errors import UsageError, to_install
from gapgram.kernels.text.special_words import END_ID, UNKNOWN_ID
from gapgram.models.open import load
from gapgram.queries.language_model import LanguageModel

try:
    from flashlight.lib.text.decoder import LM, LMState  # what torchaudio's CTCDecoderLM and its state are
except ImportError as error:
    raise ImportError(f"this adapter needs flashlight-text: {to_install('flashlight')}") from error


MOST_STATES = 1 << 19  # that are kept, also of texts decoded before; some hundred megabytes
_BATCH = 1024  # states that are made at a time: those of one text lie close together in memory
_END = -1  # the token of the end of a sentence, which no dictionary has
_OWN_REFERENCES = max([getrefcount(state) for state in {LMState(): b""}])  # to a state that no other Python code holds

# What was asked after a state: the state after each such token, and by token the scores and the keys of what follows,
# which all states with the same key share.
_Asked = tuple[dict[int, LMState], dict[int, float], dict[int, bytes]]


class CTCWordModel(LM):  # type: ignore[misc]
    """torchaudio's `CTCDecoderLM`: start, score and finish over states that the decoder makes.

    Several decoders may share one and stream in turn. States are kept until many more were made: there is no telling
    when a decoder has done with one.

    most_states: beyond so many the oldest are forgotten when the next text begins.
    one_decoder: a single decoder uses it, and one text ends before the next begins; the states of a text are given
        again to the next, which is faster.
    """

    def __init__(
        self,
        model: LanguageModel | str | os.PathLike[str],
        words: Sequence[str],
        *,
        most_states: int = MOST_STATES,
        one_decoder: bool = False,
    ) -> None:
        LM.__init__(self)
        self._model: LanguageModel = load(model) if isinstance(model, str | os.PathLike) else model
        self._ids = dict(enumerate(self._model._step_id(word) for word in words))
        self._ids[_END] = END_ID
        self._most_states, self._one_decoder = most_states, one_decoder
        self._keys: dict[LMState, bytes] = {}  # of all states, the oldest first
        self._known: dict[LMState, _Asked] = {}
        self._shared: dict[bytes, tuple[dict[int, float], dict[int, bytes]]] = {}
        self._next: list[LMState] = []  # to be given
        self._free: list[LMState] = []  # to be given again
        self._n_given = 0
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
        known, keys, asked, ids, following = self._known, self._keys, self._asked, self._ids, self._next
        step, more = self._model._stepper.one, self._more_states

        def score(state: LMState, token: int) -> tuple[LMState, float]:
            states, scores, afters = known[state] if state in known else asked(state)
            if token in states:
                return states[token], scores[token]
            if token in scores:
                found, key = scores[token], afters[token]
            else:
                found, length, key = step(keys[state], ids.get(token, UNKNOWN_ID))
                if length < 1:
                    raise self._model._stepper.fault(length)
                scores[token] = found
                afters[token] = key
            after = states[token] = following.pop() if following else more()
            keys[after] = key
            return after, found

        return score

    def _asked(self, state: LMState) -> _Asked:
        """What is known after a state after which nothing was asked before."""
        key = self._keys.get(state)
        if key is None:
            raise UsageError("a state that this model did not give, or one that was given too many states ago")
        if key not in self._shared:
            self._shared[key] = {}, {}
        asked: _Asked = {}, *self._shared[key]
        self._known[state] = asked
        return asked

    def _more_states(self) -> LMState:
        """Another state, and many more to be given after it."""
        self._next += self._free[-_BATCH:] or [LMState() for _ in range(_BATCH)]
        del self._free[-_BATCH:]
        self._n_given += _BATCH
        return self._next.pop()

    def _forget(self) -> None:
        """Drop the states of the last text, or the oldest ones, and what is known of keys, while there is too much."""
        if self._one_decoder:
            self._known.clear()
            self._free += [state for state in self._keys if getrefcount(state) <= _OWN_REFERENCES]
            self._keys.clear()
        for state in list(islice(self._keys, max(len(self._keys) - self._most_states, 0))):
            del self._keys[state]
            self._known.pop(state, None)
        if self._n_given > self._most_states:
            self._shared.clear()
            self._n_given = 0
