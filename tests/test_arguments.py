"""Mistakes in Python: an argument of another kind than expected gets a sentence that says what to give instead."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gapgram
from gapgram.errors import ArgumentTypeError, PathWarning

Mistake = Callable[[Any, Any], object]  # of a model, and of gapgram, whose types are not looked at

WRONG_TYPES: list[tuple[str, Mistake]] = [
    ("sentence 1: expected a string or a list of words, found None", lambda m, g: m.score(None)),
    ("sentence 1: expected a string or a list of words, found the number 5", lambda m, g: m.scores(5)),
    ("sentence 1: expected a string or a list of words, found the bytes b'a b'", lambda m, g: m.score(b"a b")),
    ("sentence 1: expected words that are strings, found None", lambda m, g: m.score(["a", None])),
    ("sentence 1: expected words; text files are for perplexity", lambda m, g: m.score(Path("test.txt"))),
    ("sentence 2: expected a string or a list of words, found None", lambda m, g: m.score_many(["a", None])),
    ("sentences: expected a list of sentences, found None", lambda m, g: m.score_many(None)),
    ("sentences: expected a list of sentences, found the number 3", lambda m, g: g.train(sentences=3)),
    ("texts: expected the path of a text file, or a list of paths, found", lambda m, g: m.perplexity(5)),
    ("texts: expected the path of a file, found None", lambda m, g: m.perplexity(["test.txt", None])),
    ("context: expected a string or a list of words, found None", lambda m, g: m.log10_prob("cat", None)),
    ("context: expected a string or a list of words, found the number 3", lambda m, g: m.distribution(3)),
    ("context: expected words that are strings, found None", lambda m, g: m.explain("cat", [None])),
    ("k: expected how many words to predict, a whole number, found the string '3'", lambda m, g: m.predict(k="3")),
    ("k: expected how many words to predict, a whole number, found the number 2.5", lambda m, g: m.predict(k=2.5)),
    ("prefix: expected a string, found None", lambda m, g: m.predict("the", prefix=None)),
    ("vocabulary[…]: expected an id; vocabulary.id(word) is that of a word", lambda m, g: m.vocabulary["cat"]),
    ("word: expected a string, found None", lambda m, g: m.vocabulary.id(None)),
    ("words: expected a list of words, found None", lambda m, g: m.vocabulary.ids(None)),
    ("state: expected a state of this model", lambda m, g: m.extend("the", "cat")),
    ("state: expected a state of this model", lambda m, g: m.extend_many(["the"], ["cat"])),
    ("states: expected a list of states, found a State", lambda m, g: m.extend_many(m.null_context(), ["cat"])),
    ("words: expected a list of words or of their ids, found None", lambda m, g: m.extend_many([], None)),
    ("word: expected a string or the id of a word, found None", lambda m, g: m.extend(m.null_context(), None)),
    ("word: expected a string or the id of a word, found", lambda m, g: m.extend(m.null_context(), 2.5)),
    ("threads: expected a whole number, found the string '2'", lambda m, g: m.score_many(["a"], threads="2")),
    ("keep: expected the part of the model to keep, such as 0.3", lambda m, g: m.pruned(keep="0.5")),
    ("prune: expected counts such as '0,0,1' or", lambda m, g: m.pruned(counts=3)),
    ("bits: expected a whole number, found the string '8'", lambda m, g: m.quantised("8")),
    ("file to write: expected the path of a file, found None", lambda m, g: m.save(None)),
    ("file to write: expected the path of a file, found None", lambda m, g: g.write_arpa(m, None)),
    ("write_arpa: expected a model, as gapgram.train and gapgram.load(path) give", lambda m, g: g.write_arpa("x", m)),
    ("model: expected the path of a file, the name of a model, or its address, found None", lambda m, g: g.load(None)),
    ("model: expected the path of a file, the name of a model, or its address, found a Model", lambda m, g: g.load(m)),
    ("score_lines: expected a model first, then a text, found", lambda m, g: g.score_lines("test.txt", m)),
    ("generate: expected a model first", lambda m, g: next(g.generate("x"))),
    ("begin: expected a string or a list of words", lambda m, g: next(g.generate(m, begin=5))),
    ("temperature: expected a number, found the string 'x'", lambda m, g: next(g.generate(m, temperature="x"))),
    ("models of a mixture: expected a list of models, found a Model", lambda m, g: g.Mixture(m, 1)),
    ("models of a mixture: expected a list of models, found a Model", lambda m, g: g.tune(m, "x")),
    ("mixture: expected a model, as", lambda m, g: g.Mixture([m, "x"], [0.5, 0.5])),
    ("lattice: expected an explanation, as model.explain(word, context) gives", lambda m, g: g.as_svg(m)),
    ("find_classes: expected the ids of a corpus", lambda m, g: g.find_classes("the cat sat", 3)),
    ("a text to read: expected blocks of lines", lambda m, g: g.read_corpus("the cat sat")),
    ("pattern: expected a string such as '1011', found None", lambda m, g: g.Pattern.parse(None)),
    ("lattice: expected chain, full, or patterns", lambda m, g: g.train(sentences=["a b"], lattice=5)),
    ("classes: expected a number, none, auto, or a file", lambda m, g: g.train(sentences=["a b"], classes=1.5)),
    ("rules: expected a TextRules", lambda m, g: g.train(sentences=["a b"], rules="unk")),
    ("seed: expected a whole number, found the string 'x'", lambda m, g: g.train(sentences=["a b"], seed="x")),
    ("minimum count: expected a whole number, found", lambda m, g: g.TextRules(min_count="2")),
    ("words of a history: expected a whole number", lambda m, g: m.session(max_words="9")),
]
WRONG_VALUES: list[tuple[str, Mistake]] = [
    ("the word 'the end of the': expected one word, without white space; its context comes after it",
     lambda m, g: m.log10_prob("the end of the", "world")),
    ("the word 'the end of the': expected one word", lambda m, g: m.explain("the end of the", "world")),
    ("the word 'a b': expected one word, without white space", lambda m, g: m.extend(m.null_context(), "a b")),
    ("context: 'the cat': a word of a list may not hold white space", lambda m, g: m.predict(["the cat"])),
    ("sentence 1: 'the cat': a word of a list may not be empty", lambda m, g: m.score(["the cat", "sat"])),
    ("words 'cat': expected a list of words, found one string", lambda m, g: m.vocabulary.ids("cat")),
    ("the cat sat: no such file; expected the name of a file (in Python, text in memory is sentences=[…])",
     lambda m, g: g.train("the cat sat")),
    ("text in memory is sentences=[…]", lambda m, g: m.perplexity(["the cat sat", "a dog"])),
    ("order '3': expected a whole number", lambda m, g: g.train(sentences=["a b"], order="3")),
]  # fmt: skip


@pytest.mark.parametrize(("expected", "mistake"), WRONG_TYPES)
def test_arguments_of_a_wrong_type(models: dict[str, gapgram.Model], expected: str, mistake: Mistake) -> None:
    with pytest.raises(ArgumentTypeError) as caught:
        mistake(models["mkn"], gapgram)
    assert str(caught.value).startswith(expected)
    assert isinstance(caught.value, gapgram.UsageError)


@pytest.mark.parametrize(("expected", "mistake"), WRONG_VALUES)
def test_arguments_that_were_meant_otherwise(models: dict[str, gapgram.Model], expected: str, mistake: Mistake) -> None:
    with pytest.raises(gapgram.GapgramError) as caught:
        mistake(models["mkn"], gapgram)
    assert expected in str(caught.value)


def test_a_file_scored_as_a_sentence_is_warned_of(models: dict[str, gapgram.Model], tmp_path: Path) -> None:
    path = tmp_path / "test.txt"
    path.write_text("the cat sat\n")
    with pytest.warns(PathWarning, match="is scored as a sentence of one word; text files are for perplexity") as said:
        models["mkn"].score(str(path))
    assert said[0].filename == __file__


def test_numbers_of_numpy_are_numbers(models: dict[str, gapgram.Model]) -> None:
    two: Any = np.int64(2)
    assert len(models["mkn"].predict(k=two)) == 2
    assert models["mkn"].score_many(["a"], threads=two).shape == (1,)


def test_a_model_says_which_words_it_knows(models: dict[str, gapgram.Model]) -> None:
    known = models["mkn"].vocabulary[5]
    assert known in models["mkn"]
    assert "no such word" not in models["mkn"]


def test_a_name_that_is_nearly_one() -> None:
    with pytest.raises(AttributeError, match="no attribute 'trian'; did you mean 'train'"):
        _ = gapgram.trian  # type: ignore[attr-defined]
