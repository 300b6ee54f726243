"""What a request may ask for: chosen so that the largest one is answered well within the time limit."""

from __future__ import annotations

TEXT_CHARACTERS = 200_000
BODY_BYTES = 12 * TEXT_CHARACTERS + (1 << 16)  # JSON may write a character as two escapes, twelve bytes
HEADER_BYTES = 1 << 14
WORD_CHARACTERS = 1_000
HISTORY_CHARACTERS = 12_000  # of a text that a prediction learns from
HELD_OUT_SENTENCES = 5_000  # in which examples are looked for
READERS = 8  # sessions that are kept for each model, of some 8 MB each at most
READER_WORDS = 6_000  # that each of them remembers
CORRECTED_CHARACTERS = 4_000  # of a text whose spelling is corrected
PREDICTIONS = 100
SENTENCES = 10
SENTENCE_WORDS = 100
SEEDS = 2**53  # whole numbers that every JSON reader keeps exact

SECONDS = 5.0  # from the first byte of a body to its answer
WAITING = 512  # requests that may wait for a thread
CONNECTIONS = 900  # below the 1,024 files that most systems let a process open
CONNECTIONS_KEPT = 600  # beyond which those that have no request make room for others
TAKEN_AT_ONCE = 64  # new connections, before those that were there are read
QUEUE = 4096  # new connections that wait for that
HEADER_SECONDS = 10.0  # from the first byte of a request, or a connection, to the end of its headers
ANSWER_SECONDS = 60.0  # from the end of its headers until its answer was taken
