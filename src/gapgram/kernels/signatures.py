"""The kernels that Python calls, and the kinds of arguments they are built for: one table.

    bool int unsigned float none    numbers of 64 bits, truths, None
    bytes                           bytes; a `line` is bytes too, or a string, which gets a newline
    int32[]  float64[,]             an array of that type of NumPy's, of one dimension, of two, without gaps
    int32[:]                        one that may have gaps
    A|B                             one or the other: a kernel is built for each; so for rows of kinds with / between
    Tables                          a tuple with names, of those in BUNDLES

A kernel that is called with other kinds ends in an error that names both. `tests/kernels/test_signatures.py` holds the
table to what the tests call.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from itertools import product
from typing import Any, NamedTuple, TypeAlias

import numpy as np

DTYPES = (
    "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64",
)  # fmt: skip


class Array(NamedTuple):
    """An array: its type of numbers, its dimensions, and whether it may have gaps."""

    dtype: str
    dimensions: int
    gaps: bool

    @property
    def text(self) -> str:
        """As it stands in the table."""
        return f"{self.dtype}[{','.join(':' * self.dimensions) if self.gaps else ',' * (self.dimensions - 1)}]"


class Bundle(NamedTuple):
    """A tuple with names: the kinds of its fields."""

    name: str
    fields: tuple[str, ...]
    kinds: tuple[Kind, ...]

    @property
    def text(self) -> str:
        """Its name, and what is chosen of it."""
        return f"{self.name}({' '.join(map(text_of, self.kinds))})"


Kind: TypeAlias = str | Array | Bundle

_ARRAY = re.compile(rf"({'|'.join(DTYPES)})\[([,:]*)\]")
_PLAIN = "bool", "int", "unsigned", "float", "none", "bytes", "line"


def text_of(kind: Kind) -> str:
    """A kind as it stands in the table."""
    return kind if isinstance(kind, str) else kind.text


@cache
def kinds_named(word: str) -> tuple[Kind, ...]:
    """What one word of the table stands for: a kind, or each of several.

    >>> [text_of(kind) for kind in kinds_named("none|int32[:]")]
    ['none', 'int32[:]']
    """
    if "|" in word:
        return tuple(kind for each in word.split("|") for kind in kinds_named(each))
    if word in _PLAIN:
        return (word,)
    if found := _ARRAY.fullmatch(word):
        dtype, dimensions = found.groups()
        return (Array(dtype, dimensions.count(",") + 1, ":" in dimensions),)
    fields = [each.split(":", 1) for each in BUNDLES[word].split()]
    names = tuple(name for name, _ in fields)
    return tuple(Bundle(word, names, kinds) for kinds in product(*(kinds_named(each) for _, each in fields)))


class Signature(NamedTuple):
    """A kernel, the kinds of its arguments, whether it is brief, and the name of its code in the library."""

    kernel: str
    kinds: tuple[Kind, ...]
    is_brief: bool
    symbol: str

    @property
    def text(self) -> str:
        """As it stands in the table."""
        return ", ".join(map(text_of, self.kinds))


def signatures(table: Mapping[str, str] | None = None) -> list[Signature]:
    """All of them, in the order of the table."""
    found = []
    for name, words in (SIGNATURES if table is None else table).items():
        kernel, symbol = name.removeprefix("!"), f"gapgram_{name.removeprefix('!').replace('.', '_')}"
        forms = [kinds for row in words.split(" / ") for kinds in product(*map(kinds_named, row.split()))]
        for i, kinds in enumerate(forms, 1):
            found.append(Signature(kernel, kinds, name.startswith("!"), symbol if len(forms) == 1 else f"{symbol}_{i}"))
    return found


def found_kinds(arguments: tuple[Any, ...]) -> str:
    """The kinds of some arguments, as the table names them.

    >>> found_kinds((3, np.zeros((2, 2), np.int32), None))
    'int, int32[,], none'
    """
    return ", ".join(map(_found, arguments))


def _found(value: Any) -> str:
    if isinstance(value, np.ndarray):
        kind = Array(value.dtype.name, value.ndim, not value.flags.c_contiguous).text
        return kind if value.dtype.isnative and value.flags.aligned else f"{kind} of another order of bytes"
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return f"{type(value).__name__}({' '.join(map(_found, value))})"
    names = {bool: "bool", int: "int", np.uint64: "unsigned", float: "float", str: "line", type(None): "none"}
    if isinstance(value, np.integer | np.floating) and type(value) not in names:
        return "int" if isinstance(value, np.integer) else "float"
    return names.get(type(value), type(value).__name__)


# The fields of tuples with names, and their kinds.
BUNDLES = {
    "Beams": (
        "beams:int32[,] log_probs:float64[] totals:float64[] frames:int32[,] candidates:int32[,] "
        "scores:float64[,] merged:int64[,] order:int64[] asked:int32[,] answers:float64[]"
    ),
    "Frames": "labels:int32[] log_probs:float64[] begins:int64[]",
    "HotWords": "slots:int64[,] weights:float64[,]",
    "Labels": "kinds:int32[] letters:int32[] begins:int64[] words:int32[] first_closed:int",
    "Lexicon": "slots:int64[,] words:int32[] known:uint8[] ahead:float64[]",
    "Prefixes": (
        "parts:int32[,] part_scores:float64[] part_slots:int64[,] texts:int32[,] text_scores:float64[,] "
        "text_slots:int64[,] counts:int64[]"
    ),
    "Rules": (
        "width:int prune:float history:int alpha:float beta:float unknown:float only_known:bool by_label:bool "
        "has_model:bool scores_nothing:bool ends_count:bool"
    ),
    "Adam": "start:float64[] hold:float means:float64[] squares:float64[]",
    "Choosable": "base:int64[] children:int64[] suffixes:int32[] met:int32[] probs:float64[]",
    "Chosen": "kept:bool[] marked:bool[] met:float64[] covered:float64[] backoffs:float64[]",
    "ClassCounts": "rows:int32[,] gain:float32[,] sums:int32[,] tables:float64[,] priors:float64[] bits:int",
    "CountTable": "cells:int64[] values:float64[] used:int64[]",
    "Estimate": "pattern:int discounts:float64[,] row_values:float64[,] odds:float64[]",
    "FittedNumbers": (
        "flat:float64[] table:float64[,] shift:float64[,] odds:float64[,] lifted_by:float64[,] "
        "discounts:float64[,]"
    ),
    "FixedNumbers": "uniform:float down:int64[] clusterings:int64[]",
    "Followers": "counts:int64[] begins:int64[] rows:int32[]",
    "Found": "entries:int64[,] counts:int64[,] rows:int64[,]",
    "GramFormat": "first_bit:int width:int code_bits:int key_bits:int n_grams:int n_contexts:int",
    "Growing": "words:int64[] children:int64[] probs:float64[] backoffs:float64[]",
    "HistoryGate": "logits:float64[,] squares:float64[,]",
    "JudgedWords": (
        "offsets:int64[,] classes:int32[] times:int32[] n_met:int32[,] n_several:int32[,] totals:int32[,] "
        "tops:int32[,] scores:float32[,] stays:float32[] taken:int64[]"
    ),
    "KenlmFile": (
        "memory:int tables:int kind:int order:int n_words:int start:int end:int hashes_at:int n_hashes:int"
    ),
    "ModelArrays": (
        "tables:Tables order:int uniform:float discounts:float64[,] row_values:float64[,] "
        "given_class:float64[] members:int32[] member_base:int64[] edge_base:int64[] edge_to:int64[] "
        "edge_weight:float64[] start_base:int64[] starts:int64[] gate_table:float64[,]"
    ),
    "Moves": (
        "wish:int32[] claims:int64[] claim_of:int64[] before:int32[] after:int32[] both:int32[,] "
        "n_both:int64[]"
    ),
    "PackedPattern": "packed:uint64[] at:int64[] bits:uint64[] form:GramFormat",
    "Pairs": "starts:int64[,] others:int32[] times:int32[] itself:int32[,]",
    "Plan": "slots:int64[,] reader_base:int64[] readers:int64[] spans:int64[] gated:bool forgetful:bool",
    "RunningSums": "first:int64[] of_grams:float64[] of_members:float64[]",
    "SamplePositions": "statistics:int32[,,] features:int32[,] given:float64[,] log_prior:float64[,]",
    "Schedule": "bounds:int64[] rates:float64[] first_step:int",
    "Slopes": (
        "sums:float64[,] logits:float64[,] rows:int32[,] shift:float64[,,] discounts:float64[,,] "
        "probabilities:float64[] rooms:float64[,]"
    ),
    "Sums": "flat:float64[] table:float64[,] shift:float64[,] odds:float64[,]",
    "Tables": (
        "grams:uint64[] large_at:int64[] large_counts:int64[] contexts:int64[] places:int64[,] parts:int64[,] "
        "rows:int64[,] class_of:int32[] word_counts:int64[] packed:none|uint64[] packed_places:int64[,]"
    ),
    "Views": "offsets:int64[,] of_classes:bool[] decays:float64[,] boosts:float64[,] class_of:int32[]",
}

# The kernels, by module and name; the first letter ! marks a brief one.
SIGNATURES = {
    "tries.add_words": "int32[] int64[] int64[,] int int int64[]",
    "tries.copy_pairs": "int64[,] int64[,]",
    "tries.raise_to_parents": "int64[,] uint8[]|float64[]",
    "prefixes.begin": "Prefixes",
    "prefixes.spell": "int int Prefixes Labels int32[]",
    "prefixes.spell_labels": "int Prefixes int32[]",
    "beam_search.advance": "Prefixes Beams Rules Labels Lexicon HotWords Frames",
    "beam_search.common_text": "Prefixes Beams",
    "beam_search.end": "Prefixes Beams Rules Lexicon HotWords",
    "beam_search.take_end": "Prefixes Beams Rules",
    "beam_search.rank_ends": "Prefixes Beams Rules HotWords",
    "one_step.extend_rows": "Plan int64[] ModelArrays int32[,]|int64[,] int32[,] int float64[]",
    "backoff.extend_rows": (
        "int int64[]|int32[] int64[]|int32[] float64[] float64[] int32[,]|int64[,] int32[,] int float64[]"
    ),
    "kenlm_scoring.extend_rows": "KenlmFile int32[,]|uint32[,] int32[,] int float64[]",
    "backoff.distribution": "int32[] int int64[] int64[]|int32[] int64[]|int32[] float64[] float64[]",
    "!backoff.extend_one": "int int64[]|int32[] int64[]|int32[] float64[] float64[] int32[]|int64[] bytes int",
    "backoff.parents_of": "int64[,]|int32[,] int64[] int64[]",
    "backoff.suffixes_of": "int64[] int int64[]|int32[] int64[]",
    "!backoff_text.score_line": (
        "int int64[]|int32[] int64[]|int32[] float64[] float64[] int64[] uint8[] int64[] line bool bool"
    ),
    "backoff_text.score_positions": (
        "int32[] int64[] int int64[]|int32[] int64[]|int32[] float32[]|float64[] float32[]|float64[] "
        "float64[] int64[]"
    ),
    "bits.from_bit": "unsigned int",
    "bits.lowest_one": "unsigned",
    "bits.ones": "unsigned",
    "bits.select_one": "unsigned int",
    "bits.width_of": "int",
    "build_tables.build_tables": "int32[] int64[] int32[] / int64[] int64[] int64[]",
    "build_tables.count_marked": "int32[] int32[] uint8[]",
    "build_tables.pack_grams": "int64[] uint64[] int int int",
    "build_tables.place_contexts": "int64[] int int64[] int64[] int",
    "build_tables.place_piece": "int64[] int64[] int64[] int64[] int int uint64[] int64[]",
    "chains.only_chains": "int64[]",
    "check_tables.are_sound": "Tables int int int64[]",
    "choosing.choose": "Choosable float int64[] Chosen",
    "read_tables.context_at": "Tables int int",
    "compact_write.add_counts": "int64[] int64[]",
    "compact_write.add_statistics": "int64[] int int64[] int64[,]",
    "compact_write.listed_counts": "int64[] int int64[]",
    "compact_write.measure_contexts": "int64[] uint64[] GramFormat int64[]",
    "compact_write.pack_buckets": "int64[] int int int uint64[] int64[]",
    "compact_write.pack_contexts": "int64[] int int64[] PackedPattern int int",
    "compact_write.pack_counts": "int64[] int64[] int uint64[] int64[]",
    "compact_write.pack_grams": "int64[] int int64[] uint64[] GramFormat",
    "compact_write.pack_rows": "int64[] uint64[] int int",
    "compact_write.vote_rows": "int64[] uint64[] GramFormat int64[] int64[]",
    "completions.prefix_range": "uint8[] int32[] uint8[] int64[]",
    "completions.probabilities_of_range": "int32[] ModelArrays int32[] int32[] int int",
    "count_table.merge_table": "CountTable CountTable",
    "count_table.move_table": "CountTable CountTable",
    "cut_words.hash_word": "uint8[] int int",
    "descent.fit_batches": "int int int64[] Schedule SamplePositions FixedNumbers FittedNumbers Adam Slopes",
    "descent.follow": "FittedNumbers int int",
    "distinct_rows.distinct": "int64[,]",
    "distinct_rows.numbered": "int64[,]",
    "distinct_rows.row_numbers": "int64[,] int64[,]",
    "drawing.draw_sentences": "int int32[] int int float64[] int ModelArrays RunningSums int32[,] int64[]",
    "drawing.sum_grams": "Tables int float64[,] float64[]",
    "exchange.f_tables": "float64[] int",
    "exchange.fill_cells": "int32[] int64[] int32[] int32[] int32[] int32[,]",
    "exchange.fill_rows": "int int32[,] ClassCounts",
    "exchange.objective": "ClassCounts",
    "figures.add_exactly": "float float64[] int",
    "figures.figures_of_lines": "float64[] int64[] bool[]",
    "figures.size_of_lines": "uint8[] int64[]",
    "fitting.add_statistics": "int32[] int16[] int int Found Tables int32[,,] int",
    "fitting.copy_sentences": "int32[] int64[] int64[] int32[]",
    "fitting.hide": "int32[,,] int32[] int16[] bool[] int64[] int64[]",
    "fitting.kept_positions": "int32[] int16[] int32[,,] bool[] float64[,] int64[] int",
    "fitting.leave_all_out": (
        "int32[] int16[] int32[,,] int64[,] int64[,] int64[] bool[] bool[] int64[] int64[] int"
    ),
    "fitting.log_prior_of": "int32[,,] float64[,] float64[] float float",
    "fitting.sentence_hashes": "int32[] int64[] int",
    "fitting.statistics_of": "int32[] int16[] Tables",
    "fitting.unique_from": "int32[,,] int16[] int64[]",
    "gate.add_logits": "float64[] int64[] int float64[]",
    "gate.add_to_row": "float64[] int float64[] int int",
    "gate.context_bucket": "int int int int",
    "gate.context_buckets": "int64[,]|int32[,]",
    "gate.exponentials": "float64[] float64[]",
    "gate.sum_logits": "float64[] int64[] int int float64[]",
    "gate.word_bucket": "int",
    "gate.word_row": "int int int int",
    "gradient.add_gradient": "SamplePositions FixedNumbers FittedNumbers Slopes Sums",
    "gradient.report_on": "SamplePositions FixedNumbers FittedNumbers Slopes float64[]",
    "growing.count_grams": "int32[] int int32[] int64[] int32[] int32[]",
    "growing.worthwhile": "int32[,] int64[] float int Growing ModelArrays int64[]",
    "heaps.distinct": "int64[]",
    "heaps.kth_largest": "float64[] int",
    "heaps.largest_of": "float64[]",
    "heaps.sort": "int64[]",
    "history.give_words": "Views CountTable CountTable int64[] float64[] int int int int64[] float64[,]",
    "history.list_words": "Views CountTable CountTable int int int int64[] float64[]",
    "history.read_history": "Views CountTable CountTable int32[] int64[] int",
    "history.score_history": (
        "Views HistoryGate CountTable CountTable int32[] int64[] int float64[] int bool bool float64[] "
        "float64[,] int64[,]"
    ),
    "history.weigh_context": (
        "Views HistoryGate CountTable CountTable int32[] int int64[] float64[] int64[] float64[]"
    ),
    "history_gate.fit_history": "int64[,] float64[,] float64[,] float64[,] float",
    "judging._add_logs": "float32[] int32[] float int",
    "judging.costs_and_offsets": "int64[,] int",
    "judging.gather_some": "int32[] int int int32[] Pairs int32[] int32[] JudgedWords",
    "kenlm_arrays.n_ids": "KenlmFile",
    "kenlm_arrays.word_id": "int KenlmFile",
    "kenlm_grams.bases_of": "uint64[]",
    "kenlm_grams.contexts_in_trie": "int int64[] int64[] int64[] uint64[] KenlmFile",
    "kenlm_grams.figures_there": "int64[] bool KenlmFile",
    "kenlm_grams.first_twice": "uint8[] int64[] KenlmFile",
    "kenlm_grams.grams_of_trie": "int KenlmFile",
    "kenlm_grams.keys_there": "int KenlmFile",
    "kenlm_grams.older_factors": "int64[]",
    "kenlm_grams.pairs_there": "int int int uint64[] int64[] uint64[] int64[] uint64[] int KenlmFile",
    "kenlm_grams.single_words": "KenlmFile",
    "kenlm_scoring.distribution": "int64[] float32[] int KenlmFile",
    "kenlm_scoring.extend": "uint8[] int64[] int32[] KenlmFile float64[] int64[] uint32[,] int64[]",
    "!kenlm_scoring.extend_one": "KenlmFile bytes int",
    "kenlm_scoring.load": "bytes int int int64[] float32[] KenlmFile",
    "kenlm_scoring.score_positions": "int32[] int64[] KenlmFile float64[] int64[]",
    "kenlm_scoring.start_state": "KenlmFile uint32[]",
    "!kenlm_text.score_line": "KenlmFile line bool bool",
    "kenlm_words.all_found": "uint8[] int64[] KenlmFile",
    "kenlm_words.encode_lines": "uint8[] int bool KenlmFile int32[]",
    "kenlm_words.find_hash": "unsigned KenlmFile",
    "kenlm_words.find_word": "uint8[] int int KenlmFile",
    "kenlm_words.first_words": "uint8[] int",
    "kenlm_words.hash_word": "uint8[] int int",
    "kenlm_words.ids_of_file": "KenlmFile",
    "kenlm_words.listed": "uint8[] int64[] uint8[] int64[] KenlmFile",
    "keys.key_bits_of": "int",
    "keys.key_of": "int int",
    "keys.keys_of": "int64[] int",
    "keys.keys_of_all": "int int",
    "keys.words_by_key": "int",
    "lines.cut_lines": "uint8[] int",
    "lookup.availability": "int32[] int64[] int",
    "lookup.locate_all": "int32[] int Tables",
    "lookup.needs": "int int Tables",
    "lookup.order_of": "int64[,]",
    "mixing.mix": "float64[,] float64[]",
    "moving.count_moves": "int int int32[] Pairs ClassCounts JudgedWords Moves",
    "moving.note_both": "int32[] int int int32[] Pairs Moves",
    "moving.rise_of": "int int int int int Pairs ClassCounts JudgedWords",
    "moving.sweep": "int int int64[] int32[] int64[] int32[] Pairs ClassCounts JudgedWords Moves",
    "!one_step.extend_chain": "Plan int64[] ModelArrays int32[]|int64[] int bytes int",
    "pairs.pairs_at": "int32[:]|int32[] int32[] int int int",
    "pairs.positions_of_pairs": "int32[:]|int32[] int int int int32[] int",
    "pairs.turned": "int64[] int32[] int32[] int int",
    "probabilities.shares_of_last": "int32[] ModelArrays",
    "pruning.add_occurrences": "int64[] int64[] int64[]",
    "pruning.find_grams": "int64[] int32[] int64[] int32[]",
    "pruning.gram_probabilities": "int64[] int32[] int32[] Estimate float64[]",
    "pruning.losses": "Followers Estimate float64[] float64[] float",
    "pruning.needed": "bool[] int64[] bool[]",
    "pruning.pruned_tables": "int64[] int64[] int64[,] bool[] bool[]",
    "rank.outranking": "int32[] int ModelArrays int64[] uint8[] int64[]",
    "read_tables.counts_of_counts": "Tables int int int int",
    "read_tables.unpack_contexts": "Tables int int int",
    "read_tables.unpack_grams": "Tables int int int",
    "!score_line.score_line": "ModelArrays int64[] uint8[] int64[] line bool bool",
    "score_text.score_lines": "uint8[] int bool bool int64[] uint8[] int64[] ModelArrays",
    "scores.sum_sequences": "float64[] int64[]",
    "scoring.are_words": "int32[] int64[] int",
    "scoring.score_last": "int32[] ModelArrays",
    "scoring.score_sequences": "int32[] int64[] ModelArrays float64[]",
    "sorting.begins_of_spans": "int64[,]",
    "sorting.count_left": "int32[] int32[] int int32[] int",
    "sorting.count_words": "int32[:]|int32[] int int int64[]",
    "sorting.newest_words": "int32[] int32[] int32[]",
    "sorting.place_words": "int32[] int int int64[] int32[]",
    "sorting.positions_by_word": "int32[] int",
    "sorting.refine": "int32[] int32[] int int int32[] uint8[] uint8[] uint8[] int",
    "sorting.window_reach": "int32[,]",
    "sorting.windows_at": "int32[] int32[] int",
    "stepping.extend": (
        "int32[,] int32[] int Plan ModelArrays int32[,] float64[] int64[] / "
        "int64[,] int32[] int Plan ModelArrays int64[,] float64[] int64[]"
    ),
    "!stepping.extend_one": "Plan ModelArrays int32[]|int64[] int bytes int",
    "stepping.gate_word": "int",
    "stepping.width_of": "Plan int",
    "successors.distribution": "int32[] ModelArrays",
    "topk._most": "int float64[,] int",
    "topk._rising": "float64[]",
    "topk.most_probable": "int32[] ModelArrays int64[] int bool",
    "topk.most_words": "int",
    "topk.n_blocks": "int64[,]",
    "utf8.is_utf8": "uint8[]",
    "window_codec.count_packed": "uint8[] int int int64[]",
    "window_codec.pack_windows": "int32[] int32[] int int int int uint8[]",
    "window_codec.unpack_windows": "uint8[] int int int64[] int32[,]",
    "word_order.first_bytes": "uint8[] int64[] int int",
    "word_order.gathered": "uint8[] int64[] int64[]",
    "word_order.order_of": "int64[] uint64[]",
    "word_order.renumber": "int32[] int32[] int32[]",
    "word_order.sort_ties": "int64[] int64[] uint64[] int uint8[] int64[]",
    "words.add_words": "uint8[] int64[] int64[] int int64[] uint8[] int64[] int64[] int unsigned int32[]",
    "words.encode_lines": "uint8[] int bool int64[] uint8[] int64[] int32[]",
    "words.fill_slots": "int64[] uint8[] int64[] int unsigned",
    "words.find_word": "uint8[] int64[] uint8[] int64[]",
    "words.learn_lines": "uint8[] int int bool int64[] uint8[] int64[] int64[] int unsigned int32[]",
}
