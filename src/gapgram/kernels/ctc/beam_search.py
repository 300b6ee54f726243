"""Prefix beam search over the frames of a recogniser trained with CTC: which texts the labels of each frame make.

A beam is a text, the part of a word after it (`kernels.ctc.prefixes`), the label it ends in, and log of the probability
of all ways to come to it. Each frame is done in two steps, between which a model is asked:

    expand    every beam with every label that may be there; what becomes the same is merged
    select    the best of them by the sum of log probability, model and hot words

What the model is asked for are words that end, each once in each text, and only where a probability of 1 could keep the
beam. It is asked outside, for many at once, so that any kind of model may be asked.
"""

from __future__ import annotations

import math

import numpy as np

from gapgram.kernels.compiled import kernel
from gapgram.kernels.ctc.beams import (
    AFTER,
    ASKED_WORD,
    BROKE,
    FIRST,
    FRAME,
    FRAMES,
    FROM,
    GREW,
    IS_ASKING,
    LAST,
    LOG_PROB,
    MOVE,
    N_ASKED,
    N_BEAM_COLUMNS,
    N_BEAMS,
    N_CANDIDATES,
    N_FRAMES,
    N_ROWS,
    NEW_LAST,
    NEW_PART,
    NEW_TEXT,
    NEXT,
    NOT_KEPT,
    OF_TEXT,
    PART,
    REPEATED,
    SOURCE,
    STAMP,
    STAYED,
    TEXT,
    TO,
    TOTAL,
    select,
)
from gapgram.kernels.ctc.prefixes import (
    ASKED,
    BEFORE_TEXT,
    BLANK,
    BREAKS,
    NOT_ASKED,
    NOTHING,
    OF_HOT,
    OF_MODEL,
    ROW,
    TAIL,
    TO_ASK,
    UNKNOWN,
    hot_weight,
    is_closed,
    is_word,
    with_label,
    with_next_label,
    with_word,
)
from gapgram.kernels.ctc.tries import pair_of
from gapgram.kernels.text.special_words import END_ID

DONE, ASK, GROW = 0, 1, 2  # what `advance` returns: all frames are done, the model is to be asked, there is no room


@kernel
def sum_of_logs(first, second):
    """log of the sum of two probabilities."""
    if first >= second:
        return first + math.log(1.0 + math.exp(second - first))
    return second + math.log(1.0 + math.exp(first - second))


@kernel
def advance(prefixes, beams, rules, labels, lexicon, hot, frames):
    """Go on from where the search is until all frames are done, the model is to be asked, or there is no room."""
    counts = prefixes.counts
    while True:
        if counts[IS_ASKING] == 1:
            _take_answers(prefixes, beams, rules)
            n = select(prefixes, beams, rules, rules.history)
            _become(n, prefixes, beams, rules, labels)
            counts[IS_ASKING] = 0
            counts[NEXT] += 1
            counts[FRAME] += 1
        if counts[NEXT] + 1 >= frames.begins.size:
            return DONE
        if not _has_room(prefixes, beams, labels, frames):
            return GROW
        _expand(prefixes, beams, rules, labels, lexicon, hot, frames)
        counts[IS_ASKING] = 1
        if _list_asked(prefixes, beams, rules) > 0:
            return ASK


@kernel
def _has_room(prefixes, beams, labels, frames):
    """Whether whatever the next frame makes has room."""
    counts = prefixes.counts
    first, last = frames.begins[counts[NEXT]], frames.begins[counts[NEXT] + 1]
    letters = 0
    for i in range(first, last):
        letters += labels.begins[frames.labels[i] + 1] - labels.begins[frames.labels[i]]
    n = counts[N_BEAMS] * (last - first)
    return (
        counts[0] + counts[N_BEAMS] * letters <= prefixes.parts.shape[0]
        and counts[1] + n <= prefixes.texts.shape[0]
        and n <= beams.candidates.shape[0]
        and counts[N_FRAMES] + beams.beams.shape[0] <= beams.frames.shape[0]
    )


@kernel
def _expand(prefixes, beams, rules, labels, lexicon, hot, frames):
    """Make candidates of every beam and every label of the next frame."""
    counts = prefixes.counts
    t = counts[NEXT]
    counts[N_CANDIDATES] = 0
    for i in range(frames.begins[t], frames.begins[t + 1]):
        label, log_prob = np.int64(frames.labels[i]), frames.log_probs[i]
        kind = labels.kinds[label]
        counts[STAMP] += 1  # candidates of different labels are never the same
        for b in range(counts[N_BEAMS]):
            beam = beams.beams[b]
            text, part = np.int64(beam[TEXT]), np.int64(beam[PART])
            if kind == BLANK:
                move = STAYED
            elif beam[LAST] == label:
                move = REPEATED
            elif rules.by_label:
                move = BROKE
                text = with_next_label(text, label, prefixes, rules, labels, lexicon, hot)
                part = np.int64(prefixes.texts[text, TAIL])
            elif kind == BREAKS or is_closed(part, prefixes, labels):
                move = BROKE
                if part != 0:
                    if not is_word(part, prefixes, rules, lexicon, hot):
                        continue
                    text = with_word(text, part, prefixes, rules, lexicon, hot)
                part = with_label(np.int64(0), label, prefixes, rules, labels, lexicon, hot)
            else:
                move = GREW
                part = with_label(part, label, prefixes, rules, labels, lexicon, hot)
            if prefixes.part_scores[part] == -np.inf:
                continue
            _merge(b, move, text, part, label, beams.log_probs[b] + log_prob, prefixes, beams)


@kernel
def _merge(source, move, text, part, label, log_prob, prefixes, beams):
    """Add a candidate, or its probability to the one with the same text and part, which then comes from this beam."""
    counts, merged = prefixes.counts, beams.merged
    mask, key = merged.shape[0] - 1, pair_of(text, part)
    at = np.int64((np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(40)) & mask
    while merged[at, 1] >> 32 == counts[STAMP]:
        if merged[at, 0] == key:
            same = merged[at, 1] & 0xFFFFFFFF
            beams.scores[same, LOG_PROB] = sum_of_logs(beams.scores[same, LOG_PROB], log_prob)
            candidate = beams.candidates[same]
            candidate[SOURCE], candidate[MOVE], candidate[NEW_LAST] = source, move, label
            return
        at = (at + 1) & mask
    made = counts[N_CANDIDATES]
    counts[N_CANDIDATES] += 1
    merged[at, 0], merged[at, 1] = key, pair_of(counts[STAMP], made)
    candidate = beams.candidates[made]
    candidate[SOURCE], candidate[MOVE] = source, move
    candidate[NEW_TEXT], candidate[NEW_PART], candidate[NEW_LAST] = text, part, label
    beams.scores[made, LOG_PROB] = log_prob


@kernel
def _score_of_word(before, log10_prob, text, prefixes, rules):
    """The score of a model for a text, from that for the text before it and the probability of its last word."""
    if prefixes.texts[text, UNKNOWN] != 0:
        log10_prob += rules.unknown
    return before + (rules.alpha * log10_prob + rules.beta)


@kernel
def _total(log_prob, of_model, text, part, prefixes):
    return log_prob + (of_model + prefixes.text_scores[text, OF_HOT] + prefixes.part_scores[part])


@kernel
def _list_asked(prefixes, beams, rules):
    """List what the model is to be asked before candidates can be ranked; returns how much.

    A candidate that would be too far below the best one known whatever the model says is dropped.
    """
    counts, texts, scores = prefixes.counts, prefixes.texts, beams.scores
    best = -np.inf
    for c in range(counts[N_CANDIDATES]):
        text, part = beams.candidates[c, NEW_TEXT], beams.candidates[c, NEW_PART]
        before = np.int64(texts[text, BEFORE_TEXT])
        if not rules.has_model and texts[text, ROW] == NOT_ASKED:
            texts[text, ROW] = 0
            prefixes.text_scores[text, OF_MODEL] = 0.0
        known = texts[text, ROW] >= 0
        of_model = prefixes.text_scores[text, OF_MODEL]
        if not known:  # what it would be with the probability 1
            of_model = _score_of_word(prefixes.text_scores[before, OF_MODEL], 0.0, text, prefixes, rules)
        scores[c, TOTAL] = _total(scores[c, LOG_PROB], of_model, text, part, prefixes)
        if known:
            best = max(best, scores[c, TOTAL])
    counts[N_ASKED] = 0
    for c in range(counts[N_CANDIDATES]):
        text = np.int64(beams.candidates[c, NEW_TEXT])
        if texts[text, ROW] != NOT_ASKED:
            continue
        if scores[c, TOTAL] < best + rules.prune:
            scores[c, TOTAL] = -np.inf
        else:
            list_text(text, prefixes, beams)
    return counts[N_ASKED]


@kernel
def list_text(text, prefixes, beams):
    """List that the model is to be asked for the last word of a text."""
    counts, asked = prefixes.counts, beams.asked[prefixes.counts[N_ASKED]]
    asked[FROM] = prefixes.texts[prefixes.texts[text, BEFORE_TEXT], ROW]
    asked[ASKED_WORD], asked[OF_TEXT] = prefixes.texts[text, ASKED], text
    asked[TO] = counts[N_ROWS]
    counts[N_ROWS] += 1
    counts[N_ASKED] += 1
    prefixes.texts[text, ROW] = TO_ASK


@kernel
def _take_answers(prefixes, beams, rules):
    """Score the texts that the model was asked for, and what they are candidates of."""
    counts, texts = prefixes.counts, prefixes.texts
    for i in range(counts[N_ASKED]):
        text = np.int64(beams.asked[i, OF_TEXT])
        before = prefixes.text_scores[texts[text, BEFORE_TEXT], OF_MODEL]
        prefixes.text_scores[text, OF_MODEL] = _score_of_word(before, beams.answers[i], text, prefixes, rules)
        texts[text, ROW] = beams.asked[i, TO]
    if counts[N_ASKED] > 0:
        for c in range(counts[N_CANDIDATES]):
            text, part = beams.candidates[c, NEW_TEXT], beams.candidates[c, NEW_PART]
            if beams.scores[c, TOTAL] > -np.inf:
                of_model = prefixes.text_scores[text, OF_MODEL]
                beams.scores[c, TOTAL] = _total(beams.scores[c, LOG_PROB], of_model, text, part, prefixes)
    counts[N_ASKED] = 0


@kernel
def _become(n, prefixes, beams, rules, labels):
    """Make beams of the first n candidates in `order`."""
    counts, frame = prefixes.counts, prefixes.counts[FRAME]
    made = np.empty((n, N_BEAM_COLUMNS), np.int32)
    log_probs = np.empty(n)
    for i in range(n):
        candidate = beams.candidates[beams.order[i]]
        old, new, label = beams.beams[candidate[SOURCE]], made[i], np.int64(candidate[NEW_LAST])
        move = candidate[MOVE]
        new[TEXT], new[PART], new[LAST] = candidate[NEW_TEXT], candidate[NEW_PART], label
        new[FIRST], new[AFTER], new[FRAMES] = old[FIRST], old[AFTER], old[FRAMES]
        if move == REPEATED:
            new[AFTER] = frame + 1
        elif move == GREW:
            new[FIRST] = frame if old[FIRST] < 0 else old[FIRST]
            new[AFTER] = frame + 1
        elif move == BROKE:
            # What ended keeps its frames; what begins, if anything does, begins here
            ended = old[FIRST] >= 0 if rules.by_label else old[PART] != 0
            if ended:
                new[FRAMES] = _hold_frames(old, prefixes, beams)
            begins = rules.by_label or labels.begins[label + 1] > labels.begins[label]
            new[FIRST], new[AFTER] = (frame, frame + 1) if begins else (-1, -1)
        log_probs[i] = beams.scores[beams.order[i], LOG_PROB]
        beams.totals[i] = beams.scores[beams.order[i], TOTAL]
    beams.beams[:n] = made
    beams.log_probs[:n] = log_probs
    counts[N_BEAMS] = n


@kernel
def _hold_frames(beam, prefixes, beams):
    """Keep the frames of the word that a beam ends in; returns their place."""
    at = prefixes.counts[N_FRAMES]
    prefixes.counts[N_FRAMES] += 1
    held = beams.frames[at]
    held[0], held[1], held[2] = beam[FRAMES], beam[FIRST], beam[AFTER]
    return at


@kernel
def common_text(prefixes, beams):
    """The longest text that all beams begin with."""
    texts, common = prefixes.texts, np.int64(beams.beams[0, TEXT])
    for b in range(1, prefixes.counts[N_BEAMS]):
        text = np.int64(beams.beams[b, TEXT])
        while text != common:  # a text has a larger number than those that it goes on from
            if text > common:
                text = np.int64(texts[text, BEFORE_TEXT])
            else:
                common = np.int64(texts[common, BEFORE_TEXT])
    return common


@kernel
def end(prefixes, beams, rules, lexicon, hot):
    """Make candidates of the beams as they end; returns how much the model is to be asked (`take_end`).

    A candidate's part says what came last: a whole word, or none.
    """
    counts, texts = prefixes.counts, prefixes.texts
    counts[N_CANDIDATES] = counts[N_ASKED] = 0
    counts[STAMP] += 1
    for b in range(2 * counts[N_BEAMS]):
        if b == counts[N_BEAMS] and counts[N_CANDIDATES] > 0:
            break
        beam = beams.beams[b % counts[N_BEAMS]]
        text, part = np.int64(beam[TEXT]), np.int64(beam[PART])
        if b >= counts[N_BEAMS]:  # no beam ends in a whole word: what is not whole is left out
            part = np.int64(0)
        if part != 0 and not rules.by_label:
            if not is_word(part, prefixes, rules, lexicon, hot):
                continue
            text = with_word(text, part, prefixes, rules, lexicon, hot)
        _merge(b % counts[N_BEAMS], GREW, text, 0, part, beams.log_probs[b % counts[N_BEAMS]], prefixes, beams)
    for c in range(counts[N_CANDIDATES]):
        candidate = beams.candidates[c]
        text = np.int64(candidate[NEW_TEXT])
        if rules.scores_nothing and candidate[NEW_LAST] == 0 and not rules.by_label:
            text = with_word(text, np.int64(NOTHING), prefixes, rules, lexicon, hot)
            candidate[NEW_TEXT] = text
        if texts[text, ROW] == NOT_ASKED:
            if rules.has_model:
                list_text(text, prefixes, beams)
            else:
                texts[text, ROW] = 0
                prefixes.text_scores[text, OF_MODEL] = 0.0
    return counts[N_ASKED]


@kernel
def take_end(prefixes, beams, rules):
    """Take what the model answered to `end`, and list that it is to be asked for the end of each candidate."""
    counts = prefixes.counts
    _take_answers(prefixes, beams, rules)
    for c in range(counts[N_CANDIDATES]):
        asked = beams.asked[c]
        asked[FROM] = prefixes.texts[beams.candidates[c, NEW_TEXT], ROW]
        asked[ASKED_WORD], asked[TO] = END_ID, NOT_KEPT
    return counts[N_CANDIDATES]


@kernel
def rank_ends(prefixes, beams, rules, hot):
    """Rank the candidates of `end` with what the model answered to `take_end`; returns how many are kept."""
    counts = prefixes.counts
    for c in range(counts[N_CANDIDATES]):
        candidate = beams.candidates[c]
        text = np.int64(candidate[NEW_TEXT])
        of_model = prefixes.text_scores[text, OF_MODEL] + rules.alpha * beams.answers[c]
        of_hot = hot_weight(candidate[NEW_LAST], prefixes, hot) if rules.by_label else 0.0
        beams.scores[c, TOTAL] = _total(beams.scores[c, LOG_PROB], of_model, text, np.int64(0), prefixes) + of_hot
    return select(prefixes, beams, rules, 0)
