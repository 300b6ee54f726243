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
from typing import NamedTuple, TypeAlias

from gapgram.kernels.kinds import DTYPES, array_kind


class Array(NamedTuple):
    """An array: its type of numbers, its dimensions, and whether it may have gaps."""

    dtype: str
    dimensions: int
    gaps: bool

    @property
    def text(self) -> str:
        """As it stands in the table."""
        return array_kind(*self)


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
    "Past": "words:int32[] begin:int",
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
    "Heads": "keys:int64[] times:int64[] rests:float64[] words:int64[,] counts:float64[,]",
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
    "Tables": (
        "grams:uint64[] large_at:int64[] large_counts:int64[] contexts:int64[] places:int64[,] parts:int64[,] "
        "rows:int64[,] class_of:int32[] word_counts:int64[] packed:none|uint64[] packed_places:int64[,]"
    ),
    "TextIndex": "text:int32[] suffixes:int32[] slots:uint64[] order:int",
    "Views": "offsets:int64[,] of_classes:bool[] longest:bool[] decays:float64[,] boosts:float64[,] class_of:int32[]",
}

# The kernels, by module and name; the first letter ! marks a brief one.
SIGNATURES = {
    "ctc.tries.add_words": "int32[] int64[] int64[,] int int int64[]",
    "ctc.tries.copy_pairs": "int64[,] int64[,]",
    "ctc.tries.raise_to_parents": "int64[,] uint8[]|float64[]",
    "ctc.prefixes.begin": "Prefixes",
    "ctc.prefixes.spell": "int int Prefixes Labels int32[]",
    "ctc.prefixes.spell_labels": "int Prefixes int32[]",
    "ctc.beam_search.advance": "Prefixes Beams Rules Labels Lexicon HotWords Frames",
    "ctc.beam_search.common_text": "Prefixes Beams",
    "ctc.beam_search.end": "Prefixes Beams Rules Lexicon HotWords",
    "ctc.beam_search.take_end": "Prefixes Beams Rules",
    "ctc.beam_search.rank_ends": "Prefixes Beams Rules HotWords",
    "probability.stepping.extend_rows": "Plan int64[,] ModelArrays int32[,]|int64[,] int32[,] int float64[]",
    "backoff.grams.extend_rows": (
        "int int64[]|int32[] int64[]|int32[] float64[] float64[] int32[,]|int64[,] int32[,] int float64[] / "
        "int int32[] int64[]|int32[] float32[] float32[] int32[,]|int64[,] int32[,] int float64[]"
    ),
    "kenlm.scoring.extend_rows": "KenlmFile int32[,]|uint32[,] int32[,] int float64[]",
    "backoff.grams.distribution": (
        "int32[] int int64[] int64[]|int32[] int64[]|int32[] float64[] float64[] / "
        "int32[] int int64[] int32[] int64[]|int32[] float32[] float32[]"
    ),
    "!backoff.grams.extend_one": (
        "int int64[]|int32[] int64[]|int32[] float64[] float64[] int32[]|int64[] bytes int / "
        "int int32[] int64[]|int32[] float32[] float32[] int32[]|int64[] bytes int"
    ),
    "backoff.grams.parents_of": "int64[,]|int32[,] int64[] int64[]",
    "backoff.grams.suffixes_of": "int64[] int int64[]|int32[] int64[]",
    "!backoff.score.score_line": (
        "int int64[]|int32[] int64[]|int32[] float64[] float64[] int64[] uint8[] int64[] line bool bool / "
        "int int32[] int64[]|int32[] float32[] float32[] int64[] uint8[] int64[] line bool bool"
    ),
    "backoff.score.score_positions": (
        "int32[] int64[] int int64[]|int32[] int64[]|int32[] float64[] float64[] float64[] int64[] / "
        "int32[] int64[] int int32[] int64[]|int32[] float32[] float32[] float64[] int64[]"
    ),
    "tables.bits.from_bit": "unsigned int",
    "tables.bits.lowest_one": "unsigned",
    "tables.bits.ones": "unsigned",
    "tables.bits.select_one": "unsigned int",
    "tables.bits.width_of": "int",
    "tables.build.build_tables": "int32[] int64[] int32[] / int64[] int64[] int64[]",
    "tables.build.count_marked": "int32[] int32[] uint8[]",
    "tables.build.pack_grams": "int64[] uint64[] int int int",
    "tables.build.place_contexts": "int64[] int int64[] int64[] int",
    "tables.build.place_piece": "int64[] int64[] int64[] int64[] int int uint64[] int64[]",
    "probability.query.only_chains": "int64[]",
    "tables.check.fault_of_contexts": "Tables int int int int int int64[]",
    "backoff.choose.choose": "Choosable float int64[] Chosen",
    "tables.read.context_at": "Tables int int",
    "tables.compact_write.add_statistics": "int64[] int int64[] int64[,]",
    "tables.compact_write.listed_counts": "int64[] int int64[]",
    "tables.compact_write.measure_contexts": "int64[] uint64[] GramFormat int64[]",
    "tables.compact_write.pack_buckets": "int64[] int int int uint64[] int64[]",
    "tables.compact_write.pack_contexts": "int64[] int int64[] PackedPattern int int",
    "tables.compact_write.pack_counts": "int64[] int64[] int uint64[] int64[]",
    "tables.compact_write.pack_grams": "int64[] int int64[] uint64[] GramFormat",
    "tables.compact_write.pack_rows": "int64[] uint64[] int int",
    "tables.compact_write.vote_rows": "int64[] uint64[] GramFormat int64[] int64[]",
    "topk.continuing.continue_words": "int32[] ModelArrays int64[] int int bool int32[,] float64[]",
    "continuing.in_session.most_probable_read": (
        "int32[] int32[] ModelArrays int64[] float int64[] float64[] Views HistoryGate CountTable CountTable Past int "
        "Heads int bool"
    ),
    "topk.completions.prefix_range": "uint8[] int32[] uint8[] int64[]",
    "topk.completions.probabilities_of_range": "int32[] ModelArrays int32[] int32[] int int",
    "sessions.count_table.merge_table": "CountTable CountTable",
    "sessions.count_table.move_table": "CountTable CountTable",
    "text.cut_words.hash_word": "uint8[] int int",
    "fitting.descent.fit_batches": "int int int64[] Schedule SamplePositions FixedNumbers FittedNumbers Adam Slopes",
    "fitting.descent.follow": "FittedNumbers int int",
    "counting.distinct_rows.numbered": "int64[,]",
    "counting.distinct_rows.row_numbers": "int64[,] int64[,]",
    "sampling.draw.draw_sentences": "int int32[] int int float64[] int ModelArrays RunningSums int32[,] int64[]",
    "sampling.draw.sum_grams": "Tables int float64[,] float64[]",
    "classes.exchange.f_tables": "float64[] int",
    "classes.exchange.fill_cells": "int32[] int64[] int32[] int32[] int32[] int32[,]",
    "classes.exchange.fill_rows": "int int32[,] ClassCounts",
    "classes.exchange.objective": "ClassCounts",
    "tables.structure.places_of": "int64[,] int64[] int64[]",
    "tables.structure.parts_of": "int64[,]",
    "tables.structure.packed_columns": "int int64[] int64[]",
    "tables.structure.fault_of_structure": "int64[,] Tables int int",
    "text.figures.add_exactly": "float float64[] int",
    "text.figures.figures_of_lines": "float64[] int64[] bool[]",
    "text.figures.size_of_lines": "uint8[] int64[]",
    "fitting.sample.add_statistics": "int32[] int16[] int int Found Tables int32[,,] int",
    "fitting.sample.copy_sentences": "int32[] int64[] int64[] int32[]",
    "fitting.sample.hide": "int32[,,] int32[] int16[] bool[] int64[] int64[]",
    "fitting.sample.kept_positions": "int32[] int16[] int32[,,] bool[] float64[,] int64[] int",
    "fitting.sample.leave_all_out": (
        "int32[] int16[] int32[,,] int64[,] int64[,] int64[] bool[] bool[] int64[] int64[] int"
    ),
    "fitting.sample.log_prior_of": "int32[,,] float64[,] float64[] float float",
    "fitting.sample.sentence_hashes": "int32[] int64[] int",
    "fitting.sample.statistics_of": "int32[] int16[] Tables",
    "fitting.sample.unique_from": "int32[,,] int16[] int64[]",
    "probability.gate.add_logits": "float64[] int64[] int float64[]",
    "probability.gate.add_to_row": "float64[] int float64[] int int",
    "probability.gate.context_bucket": "int int int int",
    "probability.gate.context_buckets": "int64[,]|int32[,]",
    "probability.gate.exponentials": "float64[] float64[]",
    "probability.gate.sum_logits": "float64[] int64[] int int float64[]",
    "probability.gate.word_bucket": "int",
    "probability.gate.word_row": "int int int int",
    "fitting.gradient.add_gradient": "SamplePositions FixedNumbers FittedNumbers Slopes FittedNumbers",
    "fitting.gradient.report_on": "SamplePositions FixedNumbers FittedNumbers Slopes float64[]",
    "backoff.grow.count_grams": "int32[] int int32[] int64[] int32[] int32[]",
    "backoff.grow.worthwhile": "int32[,] int64[] float int Growing ModelArrays int64[]",
    "topk.exact.distinct": "int64[]",
    "topk.exact.kth_largest": "float64[] int",
    "topk.exact.largest_of": "float64[]",
    "topk.exact.sort": "int64[]",
    "unbounded.mixing.list_followers": "TextIndex int64[] float64[] int int64[] float64[]",
    "unbounded.mixing.mix_sequences": "TextIndex float64[,] int32[] int64[] float64[]",
    "unbounded.mixing.mix_steps": "TextIndex float64[,] int64[,] int32[] float64[] int64[,]",
    "unbounded.mixing.positions_left_out": "TextIndex int32[] int64[] bool int64[,] float64[,]",
    "unbounded.mixing.read_words": "TextIndex int32[] int64[]",
    "unbounded.mixing.weights_after": "TextIndex float64[,] int64[] float64[]",
    "unbounded.matching.begin_matching": "int int64[]",
    "unbounded.matching.state_size": "int",
    "unbounded.suffixes.count_grams": "int32[] int32[] int",
    "unbounded.suffixes.fill_slots": "int32[] int32[] int uint64[]",
    "unbounded.suffixes.find_words": "TextIndex int32[]",
    "unbounded.suffixes.find_places": "int32[] int32[] int int64[] int64[] int32[] int int64[]",
    "unbounded.suffixes.longest_matches": "TextIndex int64[] int32[] int64[] int64[] int64[] int64[]",
    "unbounded.suffixes.sort_suffixes": "int32[] int64[] int int int int32[]",
    "sessions.history.give_words": (
        "Views CountTable CountTable int64[] float64[] int64[] int64[,] int int64[] float64[,]"
    ),
    "sessions.history.list_words": "Views CountTable CountTable int int int int64[] float64[]",
    "sessions.history.read_history": "Views CountTable CountTable Past int32[] int64[] int",
    "sessions.history.score_history": (
        "Views HistoryGate CountTable CountTable Past int32[] int64[] int int float64[] int bool bool float64[] "
        "float64[,] int64[,]"
    ),
    "sessions.history.weigh_context": (
        "Views HistoryGate CountTable CountTable Past int32[] int int64[] float64[] int64[] int64[,] float64[]"
    ),
    "sessions.history_gate.fit_history": "int64[,] float64[,] float64[,] float64[,] float",
    "classes.judging._add_logs": "float32[] int32[] float int",
    "classes.judging.costs_and_offsets": "int64[,] int",
    "classes.judging.gather_some": "int32[] int int int32[] Pairs int32[] int32[] JudgedWords",
    "kenlm.arrays.n_ids": "KenlmFile",
    "kenlm.arrays.word_id": "int KenlmFile",
    "kenlm.grams.contexts_in_trie": "int int64[] int64[] int64[] uint64[] KenlmFile",
    "kenlm.grams.figures_there": "int64[] bool KenlmFile",
    "kenlm.grams.first_twice": "uint8[] int64[] KenlmFile",
    "kenlm.grams.grams_of_trie": "int KenlmFile",
    "kenlm.grams.keys_there": "int KenlmFile",
    "kenlm.grams.pairs_there": "int int int uint64[] int64[] uint64[] int64[] uint64[] int KenlmFile",
    "kenlm.grams.single_words": "KenlmFile",
    "kenlm.scoring.distribution": "int64[] float32[] int KenlmFile",
    "kenlm.scoring.extend": "uint8[] int64[] int32[] KenlmFile float64[] int64[] uint32[,] int64[]",
    "!kenlm.scoring.extend_one": "KenlmFile bytes int",
    "kenlm.scoring.load": "bytes int int int64[] float32[] KenlmFile",
    "kenlm.scoring.score_positions": "int32[] int64[] KenlmFile float64[] int64[]",
    "kenlm.scoring.start_state": "KenlmFile uint32[]",
    "!kenlm.scoring.score_line": "KenlmFile line bool bool",
    "kenlm.words.all_found": "uint8[] int64[] KenlmFile",
    "kenlm.words.encode_lines": "uint8[] int bool KenlmFile int32[]",
    "kenlm.words.find_hash": "unsigned KenlmFile",
    "kenlm.words.find_word": "uint8[] int int KenlmFile",
    "kenlm.words.first_words": "uint8[] int",
    "kenlm.words.hash_word": "uint8[] int int",
    "kenlm.words.ids_of_file": "KenlmFile",
    "kenlm.words.listed": "uint8[] int64[] uint8[] int64[] KenlmFile",
    "tables.keys.key_bits_of": "int",
    "tables.keys.key_of": "int int",
    "tables.keys.keys_of": "int64[] int",
    "tables.keys.words_by_key": "int",
    "text.lines.cut_lines": "uint8[] int",
    "probability.query.availability": "int32[] int64[] int",
    "probability.query.locate_all": "int32[] int Tables",
    "probability.query.depends_on": "int int Tables",
    "probability.query.lookup_order": "int64[,]",
    "probability.scores.mix": "float64[,] float64[]",
    "classes.moving.count_moves": "int int int32[] Pairs ClassCounts JudgedWords Moves",
    "classes.moving.note_both": "int32[] int int int32[] Pairs Moves",
    "classes.moving.rise_of": "int int int int int Pairs ClassCounts JudgedWords",
    "classes.moving.sweep": "int int int64[] int32[] int64[] int32[] Pairs ClassCounts JudgedWords Moves",
    "!probability.stepping.extend_chain": "Plan int64[,] ModelArrays int32[]|int64[] int bytes int",
    "classes.pairs.pairs_at": "int32[:]|int32[] int32[] int int int",
    "classes.pairs.positions_of_pairs": "int32[:]|int32[] int int int int32[] int",
    "classes.pairs.turned": "int64[] int32[] int32[] int int",
    "probability.successors.shares_of_last": "int32[] ModelArrays",
    "probability.plan.plan_of": "ModelArrays",
    "probability.plan.is_quick": "ModelArrays",
    "probability.soundness.fault_of_numbers": "ModelArrays int bool",
    "pruning.tables.add_occurrences": "int64[] int64[] int64[]",
    "pruning.tables.find_grams": "int64[] int32[] int64[] int32[]",
    "pruning.tables.gram_probabilities": "int64[] int32[] int32[] Estimate float64[]",
    "pruning.tables.losses": "Followers Estimate float64[] float64[] float",
    "pruning.tables.needed": "bool[] int64[] bool[]",
    "pruning.tables.pruned_tables": "int64[] int64[] int64[,] bool[] bool[]",
    "topk.rank.outranking": "int32[] int ModelArrays int64[] uint8[] int64[]",
    "tables.read.counts_of_counts": "Tables int int int int",
    "tables.read.unpack_contexts": "Tables int int int",
    "tables.read.unpack_grams": "Tables int int int",
    "!probability.query.score_line": "ModelArrays int64[] uint8[] int64[] line bool bool",
    "probability.query.score_lines": "uint8[] int bool bool int64[] uint8[] int64[] ModelArrays",
    "probability.scores.sum_sequences": "float64[] int64[]",
    "text.words.are_words": "int32[] int64[] int",
    "probability.query.score_last": "int32[] ModelArrays",
    "probability.query.score_sequences": "int32[] int64[] ModelArrays float64[]",
    "counting.sorting.begins_of_spans": "int64[,]",
    "counting.sorting.count_left": "int32[] int32[] int int32[] int",
    "counting.sorting.count_words": "int32[:]|int32[] int int int64[]",
    "counting.sorting.newest_words": "int32[] int32[] int32[]",
    "counting.sorting.place_words": "int32[] int int int64[] int32[]",
    "counting.sorting.positions_by_word": "int32[] int",
    "counting.sorting.refine": "int32[] int32[] int int int32[] uint8[] uint8[] uint8[] int",
    "counting.sorting.window_reach": "int32[,]",
    "counting.sorting.windows_at": "int32[] int32[] int",
    "probability.stepping.extend": (
        "int32[,] int32[] Plan ModelArrays int32[,] float64[] int64[] / "
        "int64[,] int32[] Plan ModelArrays int64[,] float64[] int64[]"
    ),
    "!probability.stepping.extend_one": "Plan ModelArrays int32[]|int64[] int bytes int",
    "probability.stepping.gate_word": "int",
    "probability.stepping.width_of": "Plan int",
    "probability.successors.distribution": "int32[] ModelArrays",
    "probability.successors.distributions": "int32[,]|int64[,] Plan ModelArrays float64[,]",
    "topk.exact._most": "int float64[,] int",
    "topk.exact._rising": "float64[]",
    "topk.exact.most_probable": "int32[] ModelArrays int64[] int bool",
    "topk.exact.most_words": "int",
    "topk.exact.n_blocks": "int64[,]",
    "text.utf8.is_utf8": "uint8[]",
    "counting.window_codec.count_packed": "uint8[] int int int64[]",
    "counting.window_codec.pack_windows": "int32[] int32[] int int int int uint8[]",
    "counting.window_codec.unpack_windows": "uint8[] int int int64[] int32[,]",
    "text.word_order.first_bytes": "uint8[] int64[] int int",
    "text.word_order.gathered": "uint8[] int64[] int64[]",
    "text.word_order.order_words": "int64[] uint64[]",
    "text.word_order.renumber": "int32[] int32[] int32[]",
    "text.word_order.sort_ties": "int64[] int64[] uint64[] int uint8[] int64[]",
    "text.words.add_words": "uint8[] int64[] int64[] int int64[] uint8[] int64[] int64[] int unsigned int32[]",
    "text.words.encode_lines": "uint8[] int bool int64[] uint8[] int64[] int32[]",
    "text.words.fill_slots": "int64[] uint8[] int64[] int unsigned",
    "text.words.find_word": "uint8[] int64[] uint8[] int64[]",
    "text.words.learn_lines": "uint8[] int int bool int64[] uint8[] int64[] int64[] int unsigned int32[]",
}
