"""An utterance decoded while it goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gapgram.ctc.hypotheses import Hypothesis, hypotheses_of
from gapgram.ctc.options import DecoderOptions
from gapgram.ctc.search import Search
from gapgram.errors import UsageError
from gapgram.queries.states import State
from gapgram.system.one_at_a_time import OneAtATime, one_at_a_time

if TYPE_CHECKING:
    from gapgram.ctc.decoder import Decoder


class StreamedText(NamedTuple):
    """The text so far: what is settled, whatever follows, and what may change."""

    settled: str
    open: str

    def __str__(self) -> str:
        return f"{self.settled} {self.open}".strip()


class DecoderStream(OneAtATime):
    """One utterance, frames of it at a time: the text is that of all frames in one piece.

    Several threads may use it: a call waits for the one before. Memory grows with the utterance: begin another one
    where nobody speaks, with `state` of what `finish` gives.
    """

    def __init__(self, decoder: Decoder, hot_words: Any, state: State | None, options: DecoderOptions) -> None:
        super().__init__()
        self._decoder, self._options = decoder, options
        self._search: Search | None = decoder.taken(options, hot_words, state, distinct=True)
        self._final = StreamedText("", "")

    @one_at_a_time
    def push(self, logits: Any) -> StreamedText:
        """Decode some more frames."""
        if self._search is None:
            raise _is_finished()
        self._search.feed(self._decoder.frames(logits, self._options))
        return self.text

    @property
    @one_at_a_time
    def text(self) -> StreamedText:
        """The text so far."""
        if self._search is None:
            return self._final
        settled, best = self._search.spelled(self._search.settled()), self._search.best()
        return StreamedText(settled, best[len(settled) :].strip())

    def finish(self) -> Hypothesis:
        """The text of the whole utterance; nothing can be pushed after that."""
        return self._finished(1)[0]

    def finish_beams(self) -> list[Hypothesis]:
        """The hypotheses for the whole utterance, best first."""
        return self._finished(None)

    @one_at_a_time
    def _finished(self, first: int | None) -> list[Hypothesis]:
        search = self._search
        if search is None:
            raise _is_finished()
        alphabet, by_label = self._decoder.alphabet, self._decoder.by_label
        found = hypotheses_of(search, search.endings(), alphabet, by_label=by_label, first=first)
        self._search, self._final = None, StreamedText(found[0].text, "")
        self._decoder.give_back(search)
        return found


def _is_finished() -> UsageError:
    return UsageError("the stream is finished: begin another one, with state= to go on after it")
