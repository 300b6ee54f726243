"""Where a number lies among sorted ones, and where a key lies among those of a context: one, or many at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gapgram.kernels.bits import lowest_one
from gapgram.kernels.jit import before_compiling, inlined, kernel
from gapgram.kernels.prefetch import prefetch
from gapgram.kernels.tables import code_mask_of, gram_at


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


LINE = 16  # grams of the fast layout that lie in a line of the cache, and are compared at once
MISSING, BEYOND = -1, -2


def compare_line(halves, at, code_bits, key):
    """Of the LINE grams from halves[at] on, two bits each: those whose key is this one, and above, that are less.

    So where kernels run as plain Python. Compiled, the grams are one number of the processor.
    """
    masks = 0
    for i in range(LINE):
        other = int(halves[at + i]) >> code_bits
        masks |= (other == key) << i | (other < key) << LINE + i
    return masks


@before_compiling
def _teach() -> None:
    from llvmlite import ir
    from numba.core import types
    from numba.extending import lower_builtin, type_callable

    @type_callable(compare_line)
    def type_of_masks(context):
        return lambda halves, at, code_bits, key: types.int64

    @lower_builtin(compare_line, types.Array, types.Integer, types.Integer, types.Integer)
    def code_of_masks(context, builder, signature, arguments):
        number, word = ir.IntType(32), ir.IntType(64)
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        line = ir.VectorType(number, LINE)
        grams = builder.load(builder.bitcast(builder.gep(data, [arguments[1]]), line.as_pointer()), align=4)

        def everywhere(value):
            first = builder.insert_element(line(ir.Undefined), builder.trunc(value, number), number(0))
            return builder.shuffle_vector(first, line(ir.Undefined), ir.VectorType(number, LINE)([0] * LINE))

        keys, key = builder.lshr(grams, everywhere(arguments[2])), everywhere(arguments[3])
        equal, less = (
            builder.zext(builder.bitcast(builder.icmp_unsigned(how, keys, key), ir.IntType(LINE)), word)
            for how in ("==", "<")
        )
        return builder.or_(equal, builder.shl(less, word(LINE)))


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
    """Searches for the words of a block among the grams of their contexts: int64 [word] each.

    low         the first gram of the context of each word
    spread      how many grams it has; 0 where nothing is searched
    words       the words that are searched, one after the other
    again       those of them whose search goes on
    first, last, guess    between which grams it goes on, and where
    """

    low: np.ndarray
    spread: np.ndarray
    words: np.ndarray
    again: np.ndarray
    first: np.ndarray
    last: np.ndarray
    guess: np.ndarray


@kernel
def _find_keys_by_guessing(bits, halves, form, keys, searches, n, entries, codes):
    """`find_keys` for grams of any width.

    From the key that lies at the first guess a second one is made, for all searches before any goes on. Nine of ten
    searches need no more than four guesses. These are made for all: a processor loses more by guessing wrongly how many
    a search will need than by a guess too many.
    """
    low, spread, words, guess = searches.low, searches.spread, searches.words, searches.guess
    code_mask = code_mask_of(form)
    largest = np.int64(-1)
    for j in range(n):
        i = np.uint64(words[j])
        key, first, n_grams = keys[i], low[i], spread[i]
        g = first_guess(key, first, n_grams, form.key_bits)
        _, _, guess[j] = _closer(bits, halves, form, key, first, n_grams, first, first + n_grams - 1, g)
        prefetch(bits, gram_word(form, guess[j]))
    for j in range(n):
        i = np.uint64(words[j])
        begin, n_grams = low[i], spread[i]
        key, first, last, g = keys[i], begin, begin + n_grams - 1, guess[j]
        first, last, g = _closer(bits, halves, form, key, begin, n_grams, first, last, g)
        first, last, g = _closer(bits, halves, form, key, begin, n_grams, first, last, g)
        gram = gram_at(bits, halves, form, g)
        if gram >> form.code_bits != key and first <= last:
            g, gram = find_key(bits, halves, form, key, begin, n_grams, g)
        is_found = g >= 0 and gram >> form.code_bits == key
        code = gram & code_mask if is_found else np.int64(0)
        entries[i] = g if is_found else np.int64(-1)
        codes[i] = code
        largest = max(largest, code if is_found else np.int64(-1))
    return largest


@inlined
def find_keys(bits, halves, form, keys, searches, n, entries, codes):
    """Do the first n searches for the grams with keys[word]; writes entries[word], -1 for none, and codes[word].

    Returns the largest code.
    """
    if halves is None:
        return _find_keys_by_guessing(bits, halves, form, keys, searches, n, entries, codes)
    if halves.size < LINE:
        return _find_keys_by_guessing(bits, halves, form, keys, searches, n, entries, codes)
    low, spread, words, again, firsts, lasts, guess = searches
    base, code_bits, key_bits, code_mask = form.first_bit >> 5, form.code_bits, form.key_bits, code_mask_of(form)
    largest = np.int64(-1)
    # The line of the first guess, for all searches before any goes on
    left = 0
    for j in range(n):
        i = np.uint64(words[j])
        key, n_grams, first = keys[i], spread[i], base + low[i]
        at = first + (key * n_grams >> key_bits)
        at, first, last, ahead = _look_into_line(halves, code_bits, key, first, first + n_grams - 1, at)
        if at == BEYOND:
            again[left] = words[j]
            firsts[left] = first
            lasts[left] = last
            guess[left] = _next_guess(ahead, n_grams, key_bits, first, last)
            prefetch(halves, guess[left])
            left += 1
        elif at >= 0:
            code = np.int64(halves[np.uint64(at)]) & code_mask
            entries[i] = at - base
            codes[i] = code
            largest = max(largest, code)
    for j in range(left):
        i = np.uint64(again[j])
        first, last, at, next_at = firsts[j], lasts[j], np.int64(BEYOND), guess[j]
        while at == BEYOND:
            at, first, last, ahead = _look_into_line(halves, code_bits, keys[i], first, last, next_at)
            next_at = _next_guess(ahead, spread[i], key_bits, first, last)
        if at >= 0:
            code = np.int64(halves[np.uint64(at)]) & code_mask
            entries[i] = at - base
            codes[i] = code
            largest = max(largest, code)
    return largest
