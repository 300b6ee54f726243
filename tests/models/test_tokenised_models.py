"""Models that hold a tokeniser: raw text in, the same figures as of its tokens, whatever is done with the model."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fuzz.sealed import SealedFile
from tests.support.made_models import trained
from tests.support.made_tokenisers import OTHER, RAW, sentencepiece_file, tokenizer_json

import gapgram
from gapgram import TextRules
from gapgram.applications.rescoring.nbest import ListedText, NBest
from gapgram.errors import ModelFileError, TokeniserError, UsageError
from gapgram.models.arpa.writing import as_backoff, write_arpa
from gapgram.models.mixture import Mixture, tune
from gapgram.models.nemo import nemo_words
from gapgram.models.verify import verify
from gapgram.queries.line_scores import score_lines
from gapgram.queries.whole_words import WholeWords
from gapgram.training.spark_options import SparkOptions

ASKED = [*RAW[:4], *OTHER]


@pytest.fixture(scope="module")
def pieces(tmp_path_factory: pytest.TempPathFactory) -> gapgram.Model:
    """A model of SentencePiece's tokens, in a file."""
    folder = tmp_path_factory.mktemp("pieces")
    tokenizer = sentencepiece_file(folder / "pieces.model")
    return trained(RAW, order=3, model="mkn", tokenizer=tokenizer, output=folder / "pieces")


@pytest.fixture(scope="module")
def chars(tmp_path_factory: pytest.TempPathFactory) -> gapgram.Model:
    """A model of characters, in a file."""
    folder = tmp_path_factory.mktemp("chars")
    return trained(RAW, order=8, model="mkn", tokenizer="chars", output=folder / "chars")


@pytest.fixture(params=["pieces", "chars"])
def model(request: pytest.FixtureRequest) -> gapgram.Model:
    """Each of them."""
    return request.getfixturevalue(request.param)  # type: ignore[no-any-return]


def test_raw_text_has_the_score_of_its_tokens(model: gapgram.Model) -> None:
    tokens = [model.tokens(line) for line in ASKED]
    expected = [model.score(one) for one in tokens]
    assert [model.score(line) for line in ASKED] == expected
    assert model.score_many([*ASKED, *tokens], threads=1).tolist() == [*expected, *expected]
    assert model.scores(ASKED[0]).sum() == pytest.approx(expected[0])
    assert model.log10_prob(tokens[0][-1], tokens[0][:-1]) == model.scores(ASKED[0])[-2]


def test_a_raw_context_is_cut(model: gapgram.Model) -> None:
    tokens = model.tokens("the cat")
    assert model.predict("the cat", 3) == model.predict(tokens, 3)
    assert np.array_equal(model.distribution("<s> the cat"), model.distribution(["<s>", *tokens]))
    assert model.distribution("the cat").sum() == pytest.approx(1.0)


def test_perplexity_is_per_token_per_word_and_per_byte(model: gapgram.Model, tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("\n".join([ASKED[0], "", ASKED[1], ASKED[4]]) + "\n")
    found = model.perplexity(text)
    kept = [ASKED[i] for i in (0, 1, 4)]
    assert found.words == sum(len(model.tokens(line)) for line in kept)
    assert found.text_words == sum(len(line.split()) for line in kept)
    assert found.text_bytes == sum(len(line.encode()) + 1 for line in kept)
    assert found.log10_prob == pytest.approx(sum(model.score(line) for line in kept))
    assert found.perplexity_per_byte == pytest.approx(2.0**found.bits_per_byte)
    assert found.perplexity_per_word == pytest.approx(10 ** (-found.log10_prob / (found.text_words + 3)))
    assert "tokenizer:" in found.signature
    assert f"{found.words:,} tokens" in repr(found)
    assert "bits per byte" in found._repr_html_()
    cut = tmp_path / "cut"
    cut.write_text("\n".join(" ".join(model.tokens(line)) for line in kept) + "\n")
    same = model.perplexity(cut, rules=TextRules(special="unk", tokenised=True))
    assert (same.log10_prob, same.words, same.text_bytes) == (found.log10_prob, found.words, None)
    assert math.isnan(same.perplexity_per_word)
    assert same.as_dict()["bits_per_byte"] is None


def test_of_a_model_of_words_words_are_words() -> None:
    model = trained(["a b", "b a a"] * 5, order=2, model="mkn")
    found = model.perplexity(sentences=["a  b c", "", "b"])
    assert (found.text_words, found.text_bytes, found.words) == (4, 9, 4)
    assert found.perplexity_per_word == found.perplexity


def test_characters_unknown_to_the_tokeniser_are_unknown(pieces: gapgram.Model) -> None:
    assert pieces.perplexity(sentences=["un chat ☃"]).unknown_words >= 1
    assert pieces.perplexity(sentences=[RAW[0]]).unknown_words == 0


def test_lines_are_scored_as_they_are_read(model: gapgram.Model, tmp_path: Path) -> None:
    (tmp_path / "text").write_text(f"{ASKED[0]}\n\n{ASKED[4]}\n")
    first, empty, other = score_lines(model, tmp_path / "text", words=True)
    assert (first.text, other.text, empty.words) == (ASKED[0], ASKED[4], 0)
    assert [word for word, _ in first.word_scores] == [*model.tokens(ASKED[0]), "</s>"]
    assert first.log10_prob == model.score(ASKED[0])


@pytest.mark.parametrize("change", ["fast", "compact", "pruned", "quantised", "about"])
def test_a_tokeniser_stays_with_its_model(model: gapgram.Model, tmp_path: Path, change: str) -> None:
    makers: dict[str, Callable[[], Any]] = {
        "fast": lambda: gapgram.load(model.path or ""),
        "compact": lambda: model.with_layout("compact", output=tmp_path / "made"),
        "pruned": lambda: model.pruned(counts="0,0,1", output=tmp_path / "made"),
        "quantised": lambda: model.quantised(4, output=tmp_path / "made"),
        "about": lambda: model.with_about({"language": "en"}, output=tmp_path / "made"),
    }
    made = makers[change]()
    assert made.tokeniser == model.tokeniser
    assert made.score(ASKED[0]) == made.score(model.tokens(ASKED[0]))
    assert made.distribution("the").sum() == pytest.approx(1.0)


def test_every_way_of_training_makes_the_same_file(pieces: gapgram.Model, tmp_path: Path) -> None:
    """In memory, and through files; the held-out text is cut too."""
    assert pieces.path is not None
    tokenizer = pieces.path.parent / "pieces.model"
    (tmp_path / "text").write_text("\n".join([*RAW, ""]))
    options: dict[str, Any] = {"order": 3, "model": "mkn", "tokenizer": tokenizer}
    gapgram.train(tmp_path / "text", output=tmp_path / "small", memory="1M", **options)
    assert (tmp_path / "small").read_bytes() == pieces.path.read_bytes()
    with pytest.raises(UsageError, match="tokenizer: Spark counts the words of a text as it is; use the local engine"):
        gapgram.train(tmp_path / "text", output=tmp_path / "spark", spark=SparkOptions(), **options)
    glm = gapgram.train(tmp_path / "text", held_out_texts=tmp_path / "text", order=3, tokenizer=tokenizer)
    assert glm.score(RAW[0]) == glm.score(glm.tokens(RAW[0]))


def test_a_session_reads_raw_text(model: gapgram.Model, tmp_path: Path) -> None:
    session, other = model.session(), model.session()
    session.read(ASKED[:2])
    other.read([model.tokens(line) for line in ASKED[:2]])
    assert session.score(ASKED[4]) == other.score(model.tokens(ASKED[4]))
    assert session.predict("the cat", 2) == other.predict(model.tokens("the cat"), 2)
    found = session.perplexity(sentences=ASKED[:2], learn=False)
    assert found.text_words == sum(len(line.split()) for line in ASKED[:2])
    assert next(session.generate(begin="the", max_words=9))[: len(model.tokens("the"))] == model.tokens("the")
    assert WholeWords(session).predict("the", 2)


def test_a_session_of_another_tokeniser_is_refused(
    pieces: gapgram.Model, chars: gapgram.Model, tmp_path: Path
) -> None:
    session = pieces.session()
    session.read(ASKED[:1])
    session.save(tmp_path / "session")
    with pytest.raises(OSError, match="a session of another model"):
        chars.session().load(tmp_path / "session")


def test_models_of_one_tokeniser_are_mixed_and_of_two_are_not(
    pieces: gapgram.Model, chars: gapgram.Model, tmp_path: Path
) -> None:
    mixture = Mixture([pieces, pieces.pruned(counts="0,0,1")], [0.5, 0.5])
    assert mixture.score(ASKED[0]) == mixture.score(pieces.tokens(ASKED[0]))
    (tmp_path / "text").write_text(ASKED[0])
    assert tune(mixture.models, tmp_path / "text").tokeniser == pieces.tokeniser
    with pytest.raises(UsageError, match=r"different tokenisers: .*pieces has sentencepiece@.*chars has chars; train"):
        Mixture([pieces, chars], [0.5, 0.5])


def test_documents_and_hypotheses_are_raw_text(model: gapgram.Model) -> None:
    (found, empty) = gapgram.DocumentScorer(model).score(["\n".join(ASKED[:2]), ""])
    assert found.log10_prob == pytest.approx(model.score(ASKED[0]) + model.score(ASKED[1]))
    assert empty.words == 0
    lists = [NBest("one", [ListedText(text, ()) for text in ASKED[:2]])]
    (rows,) = gapgram.Rescorer(model).scores(lists)
    assert rows[:, 0].tolist() == [model.score(text) for text in ASKED[:2]]


def test_documents_teach_sessions_of_tokens() -> None:
    lines = [line for i, line in enumerate(RAW * 6) for line in ((line, "") if i % 6 == 5 else (line,))]
    taught = trained(lines, order=3, model="mkn", tokenizer="chars", documents=True)
    assert taught.parts.history is not None


def test_sentences_are_drawn_and_put_together(model: gapgram.Model) -> None:
    (drawn,) = gapgram.generate(model, begin="the cat", max_words=30)
    assert drawn[: len(model.tokens("the cat"))] == model.tokens("the cat")
    assert model.text_of(drawn).startswith("the cat")


def test_whole_words_are_put_together_of_tokens(model: gapgram.Model) -> None:
    words = WholeWords(model)
    found = words.predict("the cat", 20)
    assert {"sat", "ran."} <= {one.word for one in found}
    assert all(a.probability >= b.probability for a, b in pairwise(found))
    assert sum(one.probability for one in found) < 1
    assert [one.word for one in words.predict("the cat", 1, prefix="ra")] == ["ran."]
    assert words.predict("", 1, prefix="Th")[0].word == "The"
    best = found[0]
    ids = model.tokens(f"the cat {best.word}")[len(model.tokens("the cat")) :]
    spelled = [model.log10_prob(token, [*model.tokens("the cat"), *ids[:i]]) for i, token in enumerate(ids)]
    assert best.probability <= 10 ** sum(spelled) * 1.01
    with pytest.raises(UsageError, match="k = 0"):
        words.predict("the", 0)


def test_words_of_a_model_of_words_are_whole_already() -> None:
    with pytest.raises(UsageError, match="what it predicts are words already"):
        WholeWords(trained(["a b", "b a a"] * 5, order=2, model="mkn"))


def test_nemo_reads_tokens_as_characters(pieces: gapgram.Model, tmp_path: Path) -> None:
    """Id + 100; white space is none of them, `<unk>` stands alone; KenLM gives the model's scores."""
    kenlm = pytest.importorskip("kenlm")
    backoff = as_backoff(pieces)
    words = nemo_words(pieces, backoff)
    write_arpa(backoff, tmp_path / "nemo.arpa", words=words)
    assert pieces.tokeniser is not None
    ids = pieces.tokeniser.engine.ids
    for line in RAW[:5]:
        tokens = pieces.tokens(line)
        as_nemo = " ".join(chr(ids[token] + 100) for token in tokens)
        assert kenlm.Model(str(tmp_path / "nemo.arpa")).score(as_nemo) == pytest.approx(pieces.score(line), abs=1e-4)
    text = (tmp_path / "nemo.arpa").read_text("utf-8")
    grams = [row.split("\t")[1].split(" ") for row in text.split("\n") if "\t" in row]
    assert all(len(symbol) == 1 or symbol in ("<s>", "</s>", "<unk>") for gram in grams for symbol in gram)
    assert sum("<unk>" in gram for gram in grams) == 1


def test_what_nemo_cannot_read_is_refused(pieces: gapgram.Model, chars: gapgram.Model) -> None:
    words = trained(["a b", "b a a"] * 5, order=2, model="mkn")
    with pytest.raises(UsageError, match="the encoding nemo writes ids of tokens: train with the tokeniser"):
        nemo_words(words, as_backoff(words))
    with pytest.raises(UsageError, match="those of chars have none"):
        nemo_words(chars, as_backoff(chars))
    assert pieces.path is not None
    tokenizer, rules = pieces.path.parent / "pieces.model", TextRules(min_count=9)
    cut = trained(RAW, order=2, model="mkn", tokenizer=tokenizer, rules=rules)
    with pytest.raises(UsageError, match="NeMo reads no grams with <unk> among their words"):
        nemo_words(cut, as_backoff(cut))


def test_ids_that_are_no_characters_are_refused() -> None:
    from gapgram.models.nemo import _character

    assert _character("a", 0xD800 - 101) == chr(0xD7FF)
    for number in (0xD800 - 100, 0x110000 - 100):
        with pytest.raises(UsageError, match="there is no character 0x"):
            _character("a", number)
    with pytest.raises(UsageError, match="'a' is no token of the model's tokeniser"):
        _character("a", None)


def test_a_bpe_of_bytes_is_a_model_like_others(tmp_path: Path) -> None:
    tokenizer = tokenizer_json(tmp_path / "tokenizer.json", byte_level=True)
    model = trained(RAW, order=3, model="mkn", tokenizer=tokenizer)
    assert model.text_of(model.tokens("un chat ☃ est là")) == "un chat ☃ est là"
    assert model.score(RAW[0]) == model.score(model.tokens(RAW[0]))
    assert "sat" in {one.word for one in WholeWords(model).predict("the cat", 10)}


def test_a_tokeniser_is_verified(pieces: gapgram.Model, chars: gapgram.Model, tmp_path: Path) -> None:
    assert pieces.path is not None
    assert chars.path is not None
    assert verify(pieces.path).distributions > 0
    file = SealedFile.parse(pieces.path.read_bytes())
    section = file.section("tokenizer")
    section.data[:50] = bytes(50)
    (tmp_path / "hostile").write_bytes(file.sealed())
    with pytest.raises(ModelFileError, match="whole, but for its tokeniser: not a SentencePiece model"):
        verify(tmp_path / "hostile")
    hostile = gapgram.Model.load(tmp_path / "hostile")
    assert hostile.score(pieces.tokens(RAW[0])) == pieces.score(RAW[0]), "tokens need no tokeniser"
    with pytest.raises(TokeniserError, match="not a SentencePiece model"):
        hostile.score(RAW[0])


@pytest.mark.parametrize(
    ("kind", "data"),
    [(None, b"x"), ("chars", b"x"), ("words", b""), ("sentencepiece", b""), (7, b"x"), ("chars", None)],
)
def test_a_file_whose_tokeniser_makes_no_sense_is_refused(
    chars: gapgram.Model, tmp_path: Path, kind: Any, data: bytes | None
) -> None:
    assert chars.path is not None
    file = SealedFile.parse(chars.path.read_bytes())
    file.metadata = {key: value for key, value in file.metadata.items() if key != "tokenizer"}
    file.metadata |= {} if kind is None else {"tokenizer": kind}
    if data is None:
        file.sections.remove(file.section("tokenizer"))
    else:
        section = file.section("tokenizer")
        section.data, section.shape = bytearray(data), [len(data)]
    (tmp_path / "file").write_bytes(file.sealed())
    with pytest.raises(ModelFileError, match="not as gapgram writes it"):
        gapgram.load(tmp_path / "file")
