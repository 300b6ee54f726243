"""A model with contexts without a limit: what it says, mixed with what followed in the training text, which it keeps.

It is a `Model` in all else. Equations (47) to (50) of docs/ideas/mathematics.md; the kernels are those of
`gapgram.kernels.unbounded`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

import numpy as np

from gapgram.arguments import checked_whole
from gapgram.arrays import Begins, Floats, Ids, Integers
from gapgram.errors import UsageError
from gapgram.estimation.unbounded import Unbounded
from gapgram.kernels.probability.scores import sum_sequences
from gapgram.kernels.text.special_words import END_ID, START, START_ID
from gapgram.kernels.unbounded import mixing
from gapgram.models.model import Model
from gapgram.pattern import Pattern
from gapgram.queries.continuations import Continuation, beam_of
from gapgram.queries.evidence import Evidence, evidence, with_text
from gapgram.queries.explain import Explanation
from gapgram.queries.generate import pick, sharpened
from gapgram.queries.language_model import LanguageModel, Sentence
from gapgram.queries.line_scores import LineKernel, ScoredLines
from gapgram.queries.predict import ByModel, Prediction, allowed, indices_of_top_k, predict_by_sorting
from gapgram.queries.states import Stepper, other_model
from gapgram.text.corpus import QUERY_RULES, TextRules
from gapgram.text.files import Block

MOST_ASKED = 512  # words that follow in the text, of which the model is asked one by one


class UnboundedModel(Model):
    """A model that was trained with `unbounded=True`; `gapgram.Model` makes one where its parts have a text.

    >>> import gapgram
    >>> text = ["a b c d e f g h", "x b c d e f g i", "a b c"] * 30
    >>> model = gapgram.train(sentences=text, order=3, unbounded=True)
    >>> round(float(model.distribution("x b c d e f g").sum()), 9)
    1.0
    """

    @property
    def text(self) -> Unbounded:
        """The text that is kept, and how far it is trusted."""
        assert self.parts.unbounded is not None, "the parts of this kind have it"
        return self.parts.unbounded

    def facts(self) -> dict[str, object]:
        """What the model is, for people."""
        return {**super().facts(), "contexts": f"without a limit; keeps the text, {self.text.index.text.size:,} ids"}

    def _on_card(self) -> LanguageModel:
        raise UsageError("device cuda: models with contexts without a limit are scored by the CPU")

    def _context_ids(self, context: Sentence) -> Ids:
        """The ids of all words of a context."""
        words = self._context_words(context)
        super()._context_ids(words)  # refuses what is no context
        return self.vocabulary.ids(words).astype(np.int32)

    def _seen(self, ids: Ids) -> Ids:
        """The last words of a context, that the patterns see."""
        return ids[max(0, ids.size - self.order + 1) :]

    # Scores of texts.

    @cached_property
    def _score_line(self) -> LineKernel | None:  # type: ignore[override]
        return None

    def score_block(
        self, block: Block, rules: TextRules = QUERY_RULES, *, bos: bool = True, eos: bool = True
    ) -> ScoredLines:
        """Score lines as they are read from a text."""
        lines = super().score_block(block, rules, bos=bos, eos=eos)
        self._mix(lines.ids, lines.begins, lines.scores)
        return lines._replace(sums=sum_sequences(lines.scores, lines.begins))

    def score_checked_ids(self, ids: Ids, begins: Begins, out: Floats | None = None) -> Floats:
        """log10 of the probability of every position."""
        out = super().score_checked_ids(ids, begins, out)
        self._mix(ids, begins, out)
        return out

    def _score_after(self, ids: Ids) -> float:
        return float(self.score_checked_ids(ids, np.array([0, ids.size]))[-1])

    def _mix(self, ids: Ids, begins: Begins, scores: Floats) -> None:
        mixing.mix_sequences(self.text.index, self.text.logits, ids, begins, scores)

    # The next word.

    def distribution(self, context: Sentence = ()) -> Floats:
        """P(· | context) as an array over the ids of the vocabulary; it sums to one."""
        return self.distribution_of(self._context_ids(context))

    def distribution_of(self, ids: Ids) -> Floats:
        """The distribution after some ids."""
        weights, words, shares = self.text.followers(self.text.state(ids), len(self.vocabulary))
        out = super().distribution_of(ids)
        if words.size:
            out = weights[0] * out
            out[words] += shares
        return out

    def _continued(self, before: Ids, n: int, k: int, *, ends: bool) -> list[Continuation]:
        return beam_of(self.distribution_of, before, n, k, ends=ends)

    def _by_model(self, ids: Ids) -> ByModel | None:
        weights, words, shares = self.text.followers(self.text.state(ids), len(self.vocabulary))
        return ByModel(self._predictor, self._seen(ids), float(weights[0]), words, shares)

    def predict(
        self, context: Sentence = (), k: int = 10, *, prefix: str = "", special: bool = False
    ) -> list[Prediction]:
        """The k most probable next words, exactly; only those that start with `prefix`.

        A word that neither follows in the text nor is among the m that the patterns find most probable has at most what
        the m-th of these has.
        """
        ids, vocabulary = self._context_ids(context), self.vocabulary
        weights, words, shares = self.text.followers(self.text.state(ids), len(vocabulary))
        kept = np.isin(words, allowed(words, special))
        words, shares = words[kept], shares[kept]
        m = k if not weights[1:].any() else max(2 * k, 16)
        found = self._predictor.predict(self._seen(ids), m, prefix=prefix, special=special)
        if not weights[1:].any():
            return found
        if words.size > MOST_ASKED:
            return predict_by_sorting(self.distribution(context), vocabulary, k, prefix=prefix, special=special)
        if prefix:
            starts = [vocabulary[word].startswith(prefix) for word in words.tolist()]
            words, shares = words[starts], shares[starts]
        candidates = np.union1d(words, np.array([vocabulary.id(p.word) for p in found], np.int64)).astype(np.int64)
        probabilities = weights[0] * self._probabilities(ids, candidates)
        probabilities[np.searchsorted(candidates, words)] += shares
        best = indices_of_top_k(candidates, probabilities, k)
        least = weights[0] * found[-1].probability if len(found) == m else 0.0
        if len(found) == m and (best.size < k or probabilities[best[-1]] <= least):
            return predict_by_sorting(self.distribution(context), vocabulary, k, prefix=prefix, special=special)
        return [Prediction(vocabulary[int(candidates[i])], float(probabilities[i])) for i in best]

    def _probabilities(self, ids: Ids, words: Integers) -> Floats:
        """What the patterns give each of some words after a context."""
        before = self._seen(ids)
        rows = np.column_stack([np.tile(before, (words.size, 1)), words]).astype(np.int32)
        begins = np.arange(words.size + 1) * rows.shape[1]
        scores: Floats = super().score_checked_ids(rows.ravel(), begins)[begins[1:] - 1]
        return 10.0**scores

    def draw_ids(
        self, n: int, begin: Sequence[str] = (), *, max_words: int = 100, seed: int = 1, threads: int | None = None
    ) -> Iterator[Ids]:
        """The ids of the words of n sentences that are drawn from the model, word by word."""
        draw, first = np.random.default_rng(seed), self.vocabulary.ids(begin).tolist()
        for _ in range(n):
            words = [START, *begin]
            ids = list(first)
            while len(ids) < max_words:
                word = pick(sharpened(self.distribution(words), 1.0, None), draw.random())
                if word == END_ID:
                    break
                ids.append(word)
                words.append(self.vocabulary[word])
            yield np.array(ids, np.int32)

    def explain(self, word: str, context: Sentence = ()) -> Explanation:
        """Where P(word | context) comes from: the patterns, and what followed in the text."""
        ids, asked = self._context_ids(context), self._word_id(word)
        plain = super().explain(word, self._context_words(context)[max(0, ids.size - self.order + 1) :])
        with self.text.believed(self.path):
            return with_text(plain, self.text, self.vocabulary, ids, asked)

    def evidence(self, word: str, context: Sentence = (), *, most: int = 3) -> list[Evidence]:
        """The training sentences that P(word | context) comes from."""
        if (most := checked_whole("most", most)) < 1:
            raise UsageError(f"most: expected at least one sentence, found {most}")
        ids, asked, seen = self._context_ids(context), self._word_id(word), self.order - 1
        patterns = super().explain(word, self._context_words(context)[max(0, ids.size - seen) :]).by_contribution
        asked_for = [(Pattern.parse(p.pattern), p.context) for p in patterns if p.count > 0]
        tables = self.counts.tables
        with self.text.believed(self.path):
            return list(evidence(self.text, tables, asked_for, ids, asked, vocabulary=self.vocabulary, most=most))

    # States.

    @cached_property
    def _stepper(self) -> Stepper:  # type: ignore[override]
        return UnboundedStepper(Model._stepper.func(self), self.text)  # type: ignore[attr-defined]


class UnboundedStepper(Stepper):
    """Steps of a model and of its text side by side: a key holds that of the model, then the state of the text."""

    def __init__(self, of_model: Stepper, text: Unbounded) -> None:
        self._of_model, self._text, self._n_bytes = of_model, text, 8 * text.width
        state = text.state(np.empty(0, np.int32))
        self.null = of_model.null + state.tobytes()
        self.beginning = of_model.beginning + text.state(np.array([START_ID], np.int32)).tobytes()
        self.one: Callable[[bytes, int], tuple[float, int, bytes]] = self._one

    def _one(self, key: bytes, word: int) -> tuple[float, int, bytes]:
        score, length, after = self._of_model.checked(key[: -self._n_bytes], word)
        scores, states = self._mixed([key], np.array([word], np.int32), np.array([score]))
        return float(scores[0]), length, after + states

    def many(self, keys: Sequence[bytes], words: Ids, threads: int) -> tuple[Floats, list[bytes]]:
        """(log10 of the probabilities, keys after the words), a word for each key."""
        scores, after = self._of_model.many([key[: -self._n_bytes] for key in keys], words, threads)
        scores, states = self._mixed(keys, words, scores)
        n = self._n_bytes
        return scores, [own + states[i * n : (i + 1) * n] for i, own in enumerate(after)]

    def _mixed(self, keys: Sequence[bytes], words: Ids, scores: Floats) -> tuple[Floats, bytes]:
        if any(len(key) <= self._n_bytes for key in keys):
            raise other_model()
        states = np.frombuffer(b"".join(key[-self._n_bytes :] for key in keys), np.int64).reshape(len(keys), -1)
        out = np.empty_like(states)
        mixing.mix_steps(self._text.index, self._text.logits, states, words, scores, out)
        return scores, out.tobytes()

