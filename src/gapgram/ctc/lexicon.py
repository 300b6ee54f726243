"""Tries of the words that labels can spell: those of a model, and hot ones."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import numpy as np

from gapgram.arguments import checked_number, wrong_type
from gapgram.arrays import Ids, Integers
from gapgram.ctc.alphabet import Letters
from gapgram.errors import UsageError
from gapgram.kernels.ctc.prefixes import KNOWN_PREFIX, KNOWN_WORD, HotWords, Lexicon
from gapgram.kernels.ctc.tries import EMPTY, NONE, add_words, copy_pairs, raise_to_parents
from gapgram.kernels.text.special_words import SPECIAL, UNKNOWN_ID
from gapgram.queries.language_model import LanguageModel
from gapgram.queries.session import Session
from gapgram.text.vocabulary import Vocabulary

_SLOTS = 1 << 10
NO_LEXICON = Lexicon(np.full((2, 2), EMPTY, np.int64), np.full(1, NONE, np.int32), np.zeros(1, np.uint8), np.empty(0))


def lexicon_of(
    model: LanguageModel, letters: Letters, words: Collection[str] | None = None, *, ahead: bool = False
) -> Lexicon:
    """The words of a model that labels can spell.

    words: those that count as known; all of the model's by default.
    ahead: hold the probability of the most probable word below each node.
    """
    vocabulary = model.vocabulary
    if not getattr(vocabulary, "has_words", True):
        if words is None:
            raise UsageError(f"{model.path}: it holds no words, only their hashes; give the known words with words=")
        spelled = sorted(set(words) - set(SPECIAL))
        ids = np.array([vocabulary.id(word) for word in spelled], np.int32)
        codes, begins = _letters_of_words(spelled, letters)
    else:
        codes, begins = _letters_of_vocabulary(vocabulary, letters)
        ids = np.arange(len(vocabulary), dtype=np.int32)
        codes[: begins[len(SPECIAL)]] = NONE  # no word is written so
    slots, ends, n_nodes = _trie(codes, begins)
    inside = np.flatnonzero((ends >= 0) & (ids != UNKNOWN_ID))
    by_node = np.full(n_nodes, NONE, np.int32)
    by_node[ends[inside]] = ids[inside]
    known = np.zeros(n_nodes, np.uint8)
    allowed = inside if words is None else inside[np.isin(ids[inside], [vocabulary.id(word) for word in set(words)])]
    known[ends[allowed]] = KNOWN_PREFIX
    raise_to_parents(slots, known)
    known[ends[allowed]] |= KNOWN_WORD
    best = np.empty(0)
    if ahead:
        best = np.full(n_nodes, -np.inf)
        with np.errstate(divide="ignore"):
            best[ends[allowed]] = np.log10(model.distribution())[ids[allowed]]
        raise_to_parents(slots, best)
    return Lexicon(slots, by_node, known, best)


def with_words_of_session(session: Session, lexicon: Lexicon, letters: Letters) -> Lexicon:
    """A lexicon that knows the session's own words too."""
    own = session.vocabulary.own
    codes, begins = _letters_of_words(own, letters)
    slots, ends, n_nodes = _trie(codes, begins, lexicon.slots.copy(), lexicon.known.size)
    inside = np.flatnonzero(ends >= 0)
    ids = np.full(n_nodes, NONE, np.int32)
    ids[: lexicon.words.size] = lexicon.words
    ids[ends[inside]] = len(session.model.vocabulary) + inside
    known = np.zeros(n_nodes, np.uint8)
    known[: lexicon.known.size] = lexicon.known
    known[ends[inside]] |= KNOWN_WORD
    prefixes = np.where(known > 0, KNOWN_PREFIX, 0).astype(np.uint8)
    raise_to_parents(slots, prefixes)
    ahead = lexicon.ahead
    if ahead.size:
        ahead = np.full(n_nodes, -np.inf)
        ahead[: lexicon.ahead.size] = lexicon.ahead
        ahead[ends[inside]] = [session.log10_prob(own[i]) for i in inside.tolist()]
        raise_to_parents(slots, ahead)
    return Lexicon(slots, ids, known | prefixes, ahead)


def check_spelling(model: LanguageModel, lexicon: Lexicon, alphabet: Iterable[str]) -> None:
    """Refuse labels that can spell no word of a model."""
    if not (lexicon.known & KNOWN_WORD).any():
        shown = [model.vocabulary[i] for i in range(len(SPECIAL), min(len(SPECIAL) + 3, len(model.vocabulary)))]
        labels = " ".join(sorted({label for label in alphabet if label.strip()})[:12])
        raise UsageError(
            f"labels {labels} … spell no word of the model, such as {' '.join(shown)}: they are those of another "
            "language or case; train the model on text as the labels spell it"
        )


def hot_words_of(
    hot_words: Iterable[str] | Mapping[str, float] | None, weight: float, letters: Letters, *, skip: bool = False
) -> HotWords:
    """A trie of hot words, each with its weight; of several words in one each is hot.

    skip: leave out words that no labels spell, instead of refusing them.
    """
    weights = _weights(hot_words, weight)
    for word in [word for word in weights if any(letter not in letters.numbers for letter in word)]:
        if not skip:
            missing = next(letter for letter in word if letter not in letters.numbers)
            raise UsageError(f"hot word {word!r}: no label has the letter {missing!r}; spell it as the labels do")
        del weights[word]
    if not weights:
        return HotWords(np.full((2, 2), EMPTY, np.int64), np.zeros((1, 2)))
    codes, begins = _letters_of_words(list(weights), letters)
    slots, ends, n_nodes = _trie(codes, begins)
    out, shares = np.zeros((n_nodes, 2)), np.full(n_nodes, -np.inf)
    given = np.array(list(weights.values()))
    out[ends, 0] = given
    shares[ends] = given / np.diff(begins)
    raise_to_parents(slots, shares)
    out[:, 1] = shares
    return HotWords(slots, out)


def _weights(hot_words: Iterable[str] | Mapping[str, float] | None, weight: float) -> dict[str, float]:
    """The weight of each hot word."""
    if isinstance(hot_words, str):
        raise wrong_type("hot_words", hot_words, "a list of words, or a weight for each")
    pairs = hot_words.items() if isinstance(hot_words, Mapping) else ((word, weight) for word in hot_words or ())
    out: dict[str, float] = {}
    for phrase, given in pairs:
        if not isinstance(phrase, str):
            raise wrong_type("hot word", phrase, "a string")
        if not np.isfinite(checked_number(f"weight of the hot word {phrase!r}", given)):
            raise UsageError(f"hot word {phrase!r}: its weight is {given}; expected a finite number")
        out.update(dict.fromkeys(phrase.split(), float(given)))
    return out


def _letters_of_words(words: list[str], letters: Letters) -> tuple[Ids, Integers]:
    return letters.of("".join(words)), np.cumsum([0, *map(len, words)])


def _letters_of_vocabulary(vocabulary: Vocabulary, letters: Letters) -> tuple[Ids, Integers]:
    """The letters of all words, and where each word begins."""
    pool, offsets = vocabulary.pool, vocabulary.offsets
    first_bytes = np.concatenate([[0], np.cumsum((pool & 0xC0) != 0x80)])
    try:
        codes = letters.of(pool.tobytes().decode("utf-8", "surrogatepass"))
        if codes.size == first_bytes[-1]:
            return codes, first_bytes[offsets]
    except UnicodeDecodeError:
        pass
    return _letters_of_words(list(vocabulary), letters)  # bytes that are no text


def _trie(
    letters: Ids, begins: Integers, slots: Integers | None = None, n_nodes: int = 1
) -> tuple[Integers, Integers, int]:
    """(slots, the node in which each word ends, number of nodes); words are added to the trie that is given."""
    ends = np.empty(begins.size - 1, np.int64)
    if slots is None:
        slots = np.full((_SLOTS, 2), EMPTY, np.int64)
    while 2 * (int(np.diff(begins).max(initial=0)) + 1) > len(slots):
        larger = np.full((2 * len(slots), 2), EMPTY, np.int64)
        copy_pairs(slots, larger)
        slots = larger
    done, n_nodes = add_words(letters, begins, slots, 0, n_nodes, ends)
    while done < ends.size:
        larger = np.full((4 * len(slots), 2), EMPTY, np.int64)
        copy_pairs(slots, larger)
        slots = larger
        done, n_nodes = add_words(letters, begins, slots, done, n_nodes, ends)
    return slots, ends, n_nodes
