"""Every section of every kind of file: its name, the type and number of its entries, and the bounds of their values.

This is the one table of them. `system.array_reading` refuses a file with a section that is not here, of another type or
size, or, where it is small, with a number that is out of bounds. What the rules cannot say, how sections hang together,
is checked by `counts.file` and `models.file`; what large tables mean, by `counts.check_meaning`.

Sizes that are named: words (of the vocabulary) and letters (the bytes of all words), patterns (whose tables are
stored), span (the words before the one predicted), rows (of statistics), counted (words that have classes), classed
(the same once for each clustering), classes (of all clusterings), edges, starts, large_counts (those that do not fit
into a gram), features (rows of a gate), history_rows (rows of that of sessions), sources (what it weighs), text_ids
(of a text that is kept), text_slots (of the table of its n-grams), text_lines (where its lines are counted anew),
models (of a mixture) and part_bytes (of their files), tokenizer_bytes (of the file of a tokeniser).
"""

from __future__ import annotations

import re
from dataclasses import replace

from gapgram.kernels.probability.gate import BUCKETS
from gapgram.kernels.tables.arrays import N_COLUMNS, N_PACKED_COLUMNS, STATISTICS
from gapgram.kernels.unbounded.mixing import ROWS, SOURCES
from gapgram.system.section_rules import Rule, Rules

MOST_COUNT = 1 << 53  # beyond which a float does not hold every count
MOST_WEIGHT = 1e100
MOST_LOGIT = 1e4
MOST_LOG10 = 1e6

WORDS: Rules = {
    "words": Rule("u1", "letters", large=True),
    # The compact layout has the lengths of words, the fast one where they begin and a hash table of them.
    "word_lengths": Rule("u1 u2 u4", "words", optional=True, large=True),
    "word_offsets": Rule("i8", "words+1", rises_to="letters", optional=True, large=True),
    "word_slots": Rule("i8", "slots", low=-1, optional=True, large=True),
}

COUNTS: Rules = {
    **WORDS,
    "grams": Rule("u8", "gram_words", large=True),
    "large_at": Rule("i8", "large_counts", low=0, large=True),
    "large_counts": Rule("i8", "large_counts", low=0, high=MOST_COUNT, large=True),
    "contexts": Rule("i8", "contexts", low=0, large=True),
    "places": Rule("i8", f"patterns {N_COLUMNS}", low=0),
    "parts": Rule("i8", "patterns span", low=0, high="patterns-1"),
    "rows": Rule("i8", f"rows {STATISTICS}", low=0, high=MOST_COUNT, large=True),
    "class_of": Rule("i4", "0 | classed", low=0, large=True),
    "word_counts": Rule("i8", "0 | counted", low=0, high=MOST_COUNT, large=True),
    "packed": Rule("u8", "packed_words", optional=True, large=True),
    "packed_places": Rule("i8", f"patterns {N_PACKED_COLUMNS}", low=0, optional=True),
    # Of models of raw text: the bytes of the tokeniser's file, none where it has no file.
    "tokenizer": Rule("u1", "tokenizer_bytes", optional=True, large=True),
}

_PLAIN_MODEL: Rules = {
    **COUNTS,
    "discounts": Rule("f8", "patterns 4", low=0.0, high=3.0),
    "row_values": Rule("f8", "rows 4", low=0.0, high=MOST_WEIGHT, large=True),
    "given_class": Rule("f8", "0 | classed", low=0.0, high=1.0, large=True),
    "members": Rule("i4", "0 | classed", low=0, high="words-1", large=True),
    "member_base": Rule("i8", "0 | classes+1", rises_to="classed"),
    "edge_base": Rule("i8", "patterns+1", rises_to="edges"),
    "edge_to": Rule("i8", "edges", low=0, high="patterns-1"),
    "edge_weight": Rule("f8", "edges", low=0.0, high=MOST_WEIGHT),
    "start_base": Rule("i8", "span+2", rises_to="starts"),
    "starts": Rule("i8", "starts", low=0, high="patterns-1"),
    "gate_table": Rule("f8", "0 0 | features patterns", low=-MOST_LOGIT, high=MOST_LOGIT, large=True),
    "lift": Rule("f8", f"0 0 | patterns {BUCKETS}", low=-MOST_LOGIT, high=MOST_LOGIT),
}


def _of_spelling(rule: Rule) -> Rule:
    """The rule for a section of a model that is inside another: sizes have names of their own."""
    high = _renamed(rule.high) if isinstance(rule.high, str) else rule.high
    rises_to = None if rule.rises_to is None else _renamed(rule.rises_to)
    return replace(rule, shapes=_renamed(rule.shapes), high=high, rises_to=rises_to, optional=True)


def _renamed(sizes: str) -> str:
    return re.sub(r"[a-z_]+", r"spelling_\g<0>", sizes)


OF_EVERY_MODEL = {name for name, rule in _PLAIN_MODEL.items() if not rule.optional}

MODEL: Rules = {
    **_PLAIN_MODEL,
    # Of models with an open vocabulary: a model of characters.
    **{f"spelling_{name}": _of_spelling(rule) for name, rule in _PLAIN_MODEL.items() if name != "tokenizer"},
    # Of models that were trained on documents.
    "history_logits": Rule("f8", "history_rows sources", low=-MOST_LOGIT, high=MOST_LOGIT, optional=True),
    "history_squares": Rule("f8", "history_rows sources", low=1e-12, high=MOST_WEIGHT, optional=True),
    # Of models that keep the training text, for contexts without a limit.
    "unbounded_text": Rule("i4", "text_ids", low=0, high="words-1", large=True, optional=True),
    "unbounded_suffixes": Rule("i4", "text_ids", low=0, large=True, optional=True),
    "unbounded_slots": Rule("u8", "text_slots", large=True, optional=True),
    "unbounded_logits": Rule("f8", f"{ROWS} {SOURCES}", low=-MOST_LOGIT, high=MOST_LOGIT, optional=True),
    "unbounded_lines": Rule("i8", "text_lines 3", low=0, optional=True, large=True),
}

BACKOFF: Rules = {
    "words": Rule("u1", "letters", large=True),
    "word_offsets": Rule("i8", "words+1", rises_to="letters", large=True),
    "word_slots": Rule("i8", "slots", low=-1, large=True),
    "base": Rule("i8", "lengths+1", rises_to="grams"),
    "grams": Rule("i4", "grams", low=0, high="words-1", large=True),
    "children": Rule("i4 i8", "contexts+1", low=0, high="grams", large=True),
    "log10_probs": Rule("f4 f8", "grams", low=-MOST_LOG10, high=MOST_LOG10, large=True),
    "log10_backoffs": Rule("f4 f8", "contexts", low=-MOST_LOG10, high=MOST_LOG10, large=True),
}

SESSION: Rules = {
    "words": Rule("u1", "letters", large=True),
    "word_lengths": Rule("u1 u2 u4", "words", large=True),
    "ids": Rule("i4", "ids", low=0),
    "logits": Rule("f8", "rows sources", low=-MOST_LOGIT, high=MOST_LOGIT),
    "squares": Rule("f8", "rows sources", low=0.0, high=MOST_WEIGHT),
}

# The parts are whole files of models, each at a multiple of 64 bytes.
MIXTURE: Rules = {
    "parts": Rule("u1", "part_bytes", large=True),
    "part_sizes": Rule("i8", "models", low=1),
    "weights": Rule("f8", "models", low=0.0, high=1.000001),
}
