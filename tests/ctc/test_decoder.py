"""The decoder equals the search in plain Python, for every kind of model and of labels."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reference.beam_search import SearchRules, search

import gapgram
from gapgram import Mixture, Model
from gapgram.ctc import Alphabet, Decoder
from gapgram.kernels.text.special_words import SPECIAL
from gapgram.models.arpa.reading import read_arpa
from gapgram.models.arpa.writing import write_arpa
from gapgram.queries.language_model import LanguageModel
from gapgram.queries.states import State

pytestmark = pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning")

LABELS = ["<pad>", "|", *"w0123456789"]
PIECES = ["▁w", "▁", "1", "2", "3", "▁w1", "12", "▁w2", "[UNK]", "5", "▁w10"]
N_FRAMES = 30


def logits_of(n_labels: int, seed: int, n_frames: int = N_FRAMES) -> Any:
    """Logits of which each frame has a few labels that are more probable than others."""
    chance = np.random.default_rng(seed)
    out = chance.normal(0, 1.2, (n_frames, n_labels))
    for t in range(n_frames):
        out[t, chance.integers(0, n_labels, 3)] += chance.uniform(1, 5, 3)
    return out


def rules_for(decoder: Decoder, hot: dict[str, float], *, distinct: bool = False, **options: Any) -> SearchRules:
    """The same, for the search in plain Python."""
    model, chosen = decoder.model, decoder.options.changed(options)
    names = ("alpha", "beta", "unknown", "boundary", "beam_width", "beam_prune", "token_prune", "empty_word")
    given: dict[str, Any] = {name: getattr(chosen, name) for name in names}
    history = (max(1, model.order - 1) if model else 1) if distinct else 0
    rest: dict[str, Any] = {
        "history": history,
        "hot": hot,
        "is_pieces": decoder.alphabet.is_pieces,
        "by_label": decoder.by_label,
    }
    if model is None:
        return SearchRules(**given, **rest)
    known = frozenset(model.vocabulary) - set(SPECIAL)
    if decoder.by_label:
        known = frozenset(" " if word == "|" else word for word in known)

    as_model = {" ": "|", "": "never known"} if decoder.by_label else {"": "never-known"}

    @cache
    def extended(words: tuple[str, ...]) -> tuple[float, State]:
        if not words:
            return 0.0, model.begin_sentence() if chosen.boundary else model.null_context()
        return model.extend(extended(words[:-1])[1], as_model.get(words[-1], words[-1]))

    return SearchRules(lambda word, before: extended((*before, word))[0], known, **given, **rest)


def assert_equal(decoder: Decoder, logits: Any, hot: dict[str, float] | None = None, **options: Any) -> None:
    distinct = options.pop("distinct", False)
    found = decoder.decode_beams(logits, hot, distinct=distinct, **options)
    shifted = logits - logits.max(axis=1, keepdims=True)
    log_probs = np.clip(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)), np.log(1e-15), 0)
    rules = rules_for(decoder, hot or {}, distinct=distinct, **options)
    expected = search(log_probs.tolist(), decoder.alphabet.texts, rules)
    assert [one.total for one in found] == pytest.approx([total for _, total in expected], abs=1e-8)
    assert [one.acoustic for one in found] == pytest.approx([beam.log_prob for beam, _ in expected], abs=1e-8)
    texts = [rules.spelled(beam.text) if decoder.by_label else beam.text for beam, _ in expected]
    assert [one.text for one in found] == [" ".join(words) for words in texts]
    if not decoder.by_label:
        frames = [[(word.first, word.after) for word in one.words] for one in found]
        assert frames == [list(beam.frames) for beam, _ in expected]


@pytest.fixture(scope="module")
def kinds(made: dict[str, Model], tmp_path_factory: pytest.TempPathFactory) -> dict[str, LanguageModel]:
    """A model of each kind."""
    folder = tmp_path_factory.mktemp("kinds")
    write_arpa(made["mkn"], folder / "m.arpa")
    mixed = Mixture([made["mkn"], read_arpa(folder / "m.arpa"), made["learned"]], [0.5, 0.25, 0.25])
    return {**made, "arpa": read_arpa(folder / "m.arpa"), "mixture": mixed}


@pytest.mark.parametrize("kind", ["mkn", "learned", "uniform", "classes", "custom", "arpa", "mixture"])
def test_words(kinds: dict[str, LanguageModel], kind: str) -> None:
    decoder = Decoder(LABELS, kinds[kind])
    assert not decoder.by_label
    for seed in range(4 if kind == "mkn" else 1):
        assert_equal(decoder, logits_of(len(LABELS), seed), beam_width=15)
    assert_equal(decoder, logits_of(len(LABELS), 4), distinct=True, beam_width=100 if kind == "mkn" else 15)


def test_a_binary_file_of_kenlm(seeds: dict[str, Path]) -> None:
    """Its words are of letters that are not those of the other models here."""
    for name in (name for name in seeds if name.startswith("kenlm")):
        model: LanguageModel = gapgram.load(seeds[name])
        if not getattr(model.vocabulary, "has_words", True):
            continue
        letters = sorted(set("".join(list(model.vocabulary)[3:])))
        decoder = Decoder(["", " ", *letters], model, unit="word")
        assert_equal(decoder, logits_of(2 + len(letters), 3), beam_width=15)


@pytest.mark.parametrize("options", [
    {"unknown": None}, {"unknown": -2.5}, {"boundary": False}, {"alpha": 0.0}, {"beam_width": 1}, {"beam_prune": -2.0},
    {"token_prune": -2.0}, {"empty_word": True}, {"alpha": 2.0, "beta": -3.0}, {"token_prune": -40.0, "beam_width": 9},
], ids=str)  # fmt: skip
def test_options(kinds: dict[str, LanguageModel], options: dict[str, Any]) -> None:
    for seed in range(2):
        assert_equal(Decoder(LABELS, kinds["mkn"]), logits_of(len(LABELS), 10 + seed), **{"beam_width": 20, **options})


@pytest.mark.parametrize("hot", [{"w1": 5.0}, {"w12": 10.0, "w1": 2.5, "w4444": 8.0}, {"w2": -3.0}], ids=str)
@pytest.mark.parametrize("unknown", [-10.0, None])
def test_hot_words(kinds: dict[str, LanguageModel], hot: dict[str, float], unknown: float | None) -> None:
    for seed in range(2):
        logits = logits_of(len(LABELS), 20 + seed)
        assert_equal(Decoder(LABELS, kinds["learned"]), logits, hot, unknown=unknown, beam_width=20)
        if unknown is not None:
            assert_equal(Decoder(LABELS), logits, hot, beam_width=20)


@pytest.mark.parametrize("kind", [None, "mkn"])
def test_pieces(kinds: dict[str, LanguageModel], kind: str | None) -> None:
    decoder = Decoder(PIECES, kinds[kind] if kind else None)
    for seed in range(3):
        logits = logits_of(len(PIECES) + 1, 30 + seed)
        assert_equal(decoder, logits, beam_width=20)
        assert_equal(decoder, logits, {"w12": 6.0}, beam_width=20, distinct=True)


def test_a_model_of_labels() -> None:
    texts = [" ".join("w1 w2 w12 w31 w5".replace(" ", "|")), " ".join("w12|w5|w1"), " ".join("w31|w2|w2")] * 7
    decoder = Decoder(LABELS, gapgram.train(sentences=texts, order=4, model="mkn"))
    assert decoder.by_label
    for seed in range(4):
        logits = logits_of(len(LABELS), 40 + seed)
        assert_equal(decoder, logits, beam_width=15)
        assert_equal(decoder, logits, {"w12": 4.0, "w5": 1.0}, beam_width=15, distinct=True)


def test_a_model_of_pieces() -> None:
    texts = ["▁w1 2 ▁w 5 ▁w1", "▁w 3 ▁w2 ▁w1", "▁w10 ▁ 5 12"] * 7
    decoder = Decoder(PIECES, gapgram.train(sentences=texts, order=3, model="mkn"))
    assert decoder.by_label
    for seed in range(4):
        assert_equal(decoder, logits_of(len(PIECES) + 1, 50 + seed), beam_width=15)


def test_words_of_labels_have_frames_and_confidence() -> None:
    texts = ["w 1 | w 2", "w 2 | w 1 2"] * 9
    decoder = Decoder(LABELS, gapgram.train(sentences=texts, order=3, model="mkn"))
    logits = np.full((7, len(LABELS)), -9.0)
    logits[np.arange(7), [2, 4, 0, 1, 2, 2, 5]] = 0.0
    best = decoder.decode_beams(logits)[0]
    assert [word[:3] for word in best.words] == [("w1", 0, 2), ("w2", 4, 7)]
    assert all(0.9 < word.confidence <= 1 for word in best.words)
    assert best.total == best.acoustic + best.language + best.hot


def test_only_known_words(kinds: dict[str, LanguageModel]) -> None:
    decoder = Decoder(LABELS, kinds["mkn"], unknown=None)
    for seed in range(5):
        for one in decoder.decode_beams(logits_of(len(LABELS), 60 + seed), {"w999999": 1.0}):
            assert all(word in kinds["mkn"].vocabulary or word == "w999999" for word in one.text.split())


def test_words_of_ones_own(kinds: dict[str, LanguageModel]) -> None:
    decoder = Decoder(LABELS, kinds["mkn"], words=["w1", "w2", "w3", "nowhere"], unknown=None)
    for one in decoder.decode_beams(logits_of(len(LABELS), 70)):
        assert set(one.text.split()) <= {"w1", "w2", "w3"}


def test_words_ahead_keep_more_of_what_may_become_a_word(kinds: dict[str, LanguageModel]) -> None:
    plain, ahead = (Decoder(LABELS, kinds["mkn"], unknown=None, ahead=ahead) for ahead in (False, True))
    narrow = [logits_of(len(LABELS), 80 + seed) for seed in range(20)]
    better = [ahead.decode_beams(one, beam_width=4) for one in narrow]
    worse = [plain.decode_beams(one, beam_width=4) for one in narrow]
    both = [(a[0].total, b[0].total) for a, b in zip(better, worse, strict=True) if a and b]
    assert np.mean([a for a, _ in both]) >= np.mean([b for _, b in both])


def test_what_goes_in(kinds: dict[str, LanguageModel]) -> None:
    """Logits, log probabilities and probabilities of any precision, lists, batches and threads: the same text."""
    decoder, logits = Decoder(LABELS, kinds["learned"]), logits_of(len(LABELS), 90)
    text = decoder.decode(logits)
    log_probs = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    probabilities = np.exp(log_probs)
    for given in (log_probs, probabilities, probabilities.astype(np.float32), logits.tolist(), logits + 5.0):
        assert decoder.decode(given) == text
    assert decoder.decode(logits.astype(np.float16)) == decoder.decode(logits.astype(np.float16).astype(np.float32))
    several = [logits_of(len(LABELS), seed) for seed in range(9)]
    expected = [decoder.decode(one) for one in several]
    assert decoder.decode_many(several, threads=3) == expected
    padded = np.zeros((9, N_FRAMES + 5, len(LABELS)))
    padded[:, :N_FRAMES] = several
    assert decoder.decode_many(padded, lengths=[N_FRAMES] * 9) == expected
    both = decoder.decode_beams_many(several[:2], {"w1": 1.0})
    assert both == [decoder.decode_beams(one, {"w1": 1.0}) for one in several[:2]]


def test_a_state_goes_on_from_another_text(kinds: dict[str, LanguageModel]) -> None:
    decoder, model = Decoder(LABELS, kinds["mkn"]), kinds["mkn"]
    first = decoder.decode_beams(logits_of(len(LABELS), 91))[0]
    assert first.state is not None
    following = decoder.decode_beams(logits_of(len(LABELS), 92), state=first.state)[0]
    state, sums = first.state, 0.0
    for word in [*following.text.split(), "</s>"]:
        score, state = model.extend(state, word)
        sums += score
        sums -= 10.0 * (word not in model and word != "</s>")
    words = len(following.text.split())
    assert following.language == pytest.approx(0.5 * sums * np.log(10) + 1.5 * words, abs=1e-6)


def test_nothing_was_said(kinds: dict[str, LanguageModel]) -> None:
    for decoder in (Decoder(LABELS), Decoder(LABELS, kinds["mkn"])):
        assert decoder.decode(np.zeros((0, len(LABELS)))) == ""
        assert decoder.decode_beams(np.zeros((0, len(LABELS))))[0].words == ()
        assert decoder.decode_many([]) == []


def test_long_texts_and_many_labels() -> None:
    """Arrays grow where they are too small."""
    labels = ["", " ", *map(chr, range(0x4E00, 0x4E00 + 700))]
    decoder = Decoder(labels)
    logits = logits_of(len(labels), 1, 40)
    assert_equal(decoder, logits, beam_width=3, token_prune=-50.0)
    long = np.full((30000, len(LABELS)), -20.0)
    long[np.arange(30000), [2 + t % 9 if t % 7 else 1 for t in range(30000)]] = 0.0
    assert (
        Decoder(LABELS).decode(long, beam_width=2)
        == "".join("w012345678"[t % 9] if t % 7 else " " for t in range(30000)).strip()
    )


def test_alphabets() -> None:
    assert Alphabet.of(["<blank>", "a", " "]).texts == ("", "a", " ")
    assert Alphabet.of(["a", "_"]).texts == ("a", "")
    assert Alphabet.of(["a", "b"]).texts == ("a", "b", "")
    assert Alphabet.of(["a", "#", "."], blank="#", delimiter=".").texts == ("a", "", " ")
    assert Alphabet.of(["a", "#", "b"], blank=-2).blank == 1
    assert Alphabet.of(["[unk]", "##s", "a", "▁"]).texts == ("▁⁇▁", "s", "▁a", "▁", "")
    assert Alphabet.of(["<unk>", "a", ""]).texts == ("⁇", "a", "")
