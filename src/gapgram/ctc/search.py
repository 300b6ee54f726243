"""One beam search: its arrays, and the rounds of searching and of asking the model."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gapgram.arrays import Floats, Ids, Integers
from gapgram.ctc.alphabet import Alphabet, Letters
from gapgram.kernels.ctc import beam_search as kernels
from gapgram.kernels.ctc import beams as columns
from gapgram.kernels.ctc import prefixes as trees
from gapgram.kernels.ctc.beams import Beams, Frames
from gapgram.kernels.ctc.prefixes import HotWords, Labels, Lexicon, Prefixes, Rules
from gapgram.kernels.ctc.tries import EMPTY, copy_pairs
from gapgram.queries.state_rows import StateRows

_ROOM = 1 << 12  # parts and texts to begin with
_LETTERS = 1 << 12  # of a text


class Tables(NamedTuple):
    """What all searches of a decoder read."""

    alphabet: Alphabet
    letters: Letters
    labels: Labels
    lexicon: Lexicon


class Ending(NamedTuple):
    """A beam at its end: its text, what came last and the beam that it comes from, its scores, and frames of words."""

    text: int
    part: int
    log_prob: float
    of_model: float
    of_hot: float
    frames: list[tuple[int, int]]


class Search:
    """A search that is fed frames; it may be used again for another text, by one thread at a time.

    rows: the states of the model, None without one.
    """

    def __init__(self, tables: Tables, rows: StateRows | None) -> None:
        self.tables, self.rows = tables, rows
        self._n_rows = 0
        self._prefixes = Prefixes(
            parts=np.zeros((_ROOM, trees.N_PART_COLUMNS), np.int32),
            part_scores=np.zeros(_ROOM),
            part_slots=_slots(_ROOM),
            texts=np.zeros((_ROOM, trees.N_TEXT_COLUMNS), np.int32),
            text_scores=np.zeros((_ROOM, 2)),
            text_slots=_slots(_ROOM),
            counts=np.zeros(columns.N_COUNTS, np.int64),
        )
        self._beams = _beams(1, 1, _ROOM)

    def begin(self, rules: Rules, hot: HotWords, key: bytes) -> None:
        """Begin a text after the state of a key."""
        self._rules, self._hot = rules, hot
        counts = self._prefixes.counts
        counts[:] = 0
        trees.begin(self._prefixes)
        if len(self._beams.beams) < rules.width:
            self._beams = _beams(rules.width, len(self._beams.candidates), len(self._beams.frames))
        self._beams.merged[:, 1] = EMPTY
        self._beams.beams[0] = 0, 0, -1, -1, -1, -1
        self._beams.log_probs[0] = self._beams.totals[0] = 0.0
        counts[columns.N_BEAMS], counts[columns.N_ROWS] = 1, 1
        if self.rows is not None:
            self.rows.begin(key)

    def feed(self, frames: Frames) -> None:
        """Search on, through some frames."""
        self._prefixes.counts[columns.NEXT] = 0
        labels, lexicon = self.tables.labels, self.tables.lexicon
        while True:
            said = kernels.advance(self._prefixes, self._beams, self._rules, labels, lexicon, self._hot, frames)
            if said == kernels.DONE:
                return
            if said == kernels.GROW:
                self._grow(frames)
            else:
                self._ask()

    def endings(self) -> list[Ending]:
        """The texts that end here, best first; the search may go on after that."""
        prefixes, beams, rules, counts = self._prefixes, self._beams, self._rules, self._prefixes.counts
        n = int(counts[columns.N_BEAMS])
        self._make_room(parts=0, texts=2 * n, candidates=n)
        prefixes, beams = self._prefixes, self._beams
        if kernels.end(prefixes, beams, rules, self.tables.lexicon, self._hot):
            self._ask()
        kernels.take_end(prefixes, beams, rules)
        if self.rows is not None and rules.ends_count:
            counts[columns.N_ASKED] = counts[columns.N_CANDIDATES]
            self._ask()
            counts[columns.N_ASKED] = 0
        else:
            beams.answers[: counts[columns.N_CANDIDATES]] = 0.0
        kept = kernels.rank_ends(prefixes, beams, rules, self._hot)
        return [self._ending(c) for c in beams.order[:kept].tolist()]

    def _ending(self, c: int) -> Ending:
        source, _, text, _, part = self._beams.candidates[c].tolist()
        log_prob, total = self._beams.scores[c].tolist()
        beam = self._beams.beams[source]
        frames = self._frames(int(beam[columns.FRAMES]))
        if beam[columns.FIRST] >= 0 and (part != 0 or self._rules.by_label):
            frames.append((int(beam[columns.FIRST]), int(beam[columns.AFTER])))
        of_hot = float(self._prefixes.text_scores[text, trees.OF_HOT])
        if self._rules.by_label:
            node = self._prefixes.parts[part, trees.HOT_NODE]
            of_hot += float(self._hot.weights[node, 0]) if node > 0 else 0.0
        return Ending(text, part, log_prob, total - log_prob - of_hot, of_hot, frames)

    def _frames(self, at: int) -> list[tuple[int, int]]:
        held, out = self._beams.frames, []
        while at >= 0:
            before, first, after = held[at].tolist()
            out.append((first, after))
            at = before
        return out[::-1]

    def best(self) -> str:
        """The text of the best beam, with the part of a word that it ends in."""
        beam = self._beams.beams[0]
        return self.spelled(int(beam[columns.TEXT]), int(beam[columns.PART]))

    def settled(self) -> int:
        """The longest text that all beams begin with."""
        return int(kernels.common_text(self._prefixes, self._beams))

    def spelled(self, text: int, part: int = 0) -> str:
        """A text, and the part of a word after it, as people write it."""
        out = np.empty(_LETTERS, np.int32)
        while True:
            if self._rules.by_label:
                at = trees.spell_labels(text, self._prefixes, out)
            else:
                at = trees.spell(text, part, self._prefixes, self.tables.labels, out)
            if at >= 0:
                break
            out = np.empty(4 * out.size, np.int32)
        if self._rules.by_label:
            return self.tables.alphabet.text_of(out[at:].tolist())
        codes = self.tables.letters.codes[out[at:]]
        return " ".join(codes.tobytes().decode("utf-32-le", "surrogatepass").split())

    def labels_of(self, text: int) -> list[int]:
        """The labels of a text, where the model is one of labels."""
        out = np.empty(int(self._prefixes.counts[trees.N_TEXTS]), np.int32)
        at = trees.spell_labels(text, self._prefixes, out)
        numbers: list[int] = out[at:].tolist()
        return numbers

    def key(self, text: int) -> bytes | None:
        """The key of the model's state after a text."""
        return None if self.rows is None else self.rows.key(int(self._prefixes.texts[text, trees.ROW]))

    def _ask(self) -> None:
        """Ask the model what the search wants to know."""
        assert self.rows is not None
        counts = self._prefixes.counts
        if counts[columns.N_ROWS] > self._n_rows:
            self._n_rows = 2 * int(counts[columns.N_ROWS])
            self.rows.make_room(self._n_rows)
        self.rows.extend(self._beams.asked, int(counts[columns.N_ASKED]), self._beams.answers)

    def _grow(self, frames: Frames) -> None:
        """Make room for what the next frame may bring."""
        next_frame, begins = int(self._prefixes.counts[columns.NEXT]), self.tables.labels.begins
        labels = frames.labels[frames.begins[next_frame] : frames.begins[next_frame + 1]]
        n = int(self._prefixes.counts[columns.N_BEAMS])
        letters = int((begins[labels + 1] - begins[labels]).sum())
        self._make_room(parts=n * letters, texts=n * labels.size, candidates=n * labels.size)

    def _make_room(self, *, parts: int, texts: int, candidates: int) -> None:
        """Let there be room for so many more parts and texts, and for so many candidates."""
        prefixes, counts = self._prefixes, self._prefixes.counts
        room = _enough(len(prefixes.parts), int(counts[trees.N_PARTS]) + parts)
        if room > len(prefixes.parts):
            prefixes = prefixes._replace(
                parts=_larger(prefixes.parts, room),
                part_scores=_larger(prefixes.part_scores, room),
                part_slots=_copied(prefixes.part_slots, room),
            )
        room = _enough(len(prefixes.texts), int(counts[trees.N_TEXTS]) + texts)
        if room > len(prefixes.texts):
            prefixes = prefixes._replace(
                texts=_larger(prefixes.texts, room),
                text_scores=_larger(prefixes.text_scores, room),
                text_slots=_copied(prefixes.text_slots, room),
            )
        self._prefixes = prefixes
        width, held = len(self._beams.beams), self._beams.frames
        if candidates > len(self._beams.candidates):
            made = _beams(width, _enough(len(self._beams.candidates), candidates), 0)
            self._beams = self._beams._replace(
                candidates=made.candidates, scores=made.scores, order=made.order, asked=made.asked, answers=made.answers
            )
        room = _enough(len(held), int(counts[columns.N_FRAMES]) + width)
        self._beams = self._beams._replace(frames=_larger(held, room))


def _beams(width: int, candidates: int, frames: int) -> Beams:
    candidates = max(candidates, 2 * width)
    return Beams(
        beams=np.zeros((width, columns.N_BEAM_COLUMNS), np.int32),
        log_probs=np.zeros(width),
        totals=np.zeros(width),
        frames=np.zeros((frames, 3), np.int32),
        candidates=np.zeros((candidates, columns.N_CANDIDATE_COLUMNS), np.int32),
        scores=np.zeros((candidates, 2)),
        merged=_slots(2 * width),
        order=np.zeros(2 * candidates, np.int64),
        asked=np.zeros((candidates, 4), np.int32),
        answers=np.zeros(candidates),
    )


def _slots(n: int) -> Integers:
    """An empty table with room for n pairs."""
    return np.full((1 << (2 * n - 1).bit_length(), 2), EMPTY, np.int64)


def _enough(room: int, needed: int) -> int:
    while room < needed:
        room *= 2
    return room


def _larger(array: npt.NDArray[Any], room: int) -> npt.NDArray[Any]:
    if len(array) >= room:
        return array
    out = np.zeros((room, *array.shape[1:]), array.dtype)
    out[: len(array)] = array
    return out


def _copied(slots: Integers, room: int) -> Integers:
    larger = _slots(room)
    copy_pairs(slots, larger)
    return larger


def labels_of(alphabet: Alphabet, letters: Letters, words: Ids) -> Labels:
    """Labels as kernels take them; words: of the model, one for each label, -1 where it has none."""
    lists = letters.of_labels
    return Labels(
        kinds=alphabet.kinds,
        letters=np.array([letter for own in lists for letter in own], np.int32),
        begins=np.cumsum([0, *map(len, lists)]).astype(np.int64),
        words=words,
        first_closed=letters.first_closed,
    )


def shares_of(totals: Floats) -> Floats:
    """The probability of each of some texts, from log of what is proportional to it."""
    weights = np.exp(totals - totals.max())
    return np.asarray(weights / weights.sum())
