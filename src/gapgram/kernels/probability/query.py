"""A query from top to bottom: lines of text to log10 of the probability of each word.

Who knows KenLM's `lm/model.cc` finds its steps here, for a block of words in the place of one, and for patterns with
gaps, too. A pattern's *context* is a gram of another pattern, its tail, some words before; so where a context is, an
earlier lookup has found.

    score_lines, score_line     bytes to words to scores                        `query`, `Model::FullScore`
    score_positions             a block of 256 words at a time
    chain_probabilities         the loop over the patterns, shortest first      `ResumeScore`
      look_up_words             the gram that is the word itself: no search     `LookupUnigram`
      begin_lookup              where a context's grams lie; ask for some
      finish_lookup             the word among them                             `LookupMiddle`, `LookupLongest`
      _compute_values           its probability, from that one word shorter     backoffs added up
    _mix                        one pattern's value, or several, mixed

What is computed are equations (8), (15) to (17) and (24) of docs/ideas/mathematics.md; `ReferenceModel` of
`reference/model.py` says the same in plain Python. A lattice where a pattern falls back on several others takes
`kernels.probability.probabilities` in the place of `chain_probabilities`, after `locate`.

Three things make it fast:

* *Blocks.* Every step is done for all words of a block before the next step, and asks for the memory that this one
  reads (`prefetch`). A read takes 250 ns by itself, and 12 where two dozen are under way.
* *Software pipelining.* `chain_probabilities` has two patterns in hand: while the grams of one are on their way from
  memory, those of the one before are searched. It is explained there.
* *No branches.* What is found cannot be foreseen, and a mispredicted branch costs more than a search. So steps are done
  for eight words at once (`kernels.lanes`), and where there is nothing to find, too, under a mask.

The tables are never read outside their bounds, whatever a damaged file says.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gapgram.kernels.compiled import brief, host_callable, inlined, kernel, noinline
from gapgram.kernels.intrinsics import part_of, part_of_row, prefetch
from gapgram.kernels.lanes import LANES, LINE, compare_line, in_lanes
from gapgram.kernels.probability.gate import BUCKETS, gate_of, list_words
from gapgram.kernels.probability.probabilities import given_class, shared_probabilities
from gapgram.kernels.probability.scores import log10_of, sum_sequences
from gapgram.kernels.tables.arrays import (
    FIRST_ROW,
    N_ROWS,
    NEAREST,
    REACH,
    TAIL,
    clustering_of,
    code_mask_of,
    first_class,
    format_of,
    gram_at,
    halves_of,
)
from gapgram.kernels.tables.bits import lowest_one
from gapgram.kernels.tables.model_arrays import Positions
from gapgram.kernels.tables.read import context_at, first_listed, prefetch_context, read_contexts, replace_codes
from gapgram.kernels.tables.search import find_key, first_guess, gram_word
from gapgram.kernels.text.special_words import END_ID, START_ID
from gapgram.kernels.text.utf8 import is_utf8
from gapgram.kernels.text.words import ALLOW_UNKNOWN, DONE, NOT_UTF8, encode_lines

BLOCK = 256  # positions that are looked up together
MISSING, BEYOND = -1, -2  # a key that is not there; one that lies outside the line looked at


# Lines, sequences, blocks ---------------------------------------------------------------------------------------------


@kernel
def score_lines(text, special, bos, eos, slots, pool, offsets, model):
    """Score every line of a text; lines without words too. Every line ends in a newline.

    Returns (why `encode_lines` stopped, where, the id and log10 of the probability of each position, where lines
    begin, the sum of each line). With `bos` the first position of a line is `<s>`, whose score is 0. Bytes that are not
    UTF-8 are not scored: NOT_UTF8, and no lines.
    """
    if not is_utf8(text):
        return NOT_UTF8, 0, np.empty(0, np.int32), np.empty(0), np.zeros(1, np.int64), np.empty(0)
    newlines = 0
    for i in range(text.size):
        newlines += text[np.uint64(i)] == 10
    ids = np.empty(text.size // 2 + 2 * newlines + 2, np.int32)  # a word and what follows it are two bytes or more
    status, stopped, used, lines, _ = encode_lines(text, special, True, slots, pool, offsets, ids)
    begins, available = np.zeros(lines + 1, np.int64), np.empty(used, np.int16)
    line = 0
    kept = 0
    for t in range(used):
        word = ids[t]
        if (bos or word != START_ID) and (eos or word != END_ID):
            ids[kept] = word
            available[kept] = min(kept - begins[min(line, lines)], model.order - 1)
            kept += 1
        if word == END_ID:
            line += 1
            begins[min(line, lines)] = kept
    kept = begins[lines]
    scores = np.empty(kept)
    if kept > 0:
        score_positions(ids[:kept], available[:kept], model, scores)
    return status, stopped, ids[:kept], scores, begins, sum_sequences(scores, begins)


@brief
def score_line(model, slots, pool, offsets, line, bos, eos):
    """log10 of the probability of a line, bytes that end in their only newline; no number where it has special words.

    The sum has the bits that `score_lines` has for it.
    """
    text = np.frombuffer(line, np.uint8)
    ids = np.empty(text.size // 2 + 4, np.int32)  # a word and what follows it are two bytes or more
    status, _, used, _, _ = encode_lines(text, ALLOW_UNKNOWN, True, slots, pool, offsets, ids)
    words = ids[0 if bos else 1 : used if eos else used - 1]
    total = 0.0
    if used > 0 and words.size > 0:
        available, scores = np.empty(words.size, np.int16), np.empty(words.size)
        for t in range(words.size):
            available[t] = min(t, model.order - 1)
        score_positions(words, available, model, scores)
        for t in range(words.size):
            total += scores[t]
    return total if status == DONE else np.nan


@kernel
def score_sequences(ids, begins, model, out):
    """log10 of the probability of every word of sequences; sequence s is ids[begins[s]] to ids[begins[s+1] - 1]."""
    score_positions(ids, availability(ids, begins, model.order), model, out)


@kernel
def score_positions(ids, available, model, out):
    """log10 of the probability of every word; 0 where the word is `<s>`, which is never predicted."""
    halo = model.order  # columns before those of a block, so that every offset lies in the columns
    block = max(1, min(BLOCK, ids.size))  # there may be no words
    found = new_found(model.discounts.shape[0], halo + block + LANES)
    chains = only_chains(model.edge_base)
    for begin in range(0, ids.size, block):
        end = min(begin + block, ids.size)
        known, scores = available[begin:end], out[begin:end]
        positions = Positions(ids, begin, 1, known, halo)
        if chains:
            chain_probabilities(positions, found, model, scores)
        else:
            locate(ids[begin:end], known, found, halo, model.tables)
            shared_probabilities(positions, found, model, scores)
        for i in range(end - begin):
            scores[i] = log10_of(scores[i]) if ids[begin + i] != START_ID else 0.0
        if end < ids.size:
            found.entries[:, :halo] = found.entries[:, block : block + halo]


@kernel
def availability(ids, begins, order):
    """For each position how many words before it a prediction sees; sequence s is begins[s] to begins[s+1]."""
    available = np.empty(ids.size, np.int16)
    for s in range(begins.size - 1):
        for t in range(begins[s], begins[s + 1]):
            available[t] = min(t - begins[s], order - 1)
    return available


@kernel
def score_last(ids, model):
    """log10 of the probability of the last of some words; the number `score_positions` has for it."""
    last, out = ids.size - 1, np.empty(1)
    found = locate_all(ids, model.order, model.tables)
    available = np.full(1, min(last, model.order - 1), np.int16)
    probabilities_of(Positions(ids, last, 1, available, last), found, model, out)
    return log10_of(out[0])


# The loop over the patterns -------------------------------------------------------------------------------------------


@noinline
def chain_probabilities(positions, found, model, out):
    """out[i]: the probability of each word of a block; the words follow each other, and are looked up meanwhile.

    found: its columns before `positions.column` hold the entries of the words before these; those from there on are
    filled, as many as there are words, and up to LANES more.

    The loop is a software pipeline. Each pass begins one pattern and finishes the one that the pass before began, so
    that memory is read for the one while the processor works on the other:

        pass 1      begin a
        pass 2      begin b      finish a
        pass 3      begin c      finish b
        pass 4                   finish c

    Where b is looked up with what is found under a, pass 2 begins none. `lookup_order` makes that seldom.
    """
    available, at, tables, n_patterns = positions.available, positions.column, model.tables, model.discounts.shape[0]
    n, places, words = available.size, tables.places, part_of(positions.ids, positions.first, available.size)
    m = n + -n % LANES
    known, readers, order = known_words(available, m), patterns_with_tail(places), lookup_order(places)
    values, mixed = np.empty((n_patterns, m)), _new_mixed(positions, model, m)
    # What the patterns of a stream share: the keys of words or classes, the probabilities of words given these
    keys, given = np.zeros((order.n_streams, m), np.int64), np.ones((order.n_streams, m))
    searches, pending_searches = new_searches(m), new_searches(m)
    n_begun, pending = 0, np.int64(-1)  # the pattern begun and not finished, or -1
    while n_begun < n_patterns or pending >= 0:
        p = np.int64(-1)
        if n_begun < n_patterns and (pending < 0 or not depends_on(order.patterns[n_begun], pending, tables)):
            # Begin pattern p: ask for its grams.
            p = order.patterns[n_begun]
            n_begun += 1
            stream = order.streams[p]
            own_keys = part_of_row(keys, stream, 0, m)
            if places[p, REACH] > 0:
                begin_lookup(p, order.roots[p], known, own_keys, found, at, tables, searches)
                _prefetch_rows(part_of_row(found.rows, p, at, n), model.row_values)
            else:
                look_up_words(words, p, readers[p], own_keys, found, at, m, tables)
                _fill_given_class(positions, p, model, part_of_row(given, stream, 0, m))
        if pending >= 0:
            # Finish the pending one: its grams have come.
            stream = order.streams[pending]
            if places[pending, REACH] > 0:
                own_keys = part_of_row(keys, stream, 0, m)
                finish_lookup(pending, readers[pending], own_keys, found, at, tables, pending_searches)
            _compute_values(pending, part_of_row(given, stream, 0, m), found, at, model, values, mixed)
        pending, searches, pending_searches = p, pending_searches, searches
    _mix(values, available, model, mixed, out)


@kernel
def probabilities_of(positions, found, model, out):
    """out[i]: the probability of the word at position i, all of which were looked up before.

    A kernel that is called for each word by itself, with all arrays of a model, would spend more on the call than on
    the work.
    """
    if not only_chains(model.edge_base):
        shared_probabilities(positions, found, model, out)
        return
    n, n_patterns, at = positions.available.size, model.discounts.shape[0], positions.column
    values, given, mixed = np.empty((n_patterns, n)), np.ones(n), _new_mixed(positions, model, n)
    for p in range(n_patterns):
        if model.tables.places[p, REACH] == 0:
            _fill_given_class(positions, p, model, given)
        _prefetch_rows(part_of_row(found.rows, min(p + 1, n_patterns - 1), at, n), model.row_values)  # of the next one
        _compute_values(p, given, found, at, model, values, mixed)
    _mix(values, positions.available, model, mixed, out)


@kernel
def only_chains(edge_base):
    """Whether no pattern falls back on several others.

    Those that fall back on none, beside the empty one, are stored for the sake of others: no prediction comes to them.
    """
    chains = True
    for p in range(edge_base.size - 1):
        chains = chains and edge_base[p + 1] - edge_base[p] <= 1
    return chains


@host_callable
def fallback_of(edge_base, edge_to, p):
    """The pattern that pattern p falls back on, in a lattice of `only_chains`; the empty one where there is none."""
    return edge_to[edge_base[p]] if edge_base[p + 1] > edge_base[p] else 0


# Looking up -----------------------------------------------------------------------------------------------------------


class Found(NamedTuple):
    """What the tables hold of some words of a text, a column a word: int64 [pattern, column] each.

    entries     the number of the pattern's gram that ends with the word; -1 where it was never seen
    counts      the count of that gram
    rows        the row of its context; the pattern's row 0 where it was never seen, -1 where the sentence is too short
    """

    entries: np.ndarray
    counts: np.ndarray
    rows: np.ndarray


@kernel
def new_found(n_patterns, n_columns):
    """A `Found` to be filled by `locate`."""
    shape = (n_patterns, n_columns)
    return Found(np.empty(shape, np.int64), np.empty(shape, np.int64), np.empty(shape, np.int64))


class Order(NamedTuple):
    """In which order patterns may be looked up: int64 [pattern] each, and a number.

    patterns    the patterns, each after all that its lookup needs
    roots       of each pattern the one without a context that it comes from: of words, or of classes of a clustering
    streams     the number of that one among its like
    n_streams   how many of these there are
    """

    patterns: np.ndarray
    roots: np.ndarray
    streams: np.ndarray
    n_streams: int


@kernel
def lookup_order(places):
    """By the number of words in a context: what is looked up next then seldom needs what was looked up last."""
    n_patterns, n_streams = places.shape[0], 0
    numbers, begins = np.empty((4, n_patterns), np.int64), np.zeros(n_patterns + 1, np.int64)
    patterns, roots, streams, depths = numbers[0], numbers[1], numbers[2], numbers[3]
    for p in range(n_patterns):
        tail, is_root = places[p, TAIL], places[p, REACH] == 0
        depths[p] = 0 if is_root else depths[tail] + 1
        roots[p] = p if is_root else roots[tail]
        streams[p] = n_streams if is_root else streams[tail]
        n_streams += is_root
        begins[depths[p] + 1] += 1
    # Those of each depth come after those of all smaller depths.
    for depth in range(n_patterns):
        begins[depth + 1] += begins[depth]
    for p in range(n_patterns):
        patterns[begins[depths[p]]] = p
        begins[depths[p]] += 1
    return Order(patterns, roots, streams, n_streams)


@kernel
def depends_on(p, other, tables):
    """Whether pattern p is looked up with what was found under another one."""
    is_needed = tables.places[p, TAIL] == other
    for k in range(tables.parts.shape[1]):
        is_needed = is_needed or tables.parts[p, k] == other
    return is_needed


@kernel
def patterns_with_tail(places):
    """Of each pattern the last one whose contexts its grams are; 0 where there is none.

    The contexts of all of these lie side by side.
    """
    readers = np.zeros(places.shape[0], np.int64)
    for p in range(places.shape[0]):
        if places[p, REACH] > 0 and places[p, TAIL] < readers.size:
            readers[places[p, TAIL]] = p
    return readers


@kernel
def known_words(available, m):
    """How many words are known before each of m positions; -1 for those beyond the ones that there are."""
    known = np.full(m, -1, np.int64)
    for i in range(available.size):
        known[i] = available[i]
    return known


@kernel
def look_up_words(words, p, reader, keys, found, at, m, tables):
    """`locate` for a pattern of no context: the words, or the classes, themselves; keys[i] receives the key of each.

    reader: as for `finish_lookup`. m: as for `begin_lookup`.
    """
    entries, counts = part_of_row(found.entries, p, at, m), part_of_row(found.counts, p, at, m)
    rows, form = part_of_row(found.rows, p, at, m), format_of(tables.places, p)
    bits, halves = tables.grams, halves_of(tables)
    place, class_of, code_mask = tables.places[p], tables.class_of, code_mask_of(form)
    clustering, first = clustering_of(tables.places, p), first_class(tables.places, p)
    n_words = tables.word_counts.size  # that have classes
    # All follow the one context that there is.
    row = min(place[FIRST_ROW] + context_at(tables, p, 0)[2], place[FIRST_ROW] + place[N_ROWS] - 1)
    for i in range(m):
        entries[i] = -1
        counts[i] = 0
        rows[i] = row
    largest = np.int64(-1)
    for i in range(words.size):
        word = np.int64(words[i])
        if clustering > 0 and word < n_words:
            word = np.int64(class_of[np.uint64((clustering - 1) * n_words + word)]) - first
        word = word if 0 <= word < form.n_grams else np.int64(0)
        gram = gram_at(bits, halves, form, word)
        keys[i] = gram >> form.code_bits
        entries[i] = word
        counts[i] = gram & code_mask
        largest = max(largest, gram & code_mask)
    if reader > 0:
        for i in range(words.size):
            prefetch_context(tables, reader, entries[i])
    if largest >= first_listed(tables, code_mask):
        replace_codes(tables, p, entries, counts)


@inlined
def begin_lookup(p, root, known, keys, found, at, tables, searches):
    """Read the contexts of all words under pattern p, and ask for the grams that are to be searched.

    root: the pattern without a context that p comes from. known: `known_words`, of all columns from `at` on that are
        filled: as many as there are words, or the next multiple of LANES, which takes less time.
    """
    m, place, parts = known.size, tables.places[p], tables.parts
    rows, low, spread = part_of_row(found.rows, p, at, m), searches.first, searches.spread
    # The context is the tail's gram that ends `distance` words before; for the first words there may be no column.
    tail, distance, reach = place[TAIL], place[NEAREST], place[REACH]
    first = min(max(distance - at, 0), m)
    before = part_of_row(found.entries, tail, at + first - distance, m - first)
    read_contexts(
        tables, p, before, part_of(low, first, m - first), part_of(spread, first, m - first),
        part_of(rows, first, m - first),
    )  # fmt: skip
    _mask_too_short(m, known, reach, rows, spread)
    # A gram was only seen if each gram that skips one word more was: where one was not there is nothing to search.
    for k in range(parts.shape[1]):
        if parts[p, k] > root:
            _mask_missing(m, spread, part_of_row(found.entries, parts[p, k], at, m))
    begin_searches(tables.grams, format_of(tables.places, p), m, keys, searches)


@in_lanes
def _mask_too_short(lanes, known, reach, rows, spread):
    """Where too few words are known there is no context, and nothing to search."""
    is_known = lanes.read(known) >= reach
    lanes.write(rows, lanes.where(is_known, lanes.read(rows), -1))
    lanes.write(spread, lanes.where(is_known, lanes.read(spread), 0))


@in_lanes
def _mask_missing(lanes, spread, entries):
    """Let nothing be searched where no gram was found."""
    lanes.write(spread, lanes.where(lanes.read(entries) >= 0, lanes.read(spread), 0))


@inlined
def finish_lookup(p, reader, keys, found, at, tables, searches):
    """Do the searches that `begin_lookup` began.

    reader: a pattern whose contexts the grams of p are, which will be asked for; 0 where there is none.
    """
    form, seen, m = format_of(tables.places, p), searches.seen, keys.size
    entries, counts = part_of_row(found.entries, p, at, m), part_of_row(found.counts, p, at, m)
    largest = find_keys(tables.grams, halves_of(tables), form, m, keys, searches, entries, counts)
    if largest >= first_listed(tables, code_mask_of(form)):
        replace_codes(tables, p, entries, counts)
    if reader > 0:
        for j in range(1, seen[0] + 1):
            prefetch_context(tables, reader, entries[np.uint64(seen[np.uint64(j)])])


@noinline
def locate(words, available, found, at, tables):
    """Look up, for at most BLOCK words one after the other, the gram of every pattern and its context.

    Word i, before which available[i] words are known, fills column at+i of `found`; the columns before `at` hold the
    entries of the words before these. The tables are never read outside their bounds, whatever a damaged file says.
    """
    n, places = words.size, tables.places
    keys, searches, known = np.empty(n, np.int64), new_searches(n), known_words(available, n)
    root, readers = 0, patterns_with_tail(places)
    for p in range(places.shape[0]):
        if places[p, REACH] == 0:
            # The words themselves, or their classes; the patterns up to the next such one have their keys.
            root = p
            look_up_words(words, p, readers[p], keys, found, at, n, tables)
        else:
            begin_lookup(p, root, known, keys, found, at, tables, searches)
            finish_lookup(p, readers[p], keys, found, at, tables, searches)


@kernel
def locate_all(words, order, tables):
    """`locate` for the words of one short sequence, from its first on."""
    found = new_found(tables.places.shape[0], words.size)
    locate(words, availability(words, np.array([0, words.size]), order), found, 0, tables)
    return found


# Searching among the grams of contexts --------------------------------------------------------------------------------


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


@inlined
def begin_searches(bits, form, m, keys, searches):
    """Ask for the grams where m keys are looked for first; `searches` has the first gram and the spread of each."""
    guess = searches.guess
    _guess_first(m, keys, searches.first, searches.spread, form.key_bits, guess)
    for i in range(m):
        prefetch(bits, gram_word(form, guess[i]))


@in_lanes
def _guess_first(lanes, keys, first, spread, key_bits, guess):
    """Where to look first for each key; the first gram of all where there is nothing to search."""
    n_grams = lanes.read(spread)
    place = lanes.read(first) + lanes.shift_right(lanes.read(keys) * n_grams, key_bits)
    lanes.write(guess, lanes.where(n_grams > 0, place, 0))


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
    is_found, is_searched = equal > 0, n_grams > 0  # where nothing is searched `begin` may be anything
    is_after = lanes.equal(less, inside) & (end > line + LINE) & is_searched
    is_before = lanes.equal(less | equal, 0) & (line > begin) & is_searched
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


@inlined
def find_gram(bits, halves, form, key, low, spread):
    """(number, gram) of the gram with a key among the `spread` grams from `low` on, at least one; (-1, 0) without.

    As `find_key`, a line of the cache at a time where each gram is a half.
    """
    guess = first_guess(key, low, spread, form.key_bits)
    if halves is None:
        return find_key(bits, halves, form, key, low, spread, guess)
    if halves.size < LINE:
        return find_key(bits, halves, form, key, low, spread, guess)
    base = form.first_bit >> 5
    first, last, found, at = base + low, base + low + spread - 1, np.int64(BEYOND), base + guess
    while found == BEYOND:
        found, first, last, ahead = _look_into_line(halves, form.code_bits, key, first, last, at)
        at = _next_guess(ahead, spread, form.key_bits, first, last)
    if found < 0:
        return np.int64(-1), np.int64(0)
    return found - base, np.int64(halves[np.uint64(found)])


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


@inlined
def _closer(bits, halves, form, key, low, spread, first, last, g):
    """(first, last, g): where a key may be, and the next guess, from the key that lies at gram g; without a branch.

    Where the key is not there, or is found, g stays among the grams from `low` on.
    """
    ahead = key - (gram_at(bits, halves, form, g) >> form.code_bits)
    first = g + 1 if ahead > 0 else first
    last = g - 1 if ahead < 0 else last
    return first, last, max(min(max(g + (ahead * spread >> form.key_bits), first), last), low)


# Values, and their mixture --------------------------------------------------------------------------------------------


@inlined
def _fill_given_class(positions, p, model, given):
    """given[i]: the probability of each word given its class in the clustering that pattern p is of."""
    clustering = clustering_of(model.tables.places, p)
    for i in range(positions.available.size):
        given[i] = given_class(model, clustering, np.int64(positions.ids[positions.first + i * positions.step]))


@inlined
def _prefetch_rows(rows, row_values):
    """Ask for what `_compute_values` will read."""
    flat = row_values.reshape(-1)
    for i in range(rows.size):
        prefetch(flat, 4 * max(rows[i], 0))


@inlined
def _compute_values(p, given, found, at, model, values, mixed):
    """The probability of each word under pattern p, its weight, and the row of the gate table that its context has."""
    n_patterns, m = values.shape
    rows, counts = part_of_row(found.rows, p, at, m), part_of_row(found.counts, p, at, m)
    own, row_values, discounts = part_of_row(values, p, 0, m), model.row_values, model.discounts
    d0, d1, d2, d3 = discounts[p, 0], discounts[p, 1], discounts[p, 2], discounts[p, 3]
    if p == 0:
        for i in range(m):
            own[i] = model.uniform
    below = part_of_row(values, fallback_of(model.edge_base, model.edge_to, p), 0, m)
    if mixed.weights.size > 0:
        weights, features = part_of_row(mixed.weights, p, 0, m), part_of_row(mixed.features, 1 + p, 0, m)
        _values_and_weights(
            m, rows, counts, below, given, row_values, d0, d1, d2, d3, own, weights, features, p * BUCKETS, n_patterns
        )
    else:
        _values(m, rows, counts, below, given, row_values, d0, d1, d2, d3, own)


@in_lanes
def _values(lanes, rows, counts, below, given, row_values, d0, d1, d2, d3, own):
    """What `_write_values` writes, and no more."""
    _write_values(lanes, rows, counts, below, given, row_values, d0, d1, d2, d3, own)


@in_lanes
def _values_and_weights(
    lanes, rows, counts, below, given, row_values, d0, d1, d2, d3, own, weights, features, first, n_patterns
):
    """The same, and the weight and the feature of each context.

    A damaged file may say a bucket that is none: the first then.
    """
    weight, bucket = _write_values(lanes, rows, counts, below, given, row_values, d0, d1, d2, d3, own)
    lanes.write(weights, weight)
    is_bucket = (bucket >= 0.0) & (bucket < float(BUCKETS))
    lanes.write(features, (lanes.as_int(lanes.where(is_bucket, bucket, 0.0)) + first) * n_patterns)


def _write_values(lanes, rows, counts, below, given, row_values, d0, d1, d2, d3, own):
    """own[i]: the probability of a word under a pattern; equations (8), (15) and (24) of docs/ideas/mathematics.md.

    below: that under the pattern it falls back on. d0 … d3: the pattern's discounts.
    Returns the weight of each context, and its bucket in the gate table.
    """
    row, count, fallen = lanes.read(rows), lanes.read(counts), lanes.read(below)
    scale, backoff, weight, bucket = lanes.gather_rows4(row_values, lanes.maximum(row, 0))
    discount = lanes.where(count > 2, d3, lanes.where(count > 1, d2, lanes.where(count > 0, d1, d0)))
    kept = (lanes.as_float(count) - discount) * scale
    lanes.write(own, lanes.where(row >= 0, fallen * backoff + kept * lanes.read(given), fallen))
    return weight, bucket


class Mixed(NamedTuple):
    """How the patterns of each position are mixed.

    weights     [pattern, position]: of each pattern, without the gate
    features    [1 + pattern + offset, position]: rows of the gate table, times the number of patterns: of the words
                available, of each pattern, of the words before
    """

    weights: np.ndarray
    features: np.ndarray


@kernel
def _new_mixed(positions, model, m):
    """Room for m positions; none where every prediction starts from one pattern."""
    n_patterns, is_mixed = model.discounts.shape[0], model.starts.size > model.start_base.size - 1
    width = m if is_mixed else 0
    mixed = Mixed(np.empty((n_patterns, width)), np.empty((n_patterns + model.order, width), np.int64))
    if is_mixed and model.gate_table.size > 0:
        list_words(positions, model, mixed.features)
    return mixed


@kernel
def _mix(values, available, model, mixed, out):
    """out[i]: the value of the pattern that a prediction starts from, or of several, mixed: equation (16)."""
    (n_patterns, m), n, start_base, starts = values.shape, available.size, model.start_base, model.starts
    if mixed.weights.size == 0:
        for i in range(n):
            out[i] = values[starts[available[i]], i]
        return
    # Patterns that it does not start from have no weight.
    is_start = np.empty(n_patterns, np.bool_)
    for known in range(start_base.size - 1):
        if start_base[known + 1] - start_base[known] < n_patterns:
            is_start[:] = False
            for s in range(start_base[known], start_base[known + 1]):
                is_start[starts[s]] = True
            for i in range(n):
                if available[i] == known:
                    for p in range(n_patterns):
                        if not is_start[p]:
                            mixed.weights[p, i] = 0.0
    gate, total, sums = gate_of(available, model, mixed.features).reshape(-1), np.zeros(m), np.zeros(m)
    for p in range(n_patterns):
        _add_pattern(
            m, p, n_patterns, gate, part_of_row(mixed.weights, p, 0, m), part_of_row(values, p, 0, m), total, sums
        )
    for i in range(n):
        out[i] = sums[i] / total[i] if total[i] > 0.0 else 0.0


@in_lanes
def _add_pattern(lanes, p, n_patterns, gate, weights, values, total, sums):
    """Add the weight of a pattern to the total of each position, and what it says of the word to the sums."""
    weight = lanes.read(weights) * lanes.gather(gate, lanes.numbers * n_patterns + p)
    lanes.write(total, lanes.read(total) + weight)
    lanes.write(sums, lanes.read(sums) + weight * lanes.read(values))
