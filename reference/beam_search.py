"""Prefix beam search over the frames of a recogniser, as pyctcdecode defines it: what `ctc` must equal.

Texts are tuples of words, parts of words are strings, and every score is worked out from the beginning each time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

Frame = tuple[int, int]
NOWHERE = (-1, -1)


@dataclass(frozen=True)
class SearchRules:
    """What `ctc.options.DecoderOptions` has, and what words there are.

    log10_prob: log10 of the probability of a word after words; None without a model. known: the words that it knows.
    """

    log10_prob: Callable[[str, tuple[str, ...]], float] | None = None
    known: frozenset[str] = frozenset()
    by_label: bool = False
    is_pieces: bool = False
    history: int = 0
    alpha: float = 0.5
    beta: float = 1.5
    unknown: float | None = -10.0
    boundary: bool = True
    beam_width: int = 100
    beam_prune: float = -10.0
    token_prune: float = -5.0
    empty_word: bool = True
    hot: Mapping[str, float] = field(default_factory=dict)

    # Scores

    def of_word(self, word: str, before: tuple[str, ...]) -> float:
        """What the model gives a word, weighted."""
        assert self.log10_prob is not None
        log10_prob = self.log10_prob(word, before)
        if word not in self.known and self.unknown is not None:
            log10_prob += self.unknown
        return self.alpha * log10_prob * math.log(10) + self.beta

    def of_text(self, words: tuple[str, ...]) -> float:
        """What the model gives a text."""
        if self.log10_prob is None:
            return 0.0
        return sum(self.of_word(word, words[:i]) for i, word in enumerate(words))

    def of_hot(self, words: tuple[str, ...]) -> float:
        """The weights of the hot words of a text."""
        spelled = self.spelled(words) if self.by_label else words
        if self.by_label and not self.ends_a_word(words):
            spelled = spelled[:-1]
        return sum(self.hot.get(word, 0.0) for word in spelled)

    def of_part(self, part: str) -> float:
        """What a word that is not finished adds."""
        shares = [weight / len(word) for word, weight in self.hot.items() if word.startswith(part)]
        if shares and part:
            return len(part) * max(shares)
        if self.log10_prob is None or self.by_label or not part or any(word.startswith(part) for word in self.known):
            return 0.0
        if self.unknown is None:
            return -math.inf
        return self.unknown * max(1.0, len(part) / 6)

    def may_be(self, word: str) -> bool:
        """Whether a word may stand in a text."""
        return self.unknown is not None or self.log10_prob is None or word in self.known or word in self.hot

    def total(self, beam: Beam) -> float:
        """What a beam is ranked by."""
        part = self.open_word(beam.text) if self.by_label else beam.part
        return beam.log_prob + (self.of_text(beam.text) + self.of_hot(beam.text) + self.of_part(part))

    def open_word(self, labels: tuple[str, ...]) -> str:
        """The last word of labels, where it is not finished."""
        return "" if self.ends_a_word(labels) else self.spelled(labels)[-1]

    def spelled(self, labels: tuple[str, ...]) -> tuple[str, ...]:
        """The words that labels make, where the model is one of labels."""
        return tuple("".join(labels).replace("▁", " ").split())

    def ends_a_word(self, labels: tuple[str, ...]) -> bool:
        """Whether no word is open after labels."""
        return not labels or labels[-1][-1] in " ▁"


@dataclass
class Beam:
    """A text, the part of a word after it, the label that it ends in, and where its words are."""

    text: tuple[str, ...] = ()
    part: str = ""
    last: str | None = None
    is_closed: bool = False
    frames: tuple[Frame, ...] = ()
    of_part: Frame = NOWHERE
    log_prob: float = 0.0

    def after(self, label: str, t: int, log_prob: float, rules: SearchRules) -> Beam | None:
        """The beam with one more frame; None where no text is so."""
        log_prob += self.log_prob
        same = self.text, self.part
        if label == "":
            return Beam(*same, label, self.is_closed, self.frames, self.of_part, log_prob)
        if label == self.last:
            return Beam(*same, label, self.is_closed, self.frames, (self.of_part[0], t + 1), log_prob)
        if rules.by_label:
            held = self.frames if self.of_part[0] < 0 else (*self.frames, self.of_part)
            return Beam((*self.text, label), "", label, False, held, (t, t + 1), log_prob)
        breaks = label.startswith("▁") if rules.is_pieces else label == " "
        letters = label.strip("▁ ")
        is_closed = rules.is_pieces and len(label) > 1 and label.endswith("▁")
        if not breaks and not self.is_closed:
            first = t if self.of_part[0] < 0 else self.of_part[0]
            return Beam(self.text, self.part + letters, label, is_closed, self.frames, (first, t + 1), log_prob)
        if self.part and not rules.may_be(self.part):
            return None
        text, held = (*self.text, self.part), (*self.frames, self.of_part)
        if not self.part:
            text, held = self.text, self.frames
        return Beam(text, letters, label, is_closed, held, (t, t + 1) if letters else NOWHERE, log_prob)


def search(frames: Sequence[Sequence[float]], labels: Sequence[str], rules: SearchRules) -> list[tuple[Beam, float]]:
    """The beams, whose last word is finished, and their totals, best first; frames have log probabilities of labels."""
    beams = [Beam()]
    for t, frame in enumerate(frames):
        found: list[Beam] = []
        best = max(range(len(frame)), key=frame.__getitem__)
        for i, log_prob in enumerate(frame):
            if log_prob >= rules.token_prune or i == best or (labels[i] == "" and rules.unknown is None):
                after = (beam.after(labels[i], t, log_prob, rules) for beam in beams)
                found += [beam for beam in after if beam is not None and rules.of_part(beam.part) > -math.inf]
        ranked = _best(_merged(found), rules)
        beams = [beam for beam, _ in (_distinct(ranked, rules) if rules.history else ranked)]
    return _ended(beams, rules)


def _merged(beams: Sequence[Beam]) -> list[Beam]:
    """Beams with the same text, part and label as one, which has the frames of the last of them."""
    out: dict[tuple[tuple[str, ...], str, str | None], Beam] = {}
    for beam in beams:
        key = beam.text, beam.part, beam.last
        if key in out:
            first, second = out[key].log_prob, beam.log_prob
            beam.log_prob = max(first, second) + math.log(1 + math.exp(-abs(first - second)))
        out[key] = beam
    return list(out.values())


def _best(beams: Sequence[Beam], rules: SearchRules) -> list[tuple[Beam, float]]:
    ranked = sorted(((beam, rules.total(beam)) for beam in beams), key=lambda pair: -pair[1])
    return [pair for pair in ranked if pair[1] >= ranked[0][1] + rules.beam_prune][: rules.beam_width]


def _distinct(ranked: list[tuple[Beam, float]], rules: SearchRules) -> list[tuple[Beam, float]]:
    """Of beams with the same last words, part and label the best."""
    out: dict[tuple[tuple[str, ...], str, str | None], tuple[Beam, float]] = {}
    for beam, total in ranked:
        part = rules.open_word(beam.text) if rules.by_label and rules.hot else beam.part
        out.setdefault((beam.text[-rules.history :], part, beam.last), (beam, total))
    return list(out.values())


def _ended(beams: Sequence[Beam], rules: SearchRules) -> list[tuple[Beam, float]]:
    ended: list[Beam] = []
    whole = [beam for beam in beams if not beam.part or rules.may_be(beam.part)]
    for beam in whole or [Beam(beam.text, frames=beam.frames, log_prob=beam.log_prob) for beam in beams]:
        is_open = beam.part or (rules.by_label and beam.of_part[0] >= 0)
        held = (*beam.frames, beam.of_part) if is_open else beam.frames
        text = (*beam.text, beam.part) if beam.part else beam.text
        # Of beams that are now the same, the last one says whether they end between words
        ended.append(Beam(text, "", None, not beam.part, held, NOWHERE, beam.log_prob))
    ranked = []
    for beam in _merged(ended):
        words = beam.text
        if rules.log10_prob is not None and rules.empty_word and beam.is_closed and not rules.by_label:
            words = (*words, "")
        total = beam.log_prob + rules.of_text(words) + rules.of_hot((*words, " ") if rules.by_label else words)
        if rules.log10_prob is not None and rules.boundary:
            total += rules.alpha * rules.log10_prob("</s>", words) * math.log(10)
        ranked.append((beam, total))
    ranked.sort(key=lambda pair: -pair[1])
    kept = [pair for pair in ranked if pair[1] >= ranked[0][1] + rules.beam_prune] if ranked else []
    return kept[: rules.beam_width]
