"""Scores from a binary file of KenLM, with KenLM's own arithmetic: sums of single precision, in its order.

What came before a word is a context: the file's ids of the words that can still matter, the newest first, and for
each length of it the log10 backoff. A score that is not a number says that the file is damaged.
"""

from __future__ import annotations

import numpy as np

from gapgram.kernels.compiled import brief, kernel
from gapgram.kernels.kenlm.arrays import file_id, n_ids
from gapgram.kernels.kenlm.lookup import DAMAGED, MISSING, extends, longer, one_word
from gapgram.kernels.kenlm.words import find_word
from gapgram.kernels.text.cut_words import next_word
from gapgram.kernels.text.special_words import END_ID, START_ID, UNKNOWN_ID
from gapgram.kernels.text.words import ALLOW_UNKNOWN, refused

LARGEST = np.float32(1e6)  # a log10 probability further from 0 is no language model's
_NEVER = np.float32(-99.0)  # log10 of the probability 0, where the file has minus infinity
_WRONG = np.float32(np.nan)


@kernel
def step(word, context, backoffs, n, file, backoffs_after):
    """Score one of the file's ids after a context of n words.

    Returns (log10 of the probability, words of the longest gram that was found, words of the context after it);
    fills the backoffs of the context after it.
    """
    prob, backoff, first, second, leaf = one_word(word, file)
    backoffs_after[0] = backoff
    length = 1
    kept = 1 if extends(backoff) else 0
    # Longer grams, as long as there are any that end so
    while length <= n and not leaf:
        found, longer_prob, backoff, first, second, leaf = longer(length, context[length - 1], first, second, file)
        if found == DAMAGED:
            return _WRONG, length, 0
        if found == MISSING:
            break
        prob = longer_prob
        length += 1
        if length < file.order:
            backoffs_after[length - 1] = backoff
            if extends(backoff):
                kept = length
    if prob == -np.inf:
        prob = _NEVER
    # The backoffs of the contexts that are longer than what was found
    total = np.float32(prob)
    for i in range(length - 1, n):
        total = np.float32(total + backoffs[i])
    if not (prob <= 0 and abs(total) <= LARGEST):
        return _WRONG, length, 0
    return total, length, kept


@kernel
def take(word, kept, context):
    """Make a context that of `kept` words after one more word, one of the file's ids."""
    for i in range(kept - 1, 0, -1):
        context[i] = context[i - 1]
    if kept > 0:
        context[0] = word


@kernel
def start(context, backoffs, file):
    """Make a context that of the beginning of a sentence; returns its number of words."""
    context[0] = file.start
    backoffs[0] = one_word(file.start, file)[1]
    return 1


@kernel
def score_positions(ids, begins, file, out, lengths):
    """log10 of the probability of every word of sequences, 0 where `<s>` begins one; `lengths` of the grams found.

    Returns whether the file is sound as far as it was read.
    """
    context = np.empty(file.order, np.int64)
    backoffs, after = np.empty(file.order, np.float32), np.empty(file.order, np.float32)
    for s in range(begins.size - 1):
        n = 0
        for t in range(begins[s], begins[s + 1]):
            if ids[t] == START_ID and t == begins[s]:
                n = start(context, backoffs, file)
                out[t], lengths[t] = 0.0, 1
                continue
            word = file_id(np.int64(ids[t]), file)
            score, lengths[t], n = step(word, context, backoffs, n, file, after)
            if np.isnan(score):
                return False
            out[t] = score
            take(word, n, context)
            backoffs, after = after, backoffs
    return True


@brief
def score_line(file, line, bos, eos):
    """log10 of the probability of a line, bytes that end in their only newline.

    No number where it has special words, or the file is damaged. The sum has the bits of those of `score_positions`.
    """
    text, context = np.frombuffer(line, np.uint8), np.empty(file.order, np.int64)
    backoffs, after = np.empty(file.order, np.float32), np.empty(file.order, np.float32)
    n = start(context, backoffs, file) if bos else 0
    total = 0.0
    begin, end, _ = next_word(text, 0)
    while begin < end or eos:
        word = np.int64(END_ID)
        if begin < end:
            word = find_word(text, begin, end, file)
            if word < -1 or refused(word, ALLOW_UNKNOWN):
                return np.nan
        found = file_id(max(word, np.int64(UNKNOWN_ID)), file)
        score, _, n = step(found, context, backoffs, n, file, after)
        if np.isnan(score):
            return np.nan
        total += score
        take(found, n, context)
        backoffs, after = after, backoffs
        if begin == end:
            break
        begin, end, _ = next_word(text, end)
    return total


@kernel
def distribution(context, backoffs, n, file):
    """The probability of every word after a context; not a number at a word where the file is damaged."""
    out = np.empty(n_ids(file))
    after = np.empty(file.order, np.float32)
    for word in range(out.size):
        out[word] = 10.0 ** step(file_id(word, file), context, backoffs, n, file, after)[0]
    out[START_ID] = 0.0
    return out


# A state is the context as bytes: the file's ids of its words, then their backoffs, four bytes each, the newest first.


@kernel
def _four_bytes(key, at):
    """The number of 32 bits that begins at a byte."""
    value = np.uint32(0)
    for i in range(4):
        value |= np.uint32(key[np.uint64(at + i)]) << np.uint32(8 * i)
    return value


@kernel
def load(key, begin, n, context, backoffs, file):
    """Make a context that of a state of n words; whether it may be one of this file."""
    for i in range(n):
        context[i] = _four_bytes(key, begin + 4 * i)
        backoffs[i] = np.uint32(_four_bytes(key, begin + 4 * (n + i))).view(np.float32)
        if context[i] >= file.n_words:
            return False
    return True


@kernel
def _store(context, backoffs, n, out):
    for i in range(n):
        out[i] = np.uint32(context[i])
        out[n + i] = np.float32(backoffs[i]).view(np.uint32)


@kernel
def start_state(file, out):
    """Write the state after `<s>`; returns its number of words."""
    context, backoffs = np.empty(1, np.int64), np.empty(1, np.float32)
    n = start(context, backoffs, file)
    _store(context, backoffs, n, out)
    return n


@brief
def extend_one(file, key, word):
    """Score a word after a state.

    Returns (log10 of the probability, words of the longest gram that was found, the state after the word). 0 words say
    that the state is none of this file, -1 that the file is damaged.
    """
    context = np.empty(file.order, np.int64)
    backoffs, after = np.empty(file.order, np.float32), np.empty(file.order, np.float32)
    out = np.empty(2 * file.order, np.uint32)
    n = len(key) // 8
    if n >= file.order or len(key) % 8 != 0 or not load(key, 0, n, context, backoffs, file):
        return 0.0, 0, out[:0].view(np.int8)
    found = file_id(np.int64(word), file)
    score, length, kept = step(found, context, backoffs, n, file, after)
    if np.isnan(score):
        return 0.0, -1, out[:0].view(np.int8)
    take(found, kept, context)
    _store(context, after, kept, out)
    return np.float64(score), length, out[: 2 * kept].view(np.int8)


@kernel
def extend(keys, begins, words, file, scores, lengths, out, kept):
    """As `extend_one`, for many states, which lie one after the other, and a word for each."""
    context = np.empty(file.order, np.int64)
    backoffs, after = np.empty(file.order, np.float32), np.empty(file.order, np.float32)
    for s in range(words.size):
        n = (begins[s + 1] - begins[s]) // 8
        if load(keys, begins[s], n, context, backoffs, file):
            found = file_id(np.int64(words[s]), file)
            scores[s], lengths[s], kept[s] = step(found, context, backoffs, n, file, after)
            take(found, kept[s], context)
            _store(context, after, kept[s], out[s])
        else:
            scores[s], lengths[s], kept[s] = 0.0, 0, 0


@kernel
def extend_rows(file, states, asked, n, answers):
    """Step from row to row of `states`, each a state after how many numbers it has; returns whether the file is sound.

    asked: [i], from which row, the word, and the row of the state after it, -1 where it is not needed. log10 of the
    probabilities go to `answers`.
    """
    context = np.empty(file.order, np.int64)
    backoffs, after = np.empty(file.order, np.float32), np.empty(file.order, np.float32)
    for i in range(n):
        row = states[asked[i, 0]]
        held = np.int64(row[0]) // 2
        for k in range(held):
            context[k] = row[1 + k]
            backoffs[k] = np.uint32(row[1 + held + k]).view(np.float32)
        word = file_id(np.int64(asked[i, 1]), file)
        score, _, kept = step(word, context, backoffs, held, file, after)
        if np.isnan(score):
            return False
        answers[i] = score
        if asked[i, 2] >= 0:
            take(word, kept, context)
            out = states[asked[i, 2]]
            out[0] = 2 * kept
            _store(context, after, kept, out[1:])
    return True
