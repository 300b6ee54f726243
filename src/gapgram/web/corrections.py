"""Texts corrected by a served model; what that needs is made when it is first asked for."""

from __future__ import annotations

import threading

from gapgram.applications.correction.corrector import Corrector
from gapgram.queries.language_model import LanguageModel
from gapgram.web import requests, responses
from gapgram.web.pool import Deadline


class ServedCorrector:
    """Corrects texts with one model. Safe to share between threads."""

    def __init__(self, name: str, model: LanguageModel) -> None:
        self._name, self._model = name, model
        self._lock, self._made = threading.Lock(), list[Corrector]()

    def correct(self, question: requests.CorrectQuestion, deadline: Deadline) -> responses.Corrected:
        """What changes in each line; lines without words are left out."""
        corrector = self._corrector()
        lines = [line for line in question.text.split("\n") if line.strip()]
        sentences = []
        for line in lines:
            deadline.check()
            correction = corrector.correct(line)
            changes = [responses.ChangedWords(**change._asdict()) for change in correction.changes]
            sentences.append(responses.CorrectedSentence(text=correction.after, changes=changes))
        return responses.Corrected(model=self._name, sentences=sentences, signature=str(self._model.signature))

    def _corrector(self) -> Corrector:
        """The index of near words takes seconds for a large vocabulary: it is made once, whoever waits for it."""
        with self._lock:
            if not self._made:
                self._made.append(Corrector(self._model))
            return self._made[0]
