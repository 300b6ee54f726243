"""Words to ids by the hashes that a binary file of KenLM holds in the place of words."""

from __future__ import annotations

import numpy as np

from gapgram.kernels.compiled import kernel
from gapgram.kernels.intrinsics import read_4, read_8
from gapgram.kernels.kenlm.arrays import PROBING, file_id, n_ids, word_id
from gapgram.kernels.text.cut_words import next_word
from gapgram.kernels.text.special_words import END_ID, START_ID, UNKNOWN_ID
from gapgram.kernels.text.words import DONE, SKIP_SPECIAL, SPECIAL_FOUND, refused

FILE_DAMAGED = 3  # one more reason why `encode_lines` returned

MOST_PROBES = 1 << 20  # entries that are looked at for one key; a table in which more are needed is not KenLM's
_WORD_ENTRY = 12  # bytes of a hash and an id
_GUESSES = 8  # entries that are guessed in a sorted list before it is halved

_FACTOR, _SHIFT = np.uint64(0xC6A4A7935BD1E995), np.uint64(47)
# Of the special words
_UNKNOWN_HASH, _START_HASH = np.uint64(0xEA91E7561F5B392B), np.uint64(0x00758639BD217E70)
_END_HASH = np.uint64(0x6BE0737DF1F76C0A)


@kernel
def hash_word(text, begin, end):
    """MurmurHash64A of text[begin:end] with seed 0."""
    h = np.uint64(end - begin) * _FACTOR
    at = begin
    # Eight bytes at a time, the first the lowest
    while at + 8 <= end:
        block = np.uint64(0)
        for i in range(8):
            block |= np.uint64(text[np.uint64(at + i)]) << np.uint64(8 * i)
        block *= _FACTOR
        block ^= block >> _SHIFT
        h = (h ^ (block * _FACTOR)) * _FACTOR
        at += 8
    # What is left
    if at < end:
        for i in range(end - at):
            h ^= np.uint64(text[np.uint64(at + i)]) << np.uint64(8 * i)
        h *= _FACTOR
    h ^= h >> _SHIFT
    h *= _FACTOR
    return h ^ (h >> _SHIFT)


@kernel
def _probe(h, file):
    """The id that a hash table of words has for a hash; 0 where it has none, -1 where the table is damaged."""
    at = np.int64(h % np.uint64(file.n_hashes))
    for _ in range(min(file.n_hashes, MOST_PROBES)):
        offset = file.hashes_at + _WORD_ENTRY * at
        key = read_8(file.memory, offset)
        if key == h:
            word = np.int64(read_4(file.memory, offset + 8))
            return word if word < file.n_words else np.int64(-1)
        if key == 0:
            return np.int64(0)
        at += 1
        if at == file.n_hashes:
            at = np.int64(0)
    return np.int64(-1)


@kernel
def _search(h, file):
    """The id that a sorted list of hashes has for a hash, one more than its entry; 0 where it is not there."""
    low, high = np.int64(-1), np.int64(file.n_hashes)  # below and above it
    below, above = 0.0, 18446744073709551616.0
    guesses = 0
    while high - low > 1:
        if guesses < _GUESSES:
            # As far between the two as the hash is between theirs
            middle = low + 1 + np.int64((np.float64(h) - below) / (above - below) * np.float64(high - low - 1))
            middle = max(low + 1, min(middle, high - 1))
            guesses += 1
        else:
            middle = (low + high) >> 1
        found = read_8(file.memory, file.hashes_at + 8 * middle)
        if found == h:
            return middle + 1
        if found < h:
            low, below = middle, np.float64(found)
        else:
            high, above = middle, np.float64(found)
        if below >= above:
            guesses = _GUESSES  # too near for a guess
    return np.int64(0)


@kernel
def find_hash(h, file):
    """The file's id of a word by its hash; 0 where it is unknown, -1 where the file is damaged."""
    return _probe(h, file) if file.kind == PROBING else _search(h, file)


@kernel
def find_word(text, begin, end, file):
    """The gapgram id of text[begin:end]; -1 where the file does not hold it, -2 where the file is damaged."""
    h = hash_word(text, begin, end)
    if h == _UNKNOWN_HASH:
        return np.int64(UNKNOWN_ID)
    if h == _START_HASH:
        return np.int64(START_ID)
    if h == _END_HASH:
        return np.int64(END_ID)
    found = find_hash(h, file)
    if found <= 0:
        return found - 1
    if found == file.start or found == file.end:  # of another word than these
        return np.int64(-2)
    return np.int64(word_id(found, file))


@kernel
def encode_lines(text, special, keep_empty, file, out):
    """As `words.encode_lines`, with the words of a file; also stops where the file is damaged."""
    used = 0
    lines = 0
    empty = 0
    line_begin = 0
    while line_begin < text.size:
        line_used = used
        out[used] = START_ID
        used += 1
        begin, end, _ = next_word(text, line_begin)
        while begin < end:
            word = find_word(text, begin, end, file)
            if word < -1:
                return FILE_DAMAGED, line_begin, line_used, lines, empty
            if refused(word, special) and special != SKIP_SPECIAL:
                return SPECIAL_FOUND, line_begin, line_used, lines, empty
            if not (special == SKIP_SPECIAL and 0 <= word <= END_ID):
                out[used] = max(word, UNKNOWN_ID)
                used += 1
            begin, end, _ = next_word(text, end)
        out[used] = END_ID
        used += 1
        if used == line_used + 2:
            empty += 1
            if not keep_empty:
                used = line_used
        lines += 1
        line_begin = end + 1
    return DONE, line_begin, used, lines, empty


@kernel
def first_words(text, n):
    """Where each of the first n words begins, and where the last ends; each ends in a byte 0. Fewer: -1 in the end."""
    offsets = np.full(n + 1, -1, np.int64)
    at = 0
    for word in range(n):
        offsets[word] = at
        while at < text.size and text[at] != 0:
            at += 1
        if at == text.size:
            return offsets
        at += 1
    offsets[n] = at
    return offsets


@kernel
def all_found(text, offsets, file):
    """Whether each word but the first, `<unk>`, has a hash that the file holds."""
    for word in range(1, offsets.size - 1):
        if find_hash(hash_word(text, offsets[word], offsets[word + 1] - 1), file) <= 0:
            return False
    return True


@kernel
def listed(text, begins, special, special_offsets, file):
    """(pool, offsets) of all words by gapgram's ids, given the special ones, which the file may lack."""
    offsets = np.zeros(n_ids(file) + 1, np.int64)
    pool = np.empty(text.size + special.size, np.uint8)
    for word in range(offsets.size - 1):
        if word <= END_ID:
            source, begin, end = special, special_offsets[word], special_offsets[word + 1]
        else:
            found = file_id(word, file)
            source, begin, end = text, begins[found], begins[found + 1] - 1
        at = offsets[word]
        for i in range(end - begin):
            pool[at + i] = source[begin + i]
        offsets[word + 1] = at + end - begin
    return pool[: offsets[-1]].copy(), offsets


@kernel
def ids_of_file(file):
    """The gapgram id of each of the file's ids."""
    out = np.empty(file.n_words, np.int64)
    for found in range(out.size):
        out[found] = word_id(found, file)
    return out
