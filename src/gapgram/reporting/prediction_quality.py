"""How good the predictions of a model are: accuracy, reciprocal rank, keystrokes saved.

Every word of a text is predicted from the words before it in its line; ends of sentences are not words to
type and are left out. A word that the model does not know is never predicted.

Keystrokes are those of a keyboard that shows `SUGGESTIONS` words, which change with every letter. A word is
picked as soon as it is shown, with one keystroke, which types the space too; otherwise each of its letters
and the space is typed. The share saved is 1 - keystrokes / (letters and spaces of the text).
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from gapgram.arrays import Ids, Integers
from gapgram.errors import TextError
from gapgram.kernels.text.special_words import SPECIAL
from gapgram.kernels.topk import exact as topk
from gapgram.kernels.topk.rank import outranking
from gapgram.models.model import Model
from gapgram.queries.language_model import check_counts_words
from gapgram.system.parallel import checked_threads
from gapgram.system.progress import progress_bar
from gapgram.text import corpus as text
from gapgram.text.corpus import sentence_begins
from gapgram.text.files import Paths, blocks_of_files

SUGGESTIONS = 3
RANKS = (1, 3, 5, 10)


@dataclass(frozen=True)
class RankTally:
    """Sums over predicted words; two tallies add up."""

    words: int = 0
    unknown_words: int = 0
    hits: tuple[int, ...] = (0,) * len(RANKS)
    reciprocal_ranks: float = 0.0
    letters: int = 0
    keystrokes: int = 0

    def __add__(self, other: RankTally) -> RankTally:
        hits = tuple(a + b for a, b in zip(self.hits, other.hits, strict=True))
        return RankTally(
            self.words + other.words,
            self.unknown_words + other.unknown_words,
            hits,
            self.reciprocal_ranks + other.reciprocal_ranks,
            self.letters + other.letters,
            self.keystrokes + other.keystrokes,
        )


@dataclass(frozen=True)
class PredictionQuality:
    """The figures of one model on one text."""

    words: int
    unknown_words: int
    accuracy: dict[str, float]
    mean_reciprocal_rank: float
    letters: int
    keystrokes: int
    keystrokes_saved: float
    suggestions: int
    signature: str

    def as_dict(self) -> dict[str, Any]:
        """All figures by name, for JSON."""
        return asdict(self)


def word_tally(outranking_by_bytes: Integers, word: bytes) -> RankTally:
    """The tally of one known word, given how many more probable words share so many of its first bytes.

    After two letters of `then` one word outranks it still, so that it is shown: two letters and the pick.

    >>> tally = word_tally(np.array([7, 2, 0, 1, 0]), b"then")
    >>> tally.hits, round(1 / tally.reciprocal_ranks), tally.letters, tally.keystrokes
    ((0, 0, 0, 0), 11, 5, 3)
    """
    left = np.cumsum(outranking_by_bytes[::-1])[::-1]  # outranking words that share at least so many bytes
    rank = int(left[0]) + 1
    starts = [i for i, byte in enumerate(word) if byte & 0xC0 != 0x80]  # where letters begin in UTF-8
    typed = next((n for n, at in enumerate(starts) if left[at] < SUGGESTIONS), len(starts))
    hits = tuple(int(rank <= k) for k in RANKS)
    return RankTally(1, 0, hits, 1 / rank, len(starts) + 1, typed + 1)


def _tally_of(model: Model, block_counts: Integers, ids: Ids, words: Sequence[bytes]) -> RankTally:
    """The tally of one sentence; `ids` starts with `<s>`, words are what the text has after it."""
    tally, vocabulary = RankTally(), model.vocabulary
    for i, word in enumerate(words, 1):
        if ids[i] < len(SPECIAL):
            letters = len(word.decode("utf-8", "replace")) + 1
            tally += RankTally(1, 1, (0,) * len(RANKS), 0.0, letters, letters)
        else:
            context = ids[max(0, i - model.order + 1) : i]
            pool, offsets = vocabulary.pool, vocabulary.offsets
            tally += word_tally(outranking(context, int(ids[i]), model._arrays, block_counts, pool, offsets), word)
    return tally


def judge(
    model: Model,
    texts: Paths,
    *,
    limit: int | None = None,
    rules: text.TextRules | None = None,
    threads: int | None = None,
    progress: bool = False,
) -> PredictionQuality:
    """Predict every word of a text, or the words of its first `limit` sentences."""
    check_counts_words(model, "predict --evaluate")
    block_counts, total = np.zeros(topk.n_blocks(model._arrays.tables.places), np.int64), RankTally()
    lines = _sentences(model, texts, limit, rules or text.TextRules(special="unk"))
    with (
        ThreadPoolExecutor(checked_threads(threads)) as pool,
        progress_bar("predicting", unit="line", progress=progress) as advance,
    ):
        for tally in pool.map(lambda line: _tally_of(model, block_counts, *line), lines):
            total += tally
            advance(1)
    if not total.words:
        raise TextError(f"{texts}: no sentence in it: expected one sentence a line")
    return _quality(total, str(model.signature))


def _quality(total: RankTally, signature: str) -> PredictionQuality:
    return PredictionQuality(
        words=total.words,
        unknown_words=total.unknown_words,
        accuracy={f"top_{k}": n / total.words for k, n in zip(RANKS, total.hits, strict=True)},
        mean_reciprocal_rank=total.reciprocal_ranks / total.words,
        letters=total.letters,
        keystrokes=total.keystrokes,
        keystrokes_saved=1 - total.keystrokes / total.letters,
        suggestions=SUGGESTIONS,
        signature=signature,
    )


def _sentences(
    model: Model, texts: Paths, limit: int | None, rules: text.TextRules
) -> list[tuple[Ids, list[bytes]]]:
    """The ids and the words of each sentence; special words that the rules leave out are in neither."""
    skipped = {word.encode() for word in SPECIAL} if rules.special == "skip" else set()
    out: list[tuple[Ids, list[bytes]]] = []
    for block in text.checked(blocks_of_files(texts), rules):
        lines = [[w for w in line.split() if w not in skipped] for line in block.data.split(b"\n")]
        words = [line for line in lines if line]
        for encoded in text.encode([block], model.vocabulary, rules):
            bounds = pairwise(sentence_begins(encoded.ids).tolist())
            out += [(encoded.ids[a:b], line) for (a, b), line in zip(bounds, words, strict=True)]
        if limit is not None and len(out) >= limit:
            return out[:limit]
    return out
