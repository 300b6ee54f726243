"""Word classes: found in text, written, read, and what is wrong with files of them."""

from __future__ import annotations

import random
from math import lgamma
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.corpora import corpus_of, sentences, toy_text
from tests.support.running import Cli

from gapgram import Corpus, GapgramError, Vocabulary
from gapgram.arrays import Ids
from gapgram.classes.classes import Classes, read_classes, write_classes
from gapgram.classes.exchange import (
    CLASS_PRIOR,
    PRIOR,
    Exchange,
    automatic_k,
    count_pairs,
    find_classes,
)
from gapgram.kernels.classes import judging, moving
from gapgram.kernels.classes.judging import JudgedWords
from gapgram.kernels.classes.moving import Moves
from gapgram.kernels.classes.pairs import pairs_at, positions_of_pairs, turned


def pairs_of(ids: list[int], distance: int) -> list[tuple[int, int]]:
    """All pairs of words of one sentence at a distance."""
    return [(a, b) for i, (a, b) in enumerate(zip(ids, ids[distance:], strict=False)) if 2 not in ids[i : i + distance]]


def brute_force(ids: list[int], class_of: Ids, k: int) -> float:
    """The objective, by its definition."""
    prior = min(PRIOR, CLASS_PRIOR / k)

    def f(x: int, p: float) -> float:
        return lgamma(x + p) - lgamma(p)

    total = 0.0
    for distance in (1, 2):
        cells: dict[tuple[int, int], int] = {}
        sums: dict[tuple[int, int], int] = {}
        for first, second in pairs_of(ids, distance):
            a, b = int(class_of[first]), int(class_of[second])
            cells[a, b] = cells.get((a, b), 0) + 1
            sums[0, a] = sums.get((0, a), 0) + 1
            sums[1, b] = sums.get((1, b), 0) + 1
        total += sum(f(n, prior) for n in cells.values()) - sum(f(n, prior * k) for n in sums.values())
    return total


def exchange_of(corpus: Corpus, class_of: list[int] | Ids, k: int, threads: int = 1) -> Exchange:
    classes = np.array(class_of, np.int32)
    return Exchange(count_pairs([corpus.ids], classes.size)[0], classes, k, threads=threads)


def hidden_classes(seed: int = 3) -> tuple[list[str], dict[str, str]]:
    """Sentences of five hidden classes of ten words each, which follow each other in a few ways only."""
    draw = random.Random(seed)
    members = {name: [f"{name}{i}" for i in range(10)] for name in "ABCDE"}
    shapes = ["ABC", "ADEC", "ABDE", "DAEB"]
    lines = [" ".join(draw.choice(members[c]) for c in draw.choice(shapes)) for _ in range(3000)]
    return lines, {word: name for name, words in members.items() for word in words}


def test_hidden_classes_are_found_again() -> None:
    lines, truth = hidden_classes()
    corpus = corpus_of(lines)
    classes = find_classes(corpus.ids, len(corpus.vocabulary), 5)
    found = {(truth[w], int(c)) for w, c in zip(list(corpus.vocabulary)[3:], classes.of_word[3:], strict=True)}
    assert len(found) == 5
    assert len({c for _, c in found}) == 5


def test_more_classes_than_the_text_bears_out_are_not_made() -> None:
    lines, _ = hidden_classes()
    corpus = corpus_of(lines)
    assert find_classes(corpus.ids, len(corpus.vocabulary), 40, sweeps=20).k < 40


@given(sentences(), st.data())
def test_the_objective_is_its_definition_and_rises_with_every_word_that_moves_alone(
    text: list[list[str]], data: st.DataObject
) -> None:
    corpus = corpus_of(text)
    n, k = len(corpus.vocabulary) - 3, data.draw(st.integers(2, 5))
    labels = data.draw(st.lists(st.integers(3, k + 2), min_size=n, max_size=n))
    exchange = exchange_of(corpus, [0, 1, 2, *labels], k)
    before = brute_force(corpus.ids.tolist(), exchange.class_of, k)
    assert exchange.objective == pytest.approx(before, abs=1e-6)
    for word in range(3, n + 3):
        own = exchange.class_of[word]
        exchange.sweep(np.array([word], np.int32))
        after = brute_force(corpus.ids.tolist(), exchange.class_of, k)
        assert exchange.objective == pytest.approx(after, abs=1e-6)
        assert after > before if exchange.class_of[word] != own else after == before
        before = after


def batch_of_all(exchange: Exchange) -> tuple[Ids, JudgedWords, Moves]:
    """All words as one batch, their neighbours counted by class, and room for their moves."""
    words, k = np.arange(3, exchange.class_of.size, dtype=np.int32), exchange.counts.sums.shape[1]
    cuts = np.array([0, words.size])
    judged, moves = exchange.empty_judgements(words, cuts), exchange.no_moves(words, cuts)
    room, n = (np.zeros(k, np.int32), np.empty(k, np.int32)), words.size * len(exchange.pairs.starts)
    judging.gather_some(words, 0, n, exchange.class_of, exchange.pairs, *room, judged)
    return words, judged, moves


@given(sentences(), st.data())
def test_the_rise_of_a_move_is_that_of_the_objective(text: list[list[str]], data: st.DataObject) -> None:
    corpus = corpus_of(text)
    n, k = len(corpus.vocabulary) - 3, 4
    labels = data.draw(st.lists(st.integers(3, k + 2), min_size=n, max_size=n))
    at, further = data.draw(st.integers(0, n - 1)), data.draw(st.integers(1, k - 1))
    to = 3 + (labels[at] - 3 + further) % k
    exchange = exchange_of(corpus, [0, 1, 2, *labels], k)
    words, judged, _ = batch_of_all(exchange)
    base = judged.offsets[words[0], 0]
    rise = moving.rise_of(at, at + 3, labels[at], to, base, exchange.pairs, exchange.counts, judged)
    moved = [0, 1, 2, *labels[:at], to, *labels[at + 1 :]]
    assert rise == pytest.approx(exchange_of(corpus, moved, k).objective - exchange.objective, abs=1e-6)


@given(sentences(), st.data(), st.sampled_from([(1, 1), (16, 2)]))
def test_words_that_move_at_once_leave_the_counts_as_counting_gives_them(
    text: list[list[str]], data: st.DataObject, blocks: tuple[int, int]
) -> None:
    """Whatever they wish for, neighbours among them; classes in one block or, for many threads, in two."""
    corpus, (threads, n_blocks) = corpus_of(text), blocks
    n, k, classes = len(corpus.vocabulary) - 3, 200, st.sampled_from([3, 4, 130, 202])
    labels = data.draw(st.lists(classes, min_size=n, max_size=n))
    wishes = data.draw(st.lists(classes, min_size=n, max_size=n))
    exchange, again = (exchange_of(corpus, [0, 1, 2, *each], k, threads) for each in (labels, wishes))
    assert exchange.n_blocks == n_blocks
    words, judged, moves = batch_of_all(exchange)
    moves.before[:], moves.after[:], moves.wish[3:] = labels, wishes, wishes
    moving.note_both(words, 0, n, exchange.class_of, exchange.pairs, moves)
    for block in range(n_blocks):
        for side in range(4):
            moving.count_moves(block, side, words, exchange.pairs, exchange.counts, judged, moves)
    for name in ("rows", "gain", "sums"):
        assert np.array_equal(getattr(exchange.counts, name), getattr(again.counts, name)), name


def test_of_words_that_are_a_large_part_of_a_class_one_moves_at_a_time() -> None:
    """a and b, each alone in a class, would like to be together: if both moved they would change places for ever."""
    lines = ["x a y", "x b y"] * 50 + ["y c x"] * 30
    corpus = corpus_of(lines)
    numbers = {word: corpus.vocabulary.id(word) for word in "abcxy"}
    classes = {"a": 3, "b": 4, "c": 5, "x": 6, "y": 7}
    class_of = [0, 1, 2, *(classes[word] for word in sorted(numbers, key=numbers.__getitem__))]
    exchange = exchange_of(corpus, class_of, 5)
    exchange.batch = 1000
    exchange.sweep(np.array(sorted((numbers["a"], numbers["b"])), np.int32))
    assert exchange.class_of[numbers["a"]] == exchange.class_of[numbers["b"]]


@given(sentences(), st.integers(1, 3))
def test_pairs_are_those_of_the_text(text: list[list[str]], distance: int) -> None:
    corpus = corpus_of(text)
    n = len(corpus.vocabulary)
    expected = sorted(pairs_of(corpus.ids.tolist(), distance))
    positions, ends = positions_of_pairs(corpus.ids, 0, corpus.ids.size, distance, np.zeros(n, np.int32), 1)
    assert ends.tolist() == [0, len(expected)]
    starts, others, times, itself = pairs_at(corpus.ids, positions, 0, n, distance)
    firsts = np.repeat(np.arange(n), np.diff(starts))
    found = np.repeat(np.stack([firsts, others], 1), times, axis=0).tolist()
    assert sorted(found) == found
    assert sorted(found + [[w, w] for w in range(n) for _ in range(itself[w])]) == [list(p) for p in expected]
    starts, others, times = turned(starts, others, times, 0, n)
    seconds = np.repeat(np.arange(n), np.diff(starts))
    turned_round = sorted((b, a) for a, b in expected if a != b)
    assert np.repeat(np.stack([seconds, others], 1), times, axis=0).tolist() == [list(p) for p in turned_round]


@given(sentences(), st.integers(2, 5))
def test_pairs_do_not_depend_on_how_many_count_them(text: list[list[str]], threads: int) -> None:
    ids = corpus_of(text).ids
    one, several = (count_pairs([ids, ids[::-1]], int(ids.max()) + 1, threads=n) for n in (1, threads))
    for pairs, others in zip(one, several, strict=True):
        assert [array.tolist() for array in pairs] == [array.tolist() for array in others]


def test_the_logarithms_of_the_proposals_are_close() -> None:
    row = np.array([0, 1, 2, 3, 7, 100, 12345, 10**7], np.int32)
    scores = np.ones(row.size, np.float32)
    judging._add_logs(scores, row, 0.2, 3)
    assert scores == pytest.approx(1 + 3 * np.log(row + 0.2), abs=2e-4)


def test_nothing_depends_on_threads_or_the_order_of_lines() -> None:
    lines = toy_text(4000, vocabulary=2000)
    corpus = corpus_of(lines)
    shuffled = random.Random(5).sample(lines, len(lines))
    other = corpus_of(shuffled)
    one = find_classes(corpus.ids, len(corpus.vocabulary), 6, threads=1)
    assert 1 < one.k <= 6
    assert np.array_equal(one.of_word, find_classes(corpus.ids, len(corpus.vocabulary), 6, threads=3).of_word)
    assert np.array_equal(one.of_word, find_classes(other.ids, len(other.vocabulary), 6, threads=2).of_word)


def test_classes_come_by_falling_count_and_special_words_have_their_own() -> None:
    lines, _ = hidden_classes()
    corpus = corpus_of(lines)
    classes = find_classes(corpus.ids, len(corpus.vocabulary), 5)
    assert classes.of_word[:3].tolist() == [0, 1, 2]
    counts = np.bincount(classes.of_word[corpus.ids])[3:]
    assert counts.tolist() == sorted(counts.tolist(), reverse=True)
    assert classes.sizes[3:].sum() == len(corpus.vocabulary) - 3
    assert classes.of_word.flags.writeable is False
    # Ties by the first word: classes 8 and 4 are met twice each, 8 has the smaller word.
    tied = Classes.numbered([9, 8, 4, 9], counts=[3, 2, 2, 1])
    assert tied.of_word.tolist() == [0, 1, 2, 3, 4, 5, 3]


def test_no_more_classes_than_words_and_no_fewer_than_one() -> None:
    corpus = corpus_of(["a b", "b a c"])
    assert 1 <= find_classes(corpus.ids, len(corpus.vocabulary), 99).k <= 3
    assert find_classes(corpus.ids, len(corpus.vocabulary), 1).of_word.tolist() == [0, 1, 2, 3, 3, 3]
    empty = corpus_of(["a b", "c"], min_count=9)
    assert find_classes(empty.ids, len(empty.vocabulary), 4).of_word.tolist() == [0, 1, 2]
    with pytest.raises(GapgramError, match="0 classes: expected 1 or more"):
        find_classes(corpus.ids, len(corpus.vocabulary), 0)
    with pytest.raises(GapgramError, match="0 sweeps: expected 1 or more"):
        find_classes(corpus.ids, len(corpus.vocabulary), 2, sweeps=0)


def test_the_default_number_of_classes_grows_with_the_text() -> None:
    assert [automatic_k(n) for n in (1, 10**4, 10**6, 10**8)] == [2, 30, 300, 500]


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    corpus = corpus_of(["the cat sat", "the dog sat", "a cat ran", "naïve 猫 #"])
    counts = np.bincount(corpus.ids, minlength=len(corpus.vocabulary))
    classes = find_classes(corpus.ids, len(corpus.vocabulary), 3)
    write_classes(tmp_path / "classes", classes, corpus.vocabulary, counts)
    again = read_classes(tmp_path / "classes", corpus.vocabulary, counts)
    assert np.array_equal(again.of_word, classes.of_word)
    assert again.names == classes.names
    first = (tmp_path / "classes").read_text().splitlines()
    assert len(first) == len(corpus.vocabulary) - 3
    assert [int(line.split("\t")[1]) for line in first] == sorted(int(line.split("\t")[1]) for line in first)


VOCABULARY = Vocabulary.of(["the", "cat", "sat", "dog"])


def read(folder: Path, data: bytes) -> Classes:
    (folder / "mine").write_bytes(data)
    return read_classes(folder / "mine", VOCABULARY)


def test_a_file_of_a_users_own(tmp_path: Path) -> None:
    # Other words of the file are not looked at; `sat` is in no line; fields after the second are ignored.
    classes = read(tmp_path, b"dog\tNOUN\t7\textra\r\ncat\tNOUN\n\nzebra\tNOUN\nthe\tproper article\ncat\tNOUN")
    assert classes.names == ("<unk>", "<s>", "</s>", "proper article", "NOUN", "<other>")
    assert classes.of_word.tolist() == [0, 1, 2, 3, 4, 5, 4]
    assert classes.k == 3
    (tmp_path / "mine").write_bytes(b"dog\tNOUN\ncat\tNOUN\nthe\tART\nsat\tVERB\n")
    by_count = read_classes(tmp_path / "mine", VOCABULARY, counts=[0, 0, 0, 2, 1, 1, 2])
    assert by_count.names[3:] == ("NOUN", "ART", "VERB")


@pytest.mark.parametrize(("data", "expected"), [
    (b"", "mine: empty: expected lines of a word, a tab and the name of its class"),
    (b"\n \n", "mine: empty: expected"),
    (b"the\tA\ncat\n", "mine:2: 'cat': expected a word, a tab and the name of its class"),
    (b"the A\n", "mine:1: 'the A': expected a word, a tab and the name of its class"),
    (b"the\t\n", "mine:1: 'the ': expected a word, a tab"),
    (b"\tA\n", "mine:1: ' A': expected a word, a tab"),
    (b"x" * 99 + b"\n", "mine:1: '" + "x" * 39 + "…': expected a word"),
    (b"the cat\tA\n", "mine:1: the word 'the cat' holds white space"),
    (b"the\tA\n<s>\tB\n", "mine:2: <s> is the model's own and has a class of its own: leave the line out"),
    (b"the\t<unk>\n", "mine:1: <unk> is the model's own"),
    (b"the\tA\ncat\tB\nthe\tB\n", "mine:3: the word the is in class B here and in class A in line 1: a word has one"),
    (b"the\tA\nzebra\tB\nzebra\tC\n", "mine:3: the word zebra is in class C here and in class B in line 2"),
    (b"the\tA\nc\xe9\tB\n", "mine:2: byte 2 of the line is not valid UTF-8"),
    (b"0110\tthe\t9\n0111\tcat\t3\n", "mine: none of its 2 words is a word of the text: expected the word first"),
])  # fmt: skip
def test_files_that_cannot_be_read(tmp_path: Path, data: bytes, expected: str) -> None:
    with pytest.raises(GapgramError) as error:
        read(tmp_path, data)
    assert expected in str(error.value)


def test_the_command(cli: Cli, tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("\n".join([*hidden_classes()[0], ""]))
    ran = cli("classes", text, "-o", tmp_path / "classes", "-k", 5, "--json")
    assert ran.code == 0
    assert (ran.json["classes"], ran.json["vocabulary"], ran.json["sentences"]) == (5, 53, 3000)
    written = (tmp_path / "classes").read_bytes()
    ran = cli("classes", text, "-o", tmp_path / "again", "-k", 5, "--threads", 1)
    assert (ran.code, ran.out) == (0, "")
    assert "5 classes of 53 words" in ran.err
    assert (tmp_path / "again").read_bytes() == written
    assert cli("classes", text, "-o", tmp_path / "few", "--vocab-limit", 7, "-q").err == ""
    assert len((tmp_path / "few").read_text().splitlines()) == 7


@pytest.mark.parametrize(("arguments", "expected"), [
    (["text", "-o", "classes", "-k", "0"], "0 classes: expected 1 or more"),
    (["text", "-o", "text"], "text: is read and would be replaced"),
    (["none", "-o", "classes"], "none: no such file"),
    (["text", "-o", "classes", "--threads", "0"], "threads 0: expected 1 or more"),
])  # fmt: skip
def test_mistakes_of_the_command(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], expected: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("text").write_text("the cat sat\nthe dog sat\n")
    ran = cli("classes", *arguments)
    assert ran.code == 2
    assert expected in ran.err
    assert [p.name for p in tmp_path.iterdir()] == ["text"]
