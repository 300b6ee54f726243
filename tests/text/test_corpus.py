"""Text in, ids out: vocabulary, special words, odd bytes and odd lines."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.corpora import corpus_of, sentences

from gapgram import Corpus, GapgramError, Vocabulary, train
from gapgram.text.corpus import TextRules, blocks_of_sentences, encode, encode_block, read_corpus
from gapgram.text.files import BLOCK_BYTES, blocks_of_files

UNK, START, END = 0, 1, 2


def read(path: Path, data: bytes, *, block_bytes: int = BLOCK_BYTES) -> Corpus:
    path.write_bytes(data)
    return read_corpus(blocks_of_files(path, block_bytes=block_bytes))


def lines_of(corpus: Corpus) -> list[list[str]]:
    """The sentences of a corpus, as words again."""
    words = list(corpus.vocabulary)
    lines: list[list[str]] = []
    for word_id in corpus.ids.tolist():
        if word_id == START:
            lines.append([])
        elif word_id != END:
            lines[-1].append(words[word_id])
    return lines


def test_the_most_frequent_word_comes_first_ties_by_bytes() -> None:
    # b 3 times, a and c twice each, B once; B (0x42) sorts before a (0x61), but is rarer.
    corpus = corpus_of(["b a", "b c", "c a b B"])
    assert list(corpus.vocabulary) == ["<unk>", "<s>", "</s>", "b", "a", "c", "B"]
    assert corpus.ids.tolist() == [1, 3, 4, 2, 1, 3, 5, 2, 1, 5, 4, 3, 6, 2]


def test_min_count_makes_rare_words_unknown() -> None:
    corpus = corpus_of(["b a", "b c", "c a b B"], min_count=2)
    assert list(corpus.vocabulary)[3:] == ["b", "a", "c"]
    assert corpus.ids.tolist()[-2:] == [UNK, END]
    assert corpus.facts.words == 8
    assert "min_count=2" in corpus.facts.rule


def test_vocab_limit_keeps_the_most_frequent_ties_by_bytes() -> None:
    corpus = corpus_of(["b a", "b c", "c a b B"], vocab_limit=2)
    assert list(corpus.vocabulary)[3:] == ["b", "a"]
    assert "limit=2" in corpus.facts.rule


def test_min_count_may_leave_no_word_at_all() -> None:
    corpus = corpus_of(["a b", "c"], min_count=9)
    assert len(corpus.vocabulary) == 3
    assert corpus.ids.tolist() == [START, UNK, UNK, END, START, UNK, END]


@given(sentences(), st.integers(1, 4), st.none() | st.integers(1, 5))
def test_the_vocabulary_is_what_sorting_in_python_gives(
    text: list[list[str]], least: int, limit: int | None
) -> None:
    counts = Counter(word for sentence in text for word in sentence)
    by_count = sorted((w for w in counts if counts[w] >= least), key=lambda w: (-counts[w], w.encode()))
    corpus = corpus_of(text, min_count=least, vocab_limit=limit)
    kept = by_count[:limit]
    assert list(corpus.vocabulary)[3:] == kept
    assert lines_of(corpus) == [[w if w in kept else "<unk>" for w in sentence] for sentence in text]
    assert (corpus.facts.sentences, corpus.facts.words) == (len(text), sum(map(len, text)))
    assert corpus.word_counts.tolist() == np.bincount(corpus.ids, minlength=len(corpus.vocabulary)).tolist()
    assert corpus.longest_sentence == max(map(len, text))


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters=" \t\n\v\f\r<"), min_size=1), unique=True))
def test_a_vocabulary_finds_its_words_and_no_others(words: list[str]) -> None:
    vocabulary = Vocabulary.of(words[::2])
    assert [vocabulary.id(w) for w in words[::2]] == list(range(3, 3 + len(words[::2])))
    assert all(w not in vocabulary and vocabulary.id(w) == UNK for w in words[1::2])
    assert "" not in vocabulary


@given(st.lists(st.text(alphabet="aé\0", min_size=1, max_size=20), min_size=2, max_size=60))
def test_long_words_that_begin_alike_are_sorted_by_all_their_bytes(words: list[str]) -> None:
    words = [f"together{word}" for word in words]
    counts = Counter(words)
    expected = sorted(counts, key=lambda word: (-counts[word], word.encode()))
    assert list(corpus_of([words]).vocabulary)[3:] == expected


def test_ids_outside_the_vocabulary_are_refused() -> None:
    vocabulary = Vocabulary.of(["a"])
    for wrong in (-1, 4):
        with pytest.raises(IndexError, match=f"word id {wrong}: the vocabulary has ids 0 to 3"):
            vocabulary[wrong]


def test_white_space_is_ascii_white_space(tmp_path: Path) -> None:
    # Tab, vertical tab, form feed and return part words; a no-break space and other controls do not.
    corpus = read(tmp_path / "t", "a\tb\vc\fd\r\n  e\u00a0f  g\x1fh \n".encode())
    assert lines_of(corpus) == [["a", "b", "c", "d"], ["e\u00a0f", "g\x1fh"]]


def test_windows_line_ends_are_no_part_of_words(tmp_path: Path) -> None:
    assert lines_of(read(tmp_path / "t", b"a b\r\nc d\r\n")) == [["a", "b"], ["c", "d"]]


def test_a_byte_order_mark_is_no_part_of_the_first_word(tmp_path: Path) -> None:
    assert lines_of(read(tmp_path / "t", b"\xef\xbb\xbfa b\na\n")) == [["a", "b"], ["a"]]


def test_a_last_line_without_newline_counts(tmp_path: Path) -> None:
    whole, cut = read(tmp_path / "t", b"a b\nc d\n"), read(tmp_path / "u", b"a b\nc d")
    assert lines_of(whole) == lines_of(cut)
    assert whole.facts.digest == cut.facts.digest


def test_nul_bytes_are_letters_like_others(tmp_path: Path) -> None:
    assert lines_of(read(tmp_path / "t", b"a\0b \0\n\0 c\n")) == [["a\0b", "\0"], ["\0", "c"]]


def test_empty_lines_are_skipped_and_counted(tmp_path: Path) -> None:
    corpus = read(tmp_path / "t", b"\n a b\n\n \t \r\nc\n\n")
    assert (lines_of(corpus), corpus.empty_lines, corpus.facts.sentences) == ([["a", "b"], ["c"]], 4, 2)


def test_empty_lines_are_sentences_where_they_count() -> None:
    rules = TextRules(empty_lines="count")
    lines = ["a b", "", "a", " \t", "b"]
    corpus = read_corpus(blocks_of_sentences(lines), rules)
    assert corpus.ids.tolist() == [1, 3, 4, 2, 1, 2, 1, 3, 2, 1, 2, 1, 4, 2]
    assert (corpus.facts.sentences, corpus.facts.words, corpus.empty_lines) == (5, 4, 0)
    assert corpus.facts.rule.endswith(",empty_lines=count")
    again = np.concatenate([part.ids for part in encode(blocks_of_sentences(lines), corpus.vocabulary, rules)])
    assert again.tolist() == corpus.ids.tolist()
    assert corpus.facts.digest != read_corpus(blocks_of_sentences(lines)).facts.digest
    with pytest.raises(GapgramError, match="empty lines: 'keep'; expected skip or count"):
        TextRules(empty_lines="keep")
    with pytest.raises(GapgramError, match="empty lines end documents, and cannot count as sentences too"):
        train(sentences=lines, order=2, documents=True, rules=rules)


def test_a_line_of_megabytes(tmp_path: Path) -> None:
    words = [f"word{i % 99991}" for i in range(500_000)]
    corpus = read(tmp_path / "t", f"first\n{' '.join(words)}\nlast".encode())
    assert (tmp_path / "t").stat().st_size > 4.5e6
    assert corpus.facts.sentences == 3
    assert lines_of(corpus) == [["first"], words, ["last"]]


def test_the_table_grows_with_the_words(tmp_path: Path) -> None:
    # More words than the 32,768 the table starts with, and longer ones than its pool has room for.
    words = [f"{'x' * (i % 40)}{i}" for i in range(100_000)]
    corpus = read(tmp_path / "t", "\n".join(" ".join(words[i : i + 7]) for i in range(0, 100_000, 7)).encode())
    assert sorted(list(corpus.vocabulary)[3:]) == sorted(words)
    assert [w for line in lines_of(corpus) for w in line] == words
    assert corpus.vocabulary.id(words[77_777]) == list(corpus.vocabulary).index(words[77_777])


@pytest.mark.parametrize("block_bytes", [1, 2, 3, 5, 8, 64])
def test_lines_that_span_blocks(tmp_path: Path, block_bytes: int) -> None:
    text = "ä bc d\n\nefg hi\u00e9\nj\n\nkl".encode()
    expected = read(tmp_path / "t", text)
    corpus = read(tmp_path / "t", text, block_bytes=block_bytes)
    assert lines_of(corpus) == lines_of(expected) == [["ä", "bc", "d"], ["efg", "hié"], ["j"], ["kl"]]
    assert (corpus.facts.digest, corpus.empty_lines) == (expected.facts.digest, 2)


@given(sentences(), st.randoms(use_true_random=False))
def test_the_digest_is_that_of_the_lines_in_any_order(text: list[list[str]], chance: object) -> None:
    shuffled = list(text)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    assert corpus_of(text).facts.digest == corpus_of(shuffled).facts.digest
    assert corpus_of(text).facts.digest != corpus_of([*text, ["a"]]).facts.digest
    joined = [[w for s in text for w in s]]
    assert len(text) == 1 or corpus_of(text).facts.digest != corpus_of(joined).facts.digest


@given(sentences())
def test_encoding_with_the_learned_vocabulary_gives_the_same_ids(text: list[list[str]]) -> None:
    corpus = corpus_of(text)
    parts = list(encode(blocks_of_sentences(text), corpus.vocabulary))
    assert np.array_equal(np.concatenate([p.ids for p in parts]), corpus.ids)


def test_encoding_keeps_empty_lines_on_request() -> None:
    vocabulary = Vocabulary.of(["a"])
    (block,) = blocks_of_sentences(["a z", "", " "])
    every = encode_block(block, vocabulary, keep_empty=True)
    assert every.ids.tolist() == [START, 3, UNK, END, START, END, START, END]
    assert (every.sentences, every.empty_lines) == (3, 2)
    usual = encode_block(block, vocabulary)
    assert (usual.ids.tolist(), usual.sentences, usual.empty_lines) == ([START, 3, UNK, END], 1, 2)


def test_sentences_may_be_lists_of_words() -> None:
    assert lines_of(corpus_of([["a", "b"], "c d"])) == [["a", "b"], ["c", "d"]]


@pytest.mark.parametrize("word", ["new york", "", "a\n", "\t"])
def test_a_word_of_a_list_is_one_word(word: str) -> None:
    with pytest.raises(GapgramError, match=r"sentence 2: .*: a word of a list may not be empty or hold white space"):
        corpus_of([["a", "b"], ["c", word]])


def test_one_string_is_not_a_list_of_sentences() -> None:
    with pytest.raises(GapgramError, match="expected a list of sentences, found one string"):
        corpus_of("the cat sat")


@pytest.mark.parametrize("options", [{"min_count": 0}, {"vocab_limit": 0}, {"min_count": -3}])
def test_limits_that_make_no_sense_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(GapgramError, match="expected 1 or more"):
        corpus_of(["a b"], **options)
