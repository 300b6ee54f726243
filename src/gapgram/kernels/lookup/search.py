"""Where a number lies among sorted ones, and where a key lies among those of a context: one, or many at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gapgram.kernels.compiled import inlined, kernel
from gapgram.kernels.intrinsics import prefetch
from gapgram.kernels.lanes import LANES, LINE, compare_line, in_lanes
from gapgram.kernels.tables.arrays import code_mask_of, gram_at
from gapgram.kernels.tables.bits import lowest_one


@kernel
def first_at_least(values, low, high, value):
    """Of values[low:high], which rise, the number of the first that is at least `value`; `high` where none is."""
    while low < high:
        middle = (low + high) >> 1
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def first_guess(key, low, spread, key_bits):
    """Where to look first for a key among `spread` grams from `low` on: keys lie about evenly."""
    return low + (key * spread >> key_bits)


@kernel
def gram_word(form, g):
    """The 64-bit word in which gram g begins, for `prefetch`."""
    return (form.first_bit + g * form.width) >> 6


MISSING, BEYOND = -1, -2


@inlined
def _look_into_line(halves, code_bits, key, first, last, at):
    """(found, first, last, ahead): what the line of halves[at] tells of where a key lies among halves[first … last].

    found: where it lies, MISSING, or BEYOND the line: then it is between first and last as they are returned, and
    about `ahead` keys from the nearer end of the line. There are LINE halves or more.
    """
    line = min(at & -LINE, halves.size - LINE)
    # Those of the line that lie between first and last, of these the ones with smaller keys, and the one with the key
    inside = (np.int64(2) << min(last - line, LINE - 1)) - (np.int64(1) << max(first - line, 0))
    masks = compare_line(halves, line, code_bits, key)
    equal, less = masks & inside, masks >> LINE & inside
    if less == inside and line + LINE <= last:
        first = line + LINE
        return np.int64(BEYOND), first, last, key - (np.int64(halves[np.uint64(first - 1)]) >> code_bits)
    if less == 0 and equal == 0 and line > first:
        return np.int64(BEYOND), first, line - 1, key - (np.int64(halves[np.uint64(line)]) >> code_bits)
    found = line + lowest_one(np.uint64(equal)) if equal != 0 else np.int64(MISSING)
    return found, first, last, np.int64(0)


@inlined
def _next_guess(ahead, spread, key_bits, first, last):
    """Where a key is looked for next that lies between first and last, `ahead` keys from one of them."""
    return min(max((first if ahead > 0 else last) + (ahead * spread >> key_bits), first), last)


@kernel
def find_key(bits, halves, form, key, low, spread, guess):
    """(number, gram) of the gram with a key among the `spread` grams from `low` on; (-1, 0) where there is none.

    bits, halves, form: as for `gram_at`. guess: one of these numbers, where to look first. From the key that lies
    there the next guess is made, and so on: the key is at most a few steps away.
    """
    first, last, g = low, low + spread - 1, guess
    while first <= last:
        gram = gram_at(bits, halves, form, g)
        ahead = key - (gram >> form.code_bits)
        if ahead == 0:
            return g, gram
        first = g + 1 if ahead > 0 else first
        last = last if ahead > 0 else g - 1
        g = min(max(g + (ahead * spread >> form.key_bits), first), last)
    return np.int64(-1), np.int64(0)


@inlined
def _closer(bits, halves, form, key, low, spread, first, last, g):
    """(first, last, g): where a key may be, and the next guess, from the key that lies at gram g; without a branch.

    Where the key is not there, or is found, g stays among the grams from `low` on.
    """
    ahead = key - (gram_at(bits, halves, form, g) >> form.code_bits)
    first = g + 1 if ahead > 0 else first
    last = g - 1 if ahead < 0 else last
    return first, last, max(min(max(g + (ahead * spread >> form.key_bits), first), last), low)


class Searches(NamedTuple):
    """Searches for the words of a block among the grams of their contexts: int64 [word] each, or lists of words.

    A list is as `kernels.lanes` has it.

    first       the first gram of the context of each word; later the first that it may be
    spread      how many grams the context has; 0 where nothing is searched
    last        the last gram that it may be
    guess       where to look next
    again       list: the words whose search goes on after the first look
    seen        list: the words whose gram was found
    """

    first: np.ndarray
    spread: np.ndarray
    last: np.ndarray
    guess: np.ndarray
    again: np.ndarray
    seen: np.ndarray


@kernel
def new_searches(n):
    """Room for the searches of n words."""
    numbers = np.empty((6, n + 1 + LANES), np.int64)
    return Searches(numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5])


@in_lanes
def _guess_first(lanes, keys, first, spread, key_bits, guess):
    """Where to look first for each key; the first gram of all where there is nothing to search."""
    n_grams = lanes.read(spread)
    place = lanes.read(first) + lanes.shift_right(lanes.read(keys) * n_grams, key_bits)
    lanes.write(guess, lanes.where(n_grams > 0, place, 0))


@inlined
def begin_searches(bits, form, m, keys, searches):
    """Ask for the grams where m keys are looked for first; `searches` has the first gram and the spread of each."""
    guess = searches.guess
    _guess_first(m, keys, searches.first, searches.spread, form.key_bits, guess)
    for i in range(m):
        prefetch(bits, gram_word(form, guess[i]))


@kernel
def _find_keys_by_guessing(bits, halves, form, m, keys, searches, entries, codes):
    """`find_keys` for grams of any width.

    From the key that lies at the first guess a second one is made, for all searches before any goes on. Nine of ten
    searches need no more than four guesses. These are made for all: a processor loses more by guessing wrongly how many
    a search will need than by a guess too many.
    """
    first, spread, guess, again, seen = searches.first, searches.spread, searches.guess, searches.again, searches.seen
    code_mask = code_mask_of(form)
    largest = np.int64(-1)
    n = 0
    for i in range(m):
        entries[i] = -1
        codes[i] = 0
        again[n] = i
        n += spread[i] > 0
    for j in range(n):
        i = np.uint64(again[j])
        begin, n_grams = first[i], spread[i]
        _, _, guess[i] = _closer(bits, halves, form, keys[i], begin, n_grams, begin, begin + n_grams - 1, guess[i])
        prefetch(bits, gram_word(form, guess[i]))
    seen[0] = 0
    for j in range(n):
        i = np.uint64(again[j])
        begin, n_grams = first[i], spread[i]
        key, low, high, g = keys[i], begin, begin + n_grams - 1, guess[i]
        low, high, g = _closer(bits, halves, form, key, begin, n_grams, low, high, g)
        low, high, g = _closer(bits, halves, form, key, begin, n_grams, low, high, g)
        gram = gram_at(bits, halves, form, g)
        if gram >> form.code_bits != key and low <= high:
            g, gram = find_key(bits, halves, form, key, begin, n_grams, g)
        is_found = g >= 0 and gram >> form.code_bits == key
        code = gram & code_mask if is_found else np.int64(0)
        entries[i] = g if is_found else np.int64(-1)
        codes[i] = code
        largest = max(largest, code if is_found else np.int64(-1))
        seen[1 + seen[0]] = again[j]
        seen[0] += is_found
    return largest


@in_lanes
def _look_first(
    lanes, halves, last_line, base, code_bits, key_bits, code_mask, keys, first, spread, last, guess, again, seen,
    entries, codes,
):  # fmt: skip
    """Look for all keys where they are guessed to lie, as `_look_into_line` does for one, and without a branch.

    What is found cannot be foreseen, and a processor that goes on where it should not loses more time than this takes.
    base: the half of the pattern's first gram. last_line: the last half that LINE of them begin at.
    """
    key, n_grams, begin, at = lanes.read(keys), lanes.read(spread), lanes.read(first) + base, lanes.read(guess) + base
    end = begin + n_grams  # behind the last
    line = lanes.minimum(at & -LINE, last_line)
    masks = lanes.compare_lines(halves, line, code_bits, key)
    # Those of the line that lie between first and last, of these the ones with smaller keys, and the one with the key
    below = lanes.power_of_two(lanes.minimum(lanes.maximum(begin - line, 0), LINE))
    inside = lanes.power_of_two(lanes.minimum(lanes.maximum(end - line, 0), LINE)) - below
    equal, less = masks & inside, lanes.shift_right(masks, LINE) & inside
    is_found = equal > 0
    is_after = lanes.equal(less, inside) & (end > line + LINE) & (n_grams > 0)
    is_before = lanes.equal(less | equal, 0) & (line > begin)
    # The gram that was found, or the one at the end of the line that is nearer to the key
    found_at = lanes.where(is_found, lanes.count_trailing_zeros(equal | 1 << LINE - 1), 0)
    place = line + lanes.where(is_after, LINE - 1, found_at)
    half = lanes.gather_u32(halves, place)
    lanes.write(entries, lanes.where(is_found, place - base, -1))
    lanes.write(codes, lanes.where(is_found, half & code_mask, 0))
    lanes.append(seen, is_found)
    # From there the next guess is made.
    near = lanes.shift_right(half, code_bits)
    step = lanes.shift_right(lanes.where(is_after, key - near, near - key) * n_grams, key_bits)
    begin, end = lanes.where(is_after, line + LINE, begin), lanes.where(is_before, line, end)
    up, down = lanes.minimum(begin + step, end - 1), lanes.maximum(end - 1 - step, begin)
    lanes.write(guess, lanes.where(is_after, up, down))
    lanes.write(first, begin)
    lanes.write(last, end - 1)
    lanes.append(again, is_after | is_before)


@inlined
def find_keys(bits, halves, form, m, keys, searches, entries, codes):
    """Do m searches for the grams with keys[word] that have begun; writes entries[word], -1 for none, and codes[word].

    Returns the largest code. The words whose grams were found are listed in searches.seen.
    """
    if halves is None:
        return _find_keys_by_guessing(bits, halves, form, m, keys, searches, entries, codes)
    if halves.size < LINE:
        return _find_keys_by_guessing(bits, halves, form, m, keys, searches, entries, codes)
    first, spread, last, guess, again, seen = searches
    base, code_bits, key_bits, code_mask = form.first_bit >> 5, form.code_bits, form.key_bits, code_mask_of(form)
    again[0] = 0
    seen[0] = 0
    _look_first(
        m, halves, halves.size - LINE, base, code_bits, key_bits, code_mask, keys, first, spread, last, guess, again,
        seen, entries, codes,
    )  # fmt: skip
    for j in range(1, again[0] + 1):
        prefetch(halves, guess[np.uint64(again[np.uint64(j)])])
    for j in range(1, again[0] + 1):
        i = np.uint64(again[np.uint64(j)])
        low, high, at, next_at = first[i], last[i], np.int64(BEYOND), guess[i]
        while at == BEYOND:
            at, low, high, ahead = _look_into_line(halves, code_bits, keys[i], low, high, next_at)
            next_at = _next_guess(ahead, spread[i], key_bits, low, high)
        if at >= 0:
            entries[i] = at - base
            codes[i] = np.int64(halves[np.uint64(at)]) & code_mask
            seen[1 + seen[0]] = i
            seen[0] += 1
    largest = np.int64(-1)
    for i in range(m):
        largest = max(largest, codes[i])
    return largest
