"""A model as the service holds it: opened, warmed up, asked questions. The one place that knows gapgram's queries."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterable
from functools import cached_property
from itertools import accumulate, chain, compress, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gapgram.applications.correction.corrector import Corrector
from gapgram.arrays import Floats
from gapgram.kernels.text.special_words import END, START, UNKNOWN, UNKNOWN_ID
from gapgram.models.model import Model
from gapgram.queries.generate import generate
from gapgram.queries.language_model import LanguageModel
from gapgram.queries.perplexity import Perplexity
from gapgram.queries.predict import Prediction
from gapgram.queries.session import Session
from gapgram.queries.typing_words import TypedWords
from gapgram.queries.whole_words import WholeWords
from gapgram.reporting.model_info import foreign_info, model_info
from gapgram.reporting.showcase import skips
from gapgram.text.files import Block
from gapgram.text.vocabulary import Vocabulary
from gapgram.web import requests, responses
from gapgram.web.lattices import explained
from gapgram.web.pool import Deadline
from gapgram.web.readers import Readers

if TYPE_CHECKING:  # a kind of model is loaded when a file is of that kind
    from gapgram.models.backoff import BackoffModel
    from gapgram.models.kenlm_binary.model import KenlmModel

    ServableModel = Model | BackoffModel | KenlmModel

_BLOCK_LINES = 2_000  # lines scored between two looks at the clock


def words_of(text: str) -> list[str]:
    """The words of a text. The model's own words `<s>` and `</s>` are no words of a text: unknown ones.

    >>> words_of("the  cat\\t</s>")
    ['the', 'cat', '<unk>']
    """
    words = [word.decode() for word in text.encode().split()]
    return [UNKNOWN if word in (START, END) else word for word in words]


_FOREIGN: dict[str, Any] = {"lattice": "chain", "weights": "none", "patterns": []}  # of KenLM's and ARPA files


class ChangedFile(Exception):
    """The file of a model is no longer what was opened."""


def _state_of(path: Path | None) -> tuple[tuple[int, int], int, int] | None:
    """Which file a path names, how large it is and when it was changed; None where there is none."""
    try:
        status = os.stat(path) if path is not None else None
    except OSError:
        return None
    return status and ((status.st_dev, status.st_ino), status.st_size, status.st_mtime_ns)


class ServedModel:
    """A model under the name it is served by. Safe to share between threads."""

    def __init__(self, name: str, model: ServableModel) -> None:
        self.name, self.model = name, model
        self._corrector, self._correcting = list[Corrector](), threading.Lock()
        self._signature = str(model.signature)
        self._opened = _state_of(model.path)
        self._readers = Readers(model)
        self._tokeniser = model.tokeniser

    def check_file(self) -> None:
        """Refuse to read a file that was changed in place since it was opened: it is mapped, and may be shorter now.

        One that took its name, or none, does not matter: what was opened stays as it was.
        """
        now = _state_of(self.model.path)
        if self._opened is not None and now is not None and now[0] == self._opened[0] and now != self._opened:
            raise ChangedFile(f"the file of model {self.name} was changed in place: start the service again")

    def warm_up(self) -> None:
        """Compile or load every kernel and sort what is sorted once, before anybody waits for it."""
        self.predict(requests.PredictQuestion(model="", context="a"))
        self.predict(requests.PredictQuestion(model="", prefix="a"))
        self.predict(requests.PredictQuestion(model="", history="a"))
        self.score(requests.ScoreQuestion(model="", text="a"), Deadline.never())
        self.explain(requests.ExplainQuestion(model="", word="a"))
        self.generate(requests.GenerateQuestion(model="", max_words=1), Deadline.never())

    @cached_property
    def description(self) -> responses.ModelDescription:
        """The model's figures."""
        model, own = self.model, isinstance(self.model, Model)
        info = model_info(model) if isinstance(model, Model) else {**_FOREIGN, **foreign_info(model)}
        return responses.ModelDescription(
            **info,
            name=self.name,
            estimator=info["model"],
            trained_words=info["words"] if own else None,
            trained_sentences=info["sentences"] if own else None,
            punctuation_apart="," in model.vocabulary or "." in model.vocabulary,
            skips=skips(model),
        )

    def predict(self, question: requests.PredictQuestion) -> responses.Predictions:
        """The most probable next words; whole ones where the model counts tokens."""
        context, history = self._context(question), self._history(question.history)
        if history:
            with self._readers.after(history) as session:
                return self._predicted(session, context, question)
        return self._predicted(self.model, context, question)

    def _predicted(
        self, asked: LanguageModel | Session, context: list[str], question: requests.PredictQuestion
    ) -> responses.Predictions:
        """What a model, or a session of it, predicts; of words of a session which part of each was learned."""
        session = asked if isinstance(asked, Session) else None
        found: Callable[..., list[Prediction]] = asked.predict
        if self._tokeniser is not None:
            found = (self._whole_words if session is None else WholeWords(session)).predict
        elif question.words_only:
            found = (self._typed_words if session is None else TypedWords(session)).predict
        predictions = found(context, question.k, prefix=question.prefix)
        if session is None or self._tokeniser is not None:
            predicted = [responses.Predicted(word=p.word, probability=p.probability) for p in predictions]
        else:
            predicted = [_with_learned(session, context, one) for one in predictions]
        return responses.Predictions(
            model=self.name,
            predictions=predicted,
            unknown=[word for word in context if word not in asked.vocabulary],
            words_learned=0 if session is None else session.words_read,
            signature=str(asked.signature),
        )

    def _history(self, text: str) -> str:
        """The lines of a text that was read before, as sessions take them: as they are where they are cut later."""
        if self._tokeniser is not None:
            return "".join(f"{line}\n" for line in text.split("\n") if line.strip())
        return "".join(f"{' '.join(words)}\n" for words in map(self._words, text.split("\n")) if words)

    @cached_property
    def _typed_words(self) -> TypedWords:
        return TypedWords(self.model)

    @cached_property
    def _whole_words(self) -> WholeWords:
        return WholeWords(self.model)

    def explain(self, question: requests.ExplainQuestion) -> responses.ExplainedWord:
        """A probability taken apart; where the model counts tokens that of the last token."""
        context, word = self._context(question), question.word
        if self._tokeniser is not None:
            *context, word = [*self._context(question, word)] or [word]
        taken_apart = explained(self.model, word, context)
        return responses.ExplainedWord(
            model=self.name,
            word=word,
            known=word in self.model.vocabulary,
            context=context,
            unknown=self._unknown(context),
            log10_prob=math.log10(taken_apart["probability"]),
            signature=self._signature,
            **taken_apart,
        )

    def score(self, question: requests.ScoreQuestion, deadline: Deadline) -> responses.Scores:
        """A text word by word; lines without words are left out."""
        read = self._words if self._tokeniser is not None else words_of  # a word is shown as it is written
        lines = [words for words in map(read, question.text.split("\n")) if words]
        sentences: list[responses.ScoredSentence] = []
        scores, of_known = list[float](), list[float]()  # of the words that the model reads, and of those that it knows
        for begin in range(0, len(lines), _BLOCK_LINES):
            deadline.check()
            sentences += self._score(lines[begin : begin + _BLOCK_LINES], scores, of_known)
        words, unknown = len(scores) - len(sentences), len(scores) - len(of_known)
        total = math.fsum(scores)
        result = Perplexity(words, unknown, len(sentences), total, math.fsum(of_known), self._signature)
        return responses.Scores.model_construct(
            model=self.name,
            sentences=sentences,
            words=words,
            unknown_words=unknown,
            log10_prob=total,
            perplexity=_finite(result.perplexity),
            perplexity_known=_finite(result.perplexity_known),
            signature=self._signature,
        )

    def generate(self, question: requests.GenerateQuestion, deadline: Deadline) -> responses.Generated:
        """Sentences drawn from the model."""
        drawn = generate(
            _Watched(self.model, deadline),
            question.sentences,
            begin=self._words(question.begin),
            temperature=question.temperature,
            top_k=question.top_k,
            max_words=question.max_words,
            seed=question.seed,
        )
        sentences = [self.model.text_of(words) for words in drawn]
        return responses.Generated(model=self.name, sentences=sentences, signature=self._signature)

    def correct(self, question: requests.CorrectQuestion, deadline: Deadline) -> responses.Corrected:
        """What changes in each line; lines without words are left out.

        The index of near words takes seconds for a large vocabulary: it is made once, whoever waits for it.
        """
        with self._correcting:
            if not self._corrector:
                self._corrector.append(Corrector(self.model))
        sentences = []
        for line in filter(str.strip, question.text.split("\n")):
            deadline.check()
            correction = self._corrector[0].correct(line)
            changes = [responses.ChangedWords(**change._asdict()) for change in correction.changes]
            sentences.append(responses.CorrectedSentence(text=correction.after, changes=changes))
        return responses.Corrected(model=self.name, sentences=sentences, signature=self._signature)

    def _words(self, text: str) -> list[str]:
        """The words of a text, or its tokens."""
        if self._tokeniser is not None:
            return self.model.tokens(text)
        return words_of(self.model.splitter.line(text) if self.model.splitting else text)

    def _context(self, question: requests.InContext, word: str = "") -> list[str]:
        """The words that a prediction can see, `<s>` among them where it is near enough; of a text that ends in `word`
        also its last token."""
        words = [*([START] if question.start else []), *self._words(f"{question.context} {word}")]
        seen = self.model.order - 1 + bool(word)
        return words[max(0, len(words) - seen) :]

    def _unknown(self, words: Iterable[str]) -> list[str]:
        return [word for word in words if word not in self.model.vocabulary]

    def _score(
        self, lines: list[list[str]], all_scores: list[float], of_known: list[float]
    ) -> list[responses.ScoredSentence]:
        """Lines of words, with all scores noted; where the model cuts a word further, it has the sum of its parts."""
        cut = self.model.splitter.cut if self.model.splitting else None
        parts = [[cut(word) if cut else [word] for word in words] for words in lines]
        data = "".join(f"{' '.join(chain.from_iterable(words))}\n" for words in parts).encode()
        scored = self.model.score_block(Block("the text", 1, data, is_tokenised=True))
        scores, known = scored.scores.tolist(), (scored.ids != UNKNOWN_ID).tolist()
        out = []
        for words, cuts, (a, b) in zip(lines, parts, pairwise(scored.begins.tolist()), strict=True):
            all_scores += scores[a + 1 : b]
            of_known += compress(scores[a + 1 : b], known[a + 1 : b])
            spans = list(pairwise(accumulate([*map(len, cuts), 1], initial=a + 1)))
            out.append(responses.ScoredSentence.model_construct(
                words=[*words, END], log10_probs=[sum(scores[i:j]) if j - i > 1 else scores[i] for i, j in spans],
                known=[all(known[i:j]) for i, j in spans],
            ))  # fmt: skip
        return out


def _with_learned(session: Session, context: list[str], found: Prediction) -> responses.Predicted:
    """A word that a session predicts, and which part of its probability was learned."""
    of_model = session.explain(found.word, context).sources[0].contribution
    learned = min(max(1 - of_model / found.probability, 0.0), 1.0)
    return responses.Predicted(word=found.word, probability=found.probability, learned=learned)


class _Watched:
    """A model that stops giving distributions when nobody waits for them any more."""

    def __init__(self, model: LanguageModel, deadline: Deadline) -> None:
        self._model, self._deadline = model, deadline

    @property
    def vocabulary(self) -> Vocabulary:
        """The words of the model."""
        return self._model.vocabulary

    def distribution(self, context: Any = ()) -> Floats:
        """P(· | context), while there is time."""
        self._deadline.check()
        return self._model.distribution(context)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
