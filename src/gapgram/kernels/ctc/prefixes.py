"""What the hypotheses of a beam search begin with: words letter by letter, and texts word by word, each held once.

A *part* is a word that is not finished, a row of `parts`; part 0 has no letter. A *text* is a row of finished words;
text 0 has none. Both are trees, each row naming the one that it goes on from, and are looked up by what they go on from
and with (`kernels.ctc.tries`). So two hypotheses have the same text where the number of their texts is the same.

With a model of labels a text goes on label by label, and holds the part that it ends in.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gapgram.kernels.compiled import kernel
from gapgram.kernels.ctc.tries import EMPTY, NONE, led_to, pair_of, place_of

BLANK, CONTINUES, BREAKS = 0, 1, 2  # kinds of labels: none of a text, goes on with a word, begins a word or ends one

# Columns of parts
BEFORE, LETTER, LENGTH, LEXICON_NODE, HOT_NODE = range(5)
N_PART_COLUMNS = 5
# Columns of texts: the text before, the part or label that it goes on with, the row of its state (or one of the two
# below), the word that the model is asked for, whether that counts as unknown, and the part that it ends in.
BEFORE_TEXT, WORD, ROW, ASKED, UNKNOWN, TAIL = range(6)
N_TEXT_COLUMNS = 6
NOT_ASKED, TO_ASK = -1, -2
NOTHING = 1  # the part without a letter that stands for a word where pyctcdecode scores one that is not there
# Columns of the scores of texts: of the model, of hot words
OF_MODEL, OF_HOT = 0, 1

KNOWN_PREFIX, KNOWN_WORD = 1, 2  # what `known` says of a node of the lexicon
USUAL_LENGTH = 6  # letters of a word; longer unknown ones cost more, as in pyctcdecode


class Labels(NamedTuple):
    """What is recognised: kinds; letters of label i from begins[i] on; the model's word of each label.

    first_closed: letters from here on end a word, whatever follows.
    """

    kinds: np.ndarray
    letters: np.ndarray
    begins: np.ndarray
    words: np.ndarray
    first_closed: int


class Lexicon(NamedTuple):
    """The words of a model that labels can spell: a trie, the word of each node, what is known of it.

    ahead: [node], or empty: log10 of the highest probability of a word that goes on from it.
    """

    slots: np.ndarray
    words: np.ndarray
    known: np.ndarray
    ahead: np.ndarray


class HotWords(NamedTuple):
    """A trie of words and [node, 2]: the weight of the word that ends there, and the largest weight a letter below."""

    slots: np.ndarray
    weights: np.ndarray


class Rules(NamedTuple):
    """How a search scores and prunes.

    width: beams that are kept. prune: how far below the best one may be. history: words by which beams are told apart,
    0 for all. alpha: the model's weight times ln 10. beta: of each word. unknown: log10 that an unknown word adds.
    only_known: only words of the lexicon, and hot ones, are allowed. by_label: the model is asked for labels.
    has_model. scores_nothing: a text that ends between words has one more word, an unknown one. ends_count: the end of
    a text is asked for.
    """

    width: int
    prune: float
    history: int
    alpha: float
    beta: float
    unknown: float
    only_known: bool
    by_label: bool
    has_model: bool
    scores_nothing: bool
    ends_count: bool


class Prefixes(NamedTuple):
    """Parts, texts, and how many there are; see the module's head."""

    parts: np.ndarray
    part_scores: np.ndarray
    part_slots: np.ndarray
    texts: np.ndarray
    text_scores: np.ndarray
    text_slots: np.ndarray
    counts: np.ndarray


N_PARTS, N_TEXTS = 0, 1  # columns of `counts`; `beam_search` has more


@kernel
def begin(prefixes):
    """Hold the part and the text that all others go on from, and the part that is nothing."""
    parts, texts = prefixes.parts, prefixes.texts
    parts[0], parts[NOTHING], texts[0] = 0, 0, 0
    parts[NOTHING, LEXICON_NODE] = parts[NOTHING, HOT_NODE] = NONE
    prefixes.part_scores[0] = prefixes.part_scores[NOTHING] = 0.0
    prefixes.text_scores[0] = 0.0
    prefixes.part_slots[:] = EMPTY
    prefixes.text_slots[:] = EMPTY
    prefixes.counts[N_PARTS], prefixes.counts[N_TEXTS] = 2, 1


@kernel
def _score_of_part(length, node, hot_node, rules, lexicon, hot):
    """What a word that is not finished adds to a score; minus infinity where it can be none."""
    if hot_node >= 0:
        return length * hot.weights[hot_node, 1]
    if not rules.has_model or rules.by_label:
        return 0.0
    if node >= 0 and lexicon.known[node] > 0:
        return rules.alpha * lexicon.ahead[node] if lexicon.ahead.size > 0 else 0.0
    if rules.only_known:
        return -np.inf
    return rules.unknown * max(1.0, length / USUAL_LENGTH)


@kernel
def longer_part(part, letter, prefixes, rules, lexicon, hot):
    """The part with one more letter."""
    parts, slots = prefixes.parts, prefixes.part_slots
    pair = pair_of(part, letter)
    at = place_of(slots, pair)
    if slots[at, 0] == EMPTY:
        made = prefixes.counts[N_PARTS]
        prefixes.counts[N_PARTS] += 1
        slots[at, 0], slots[at, 1] = pair, made
        node, hot_node = np.int64(parts[part, LEXICON_NODE]), np.int64(parts[part, HOT_NODE])
        node = led_to(lexicon.slots, node, letter) if node >= 0 else node
        hot_node = led_to(hot.slots, hot_node, letter) if hot_node >= 0 else hot_node
        length = parts[part, LENGTH] + 1
        parts[made, BEFORE], parts[made, LETTER], parts[made, LENGTH] = part, letter, length
        parts[made, LEXICON_NODE], parts[made, HOT_NODE] = node, hot_node
        prefixes.part_scores[made] = _score_of_part(length, node, hot_node, rules, lexicon, hot)
    return slots[at, 1]


@kernel
def with_label(part, label, prefixes, rules, labels, lexicon, hot):
    """The part with the letters of a label."""
    for k in range(labels.begins[label], labels.begins[label + 1]):
        part = longer_part(part, labels.letters[k], prefixes, rules, lexicon, hot)
    return part


@kernel
def is_closed(part, prefixes, labels):
    """Whether a part ends in a letter that ends its word."""
    return part > NOTHING and prefixes.parts[part, LETTER] >= labels.first_closed


@kernel
def is_word(part, prefixes, rules, lexicon, hot):
    """Whether a part may be a whole word."""
    if not rules.only_known or not rules.has_model:
        return True
    node, hot_node = prefixes.parts[part, LEXICON_NODE], prefixes.parts[part, HOT_NODE]
    known = node >= 0 and lexicon.known[node] & KNOWN_WORD != 0
    return known or (hot_node >= 0 and hot.weights[hot_node, 0] != 0.0)


@kernel
def hot_weight(part, prefixes, hot):
    """The weight of the hot word that a part is; 0 where it is none."""
    node = prefixes.parts[part, HOT_NODE]
    return hot.weights[node, 0] if node > 0 else 0.0


@kernel
def _new_text(text, word, prefixes):
    """The number of the text that goes on with a word, and whether it is new."""
    pair, slots = pair_of(text, word), prefixes.text_slots
    at = place_of(slots, pair)
    if slots[at, 0] != EMPTY:
        return slots[at, 1], False
    made = prefixes.counts[N_TEXTS]
    prefixes.counts[N_TEXTS] += 1
    slots[at, 0], slots[at, 1] = pair, made
    prefixes.texts[made, BEFORE_TEXT], prefixes.texts[made, WORD] = text, word
    prefixes.texts[made, ROW] = NOT_ASKED
    return made, True


@kernel
def with_word(text, part, prefixes, rules, lexicon, hot):
    """The text with a part as its next word."""
    made, is_new = _new_text(text, part, prefixes)
    if is_new:
        texts, node = prefixes.texts, prefixes.parts[part, LEXICON_NODE]
        known = node >= 0 and lexicon.known[node] & KNOWN_WORD != 0
        asked = lexicon.words[node] if node >= 0 else NONE
        texts[made, ASKED], texts[made, UNKNOWN] = max(asked, 0), not known
        texts[made, TAIL] = 0
        prefixes.text_scores[made, OF_HOT] = prefixes.text_scores[text, OF_HOT] + hot_weight(part, prefixes, hot)
    return made


@kernel
def with_next_label(text, label, prefixes, rules, labels, lexicon, hot):
    """The text with one more label, where the model is one of labels."""
    made, is_new = _new_text(text, label, prefixes)
    if is_new:
        texts, gained = prefixes.texts, 0.0
        tail = np.int64(texts[text, TAIL])
        if labels.kinds[label] == BREAKS or is_closed(tail, prefixes, labels):
            gained = hot_weight(tail, prefixes, hot)
            tail = np.int64(0)
        if hot.weights.shape[0] > 1:  # only for hot words it matters
            tail = with_label(tail, label, prefixes, rules, labels, lexicon, hot)
        texts[made, TAIL] = tail
        texts[made, ASKED], texts[made, UNKNOWN] = max(labels.words[label], 0), labels.words[label] < 0
        prefixes.text_scores[made, OF_HOT] = prefixes.text_scores[text, OF_HOT] + gained
    return made


@kernel
def spell(text, part, prefixes, labels, out):
    """Write the letters of a text and of the part after it from the end of `out` on, NONE between words.

    Returns where they begin, or -1 where `out` is too short. Of a text of labels a label that breaks begins a word.
    """
    at = out.size
    while True:
        k = np.int64(part)
        while k > NOTHING:
            if at == 0:
                return -1
            at -= 1
            out[at] = prefixes.parts[k, LETTER]
            k = np.int64(prefixes.parts[k, BEFORE])
        if text == 0:
            return at
        if at == 0:
            return -1
        at -= 1
        out[at] = NONE
        part = prefixes.texts[text, WORD]
        text = prefixes.texts[text, BEFORE_TEXT]


@kernel
def spell_labels(text, prefixes, out):
    """Write the labels of a text from the end of `out` on; returns where they begin, or -1 where `out` is too short."""
    at = out.size
    while text != 0:
        if at == 0:
            return -1
        at -= 1
        out[at] = prefixes.texts[text, WORD]
        text = prefixes.texts[text, BEFORE_TEXT]
    return at
