"""A gapgram model in the CTC decoder of torchaudio, which is flashlight's.

`torchaudio.models.decoder.ctc_decoder(lexicon, tokens, lm=CTCWordModel(model, words), …)`: `words` are the
words of the lexicon in the order of the decoder's word dictionary. Scores are log10, as flashlight's own
KenLM gives them, so that an `lm_weight` means the same.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from gapgram.errors import UsageError
from gapgram.kernels.special_words import END_ID, UNKNOWN_ID
from gapgram.models.open import load
from gapgram.queries.language_model import LanguageModel

try:
    from flashlight.lib.text.decoder import LM, LMState  # what torchaudio's CTCDecoderLM and its state are
except ImportError as error:
    raise ImportError("this adapter needs flashlight-text: pip install 'gapgram[flashlight]'") from error


MOST_STATES = 1 << 19  # that are kept of texts decoded before; half a gigabyte
_END = -1  # the token of the end of a sentence, which no dictionary has


class _Stream(NamedTuple):
    """The states of one text that is decoded, from its `start` on."""

    states: list[LMState]


class _DecoderNode(NamedTuple):
    """What is known of a decoder's state: the key of the model's state, and (state, score) after tokens asked for."""

    key: bytes
    after: dict[int, tuple[LMState, float]]
    stream: _Stream


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
        self._ids = [self._model._step_id(word) for word in words]
        self._step = self._model._stepper.checked
        self._most_states = most_states
        self._nodes: dict[LMState, _DecoderNode] = {}
        self._streams: list[_Stream] = []  # the oldest first

    def start(self, start_with_nothing: bool) -> LMState:
        """The state before the first word; after the beginning of a sentence unless `start_with_nothing`."""
        self._forget()
        stepper, stream = self._model._stepper, _Stream([])
        self._streams.append(stream)
        return self._new(stepper.null if start_with_nothing else stepper.beginning, stream)

    def score(self, state: LMState, usr_token_idx: int) -> tuple[LMState, float]:
        """The state after a word of the decoder's dictionary, and the word's log10 probability."""
        try:
            return self._nodes[state].after[usr_token_idx]
        except KeyError:
            known = 0 <= usr_token_idx < len(self._ids)
            return self._after(state, usr_token_idx, self._ids[usr_token_idx] if known else UNKNOWN_ID)

    def finish(self, state: LMState) -> tuple[LMState, float]:
        """The state after the end of the sentence, and the end's log10 probability."""
        try:
            return self._nodes[state].after[_END]
        except KeyError:
            return self._after(state, _END, END_ID)

    def _after(self, state: LMState, token: int, word: int) -> tuple[LMState, float]:
        node = self._nodes.get(state)
        if node is None:
            raise UsageError("a state that this model did not give, or of a text begun too many texts ago")
        score, _, key = self._step(node.key, word)
        node.after[token] = step = self._new(key, node.stream), score
        return step

    def _new(self, key: bytes, stream: _Stream) -> LMState:
        state = LMState()
        self._nodes[state] = _DecoderNode(key, {}, stream)
        stream.states.append(state)
        return state

    def _forget(self) -> None:
        """Drop the oldest texts while there are too many states."""
        while len(self._nodes) > self._most_states:
            for state in self._streams.pop(0).states:
                del self._nodes[state]
