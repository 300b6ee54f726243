"""Sentences and tokens."""

from __future__ import annotations

import pytest

pytest.importorskip("sentencex", reason="needs the extra gapgram[prepare]")

from hypothesis import given
from hypothesis import strategies as st

from gapgram.errors import UsageError
from gapgram.preparation.languages import language_of
from gapgram.preparation.sentences import _MARKS, clean, lines_of, sentences_of, tokens

SENTENCES = {
    "en": [
        ["He lived in the U.S. until Jan. 5, 1990.", "Dr. Smith agreed!", '"Is it?" she asked.', "See vol. 3, no. 2."],
        ["It was 15 °C.", "Bob B. Black wrote it (c. 1660).", "Then he left."],
    ],
    "de": [["Am 3. Mai kam Dr. Müller z. B. nach St. Gallen.", "Das war im 19. Jahrhundert.", "Die Fa. Meier kam."]],
    "fr": [["M. Dupont est né en 50 av. J.-C. à Rome.", "Voir art. 3.", "Il a dit : « Bonjour ! » puis est parti."]],
    "it": [["Il sig. Rossi è nato nel 300 a.C. a Roma.", "L'art. 3 della legge n. 241 prevede.", "Poi uscì."]],
    "bg": [["Роден е на 5 май 1990 г. в София.", "Той е тук."]],
}
TOKENS = {
    ("en", "He didn't pay $3.50, or 5%, in 1,234 U.S. cities."):
        "He didn't pay $3.50 , or 5 % , in 1,234 U.S. cities .",
    ("en", "Inc., vs. St. Louis (etc.) at 12:30 p.m."): "Inc. , vs. St. Louis ( etc . ) at 12:30 p.m.",
    ("en", "It's “well-known” – see www.a.org/b... C++ and C#!"):
        "It's “ well-known ” – see www.a.org/b ... C++ and C# !",
    ("en", "no ☺ ★ | = < > { } * emoji → here"): "no emoji here",
    ("en", "He wrote: a work. This"): "He wrote : a work . This",
    ("en", "the suffix -ism at −40 °C, AT&T and/or a@b.org"): "the suffix -ism at −40 °C , AT&T and / or a@b.org",
    ("de", "Ein- und Ausgang, 2. Auflage, § 5 Abs. 2"): "Ein- und Ausgang , 2. Auflage , § 5 Abs. 2",
    ("fr", "L'homme qu’il a, aujourd'hui, n'est"): "L' homme qu’ il a , aujourd'hui , n' est",
    ("it", "dell'Umbria, un'altra"): "dell' Umbria , un' altra",
    ("hi", "यह हिन्दी है।"): "यह हिन्दी है ।",
}  # fmt: skip


@pytest.mark.parametrize("code", SENTENCES)
def test_sentences(code: str) -> None:
    for expected in SENTENCES[code]:
        found = sentences_of(" ".join(expected), language_of(code))
        assert [sentence.strip() for sentence in found] == expected


@pytest.mark.parametrize(("code", "text"), TOKENS)
def test_tokens(code: str, text: str) -> None:
    assert " ".join(tokens(text, language_of(code))) == TOKENS[code, text]


def test_a_long_piece_is_split_inside_its_quotation() -> None:
    inside = "The temple stands on the island of the god. " * 8
    assert len(lines_of([f'He said: "{inside}"'], language_of("en"))) == 8
    assert len(lines_of(['He said: "Go. Now." and left.'], language_of("en"))) == 1


@given(st.text(alphabet=st.sampled_from("aB1 .,'\"!?-«»()é☺\n…°$"), max_size=300) | st.text())
def test_nothing_is_lost_between_sentences(text: str) -> None:
    for code in ("en", "de", "fr"):
        assert "".join(sentences_of(clean(text), language_of(code))) == clean(text)


def test_a_long_paragraph_is_split_as_a_short_one_is() -> None:
    """Wherever the characters that are looked at together end."""
    english = language_of("en")
    for padding in range(0, 60, 7):
        first = "x" * padding + ". "
        found = sentences_of(first + "Dr. Smith went to St. Louis, and stayed. " * 400, english)
        assert found == [first, *["Dr. Smith went to St. Louis, and stayed. "] * 400]


@pytest.mark.parametrize("unit", ["word ", "x", "a, b ", "“"])
def test_a_long_sentence_is_not_cut(unit: str) -> None:
    text = f"A{unit * 8000}. Next."
    assert sentences_of(text, language_of("en"))[-1] == "Next."
    assert len(sentences_of(text, language_of("en"))) == 2


@given(st.text())
def test_every_token_holds_a_letter_a_digit_or_a_mark(text: str) -> None:
    for token in tokens(text, language_of("it")):
        assert not any(c.isspace() for c in token)
        assert any(c.isalnum() or c in _MARKS for c in token)
        assert token in text


@given(st.text())
def test_lines_hold_words(text: str) -> None:
    for line in lines_of([text], language_of("en")):
        assert "\n" not in line and line == " ".join(line.split())
        assert any(c.isalnum() for c in line)
        assert not {"<s>", "</s>", "<unk>"} & set(line.split())


def test_lines_without_a_word_are_left_out() -> None:
    assert lines_of(["...", "", "— ( )", "A."], language_of("en")) == ["A ."]


def test_unknown_languages() -> None:
    with pytest.raises(UsageError, match=r"^language 'xx': expected a Wikipedia code such as en, de, fr, it$"):
        language_of("xx")
    with pytest.raises(UsageError, match=r"^language 'zh' is written without spaces: its words cannot be told apart"):
        language_of("zh")
