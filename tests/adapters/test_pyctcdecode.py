"""pyctcdecode's interface without pyctcdecode; and the same results as pyctcdecode's own, where that is installed."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gapgram import Model, kenlm
from gapgram.adapters.pyctcdecode import Alphabet, BeamSearchDecoderCTC, LanguageModel, build_ctcdecoder
from gapgram.errors import GapgramError, UsageError
from gapgram.models.arpa.writing import write_arpa
from gapgram.models.mixture import Mixture

pytestmark = pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning")

LABELS = [*"0123456789w", "|", "<pad>"]


def logits(seed: int, n_frames: int = 40) -> Any:
    chance = np.random.default_rng(seed)
    out = chance.normal(0, 1.2, (n_frames, len(LABELS)))
    out[np.arange(n_frames), chance.integers(0, len(LABELS), n_frames)] += 4.0
    return out


def test_the_model_chooses_between_words(made: dict[str, Model]) -> None:
    model = made["learned"]
    scores = {word: model.score(f"w1 {word} w1") for word in ("w2", "w4", "w6", "w7", "w8")}
    best, worst = max(scores, key=scores.__getitem__), min(scores, key=scores.__getitem__)
    columns = [LABELS.index(letter) for letter in f"w1|{worst}|w1"]
    heard = np.full((len(columns), len(LABELS)), -9.0)
    heard[np.arange(len(columns)), columns] = 0.0
    heard[4, LABELS.index(best[1])] = 0.0
    assert build_ctcdecoder(LABELS, model, alpha=1.0).decode(heard) == f"w1 {best} w1"


def test_results_are_those_of_pyctcdecode(made: dict[str, Model], tmp_path: Path) -> None:
    theirs = pytest.importorskip("pyctcdecode", reason="pyctcdecode is not installed")
    pytest.importorskip("kenlm", reason="KenLM's Python module is not installed")
    write_arpa(made["mkn"], tmp_path / "m.arpa")
    words = list(made["mkn"].vocabulary)[3:]
    ours = build_ctcdecoder(LABELS, str(tmp_path / "m.arpa"), words)
    peer = theirs.build_ctcdecoder(list(LABELS), str(tmp_path / "m.arpa"), words)
    for seed in range(20):
        for options in ({}, {"hotwords": ["w12", "w7 w8"]}, {"prune_history": True, "beam_width": 10}):
            expected = peer.decode_beams(logits(seed), **options)
            found = ours.decode_beams(logits(seed), **options)
            assert [one[0] for one in found] == [one[0] for one in expected]
            assert [one[2] for one in found] == [one[2] for one in expected]
            assert [one[4] for one in found] == pytest.approx([one[4] for one in expected], abs=1e-4)


@pytest.mark.parametrize("kind", ["own", "arpa", "mixture", "memory", "none"])
def test_saved_and_loaded(made: dict[str, Model], tmp_path: Path, kind: str) -> None:
    write_arpa(made["mkn"], tmp_path / "m.arpa")
    mixed = Mixture([made["mkn"], made["learned"]], [0.5, 0.5])
    model: Any = {
        "own": made["learned"], "arpa": tmp_path / "m.arpa", "mixture": mixed,
        "memory": made["mkn"].with_layout("compact"), "none": None,
    }[kind]  # fmt: skip
    folder = tmp_path / "decoder"
    folder.mkdir()
    ours = build_ctcdecoder(LABELS, model, alpha=0.7, beta=0.5, unk_score_offset=-8.0, lm_score_boundary=False)
    ours.save_to_dir(str(folder))
    again = BeamSearchDecoderCTC.load_from_dir(str(folder))
    for seed in range(3):
        assert again.decode_beams(logits(seed)) == ours.decode_beams(logits(seed))
    names = {path.name for path in folder.iterdir()}
    assert names == ({"alphabet.json", "language_model"} if model is not None else {"alphabet.json"})
    if model is not None:
        held = json.loads((folder / "language_model" / "attrs.json").read_text())
        assert held == {"alpha": 0.7, "beta": 0.5, "unk_score_offset": -8.0, "score_boundary": False}


def test_a_folder_of_pyctcdecode(made: dict[str, Model], tmp_path: Path) -> None:
    """As pyctcdecode 0.5.0 writes it; names with a dot before them are not looked at."""
    inside = tmp_path / "language_model"
    inside.mkdir()
    labels = [*"0123456789w", " ", ""]
    (tmp_path / "alphabet.json").write_text(json.dumps({"labels": labels, "is_bpe": False}))
    attributes = {"alpha": 0.5, "beta": 1.5, "unk_score_offset": -10.0, "score_boundary": True}
    (inside / "attrs.json").write_text(json.dumps(attributes))
    (inside / "unigrams.txt").write_text("w1\nw2\n")
    (inside / ".cache").write_text("")
    write_arpa(made["mkn"], inside / "lm.arpa")
    decoder = BeamSearchDecoderCTC.load_from_dir(str(tmp_path))
    expected = build_ctcdecoder(LABELS, inside / "lm.arpa", ["w1", "w2"])
    assert decoder.decode_beams(logits(1)) == expected.decode_beams(logits(1))


def test_folders_that_are_none(made: dict[str, Model], tmp_path: Path) -> None:
    def refused(said: str) -> None:
        with pytest.raises(GapgramError, match=said):
            BeamSearchDecoderCTC.load_from_dir(str(tmp_path))

    refused("no alphabet.json in it, found nothing")
    (tmp_path / "alphabet.json").write_text("[]")
    refused('an alphabet: expected JSON with "labels" and "is_bpe"')
    (tmp_path / "alphabet.json").write_text('{"labels": ["a"], "is_bpe": false}')
    refused("expected a list of labels, the blank")
    (tmp_path / "alphabet.json").write_text(json.dumps({"labels": [*"0123456789w", " ", ""], "is_bpe": False}))
    (tmp_path / "readme").write_text("")
    refused("no folder language_model in it, found readme")
    inside = tmp_path / "language_model"
    inside.mkdir()
    refused("no attrs.json in it, found nothing")
    (inside / "attrs.json").write_text("{}")
    refused("no unigrams.txt in it, found attrs.json")
    (inside / "unigrams.txt").write_text("")
    refused("expected one model in it, found none")
    write_arpa(made["mkn"], inside / "lm.arpa")
    refused("attrs.json: expected JSON with alpha, beta, unk_score_offset, score_boundary")


def test_batches_and_pools(made: dict[str, Model]) -> None:
    decoder = build_ctcdecoder(LABELS, made["mkn"])
    several = [logits(seed) for seed in range(5)]
    expected = [decoder.decode(one) for one in several]
    assert decoder.decode_batch(None, several) == decoder.decode_batch(object(), several) == expected
    lists = decoder.decode_beams_batch(None, np.stack(several), prune_history=True)
    for beams, one in zip(lists, several, strict=True):
        assert [beam[0] for beam in beams] == [beam[0] for beam in decoder.decode_beams(one, prune_history=True)]
        assert len(beams[0]) == 4


def test_states_go_on(made: dict[str, Model]) -> None:
    decoder = build_ctcdecoder(LABELS, made["mkn"], lm_score_boundary=False)
    state = decoder.decode_beams(logits(1))[0][1]
    assert isinstance(state, kenlm.State)
    assert decoder.decode_beams(logits(2), lm_start_state=state)[0][4] != decoder.decode_beams(logits(2))[0][4]
    assert decoder.decode(logits(2), lm_start_state=kenlm.State()) == decoder.decode(logits(2))


def test_weights_can_be_set(made: dict[str, Model]) -> None:
    decoder = build_ctcdecoder(LABELS, made["mkn"])
    decoder.reset_params(alpha=1.2, beta=0.5, unk_score_offset=-3.0, lm_score_boundary=False)
    expected = build_ctcdecoder(LABELS, made["mkn"], None, 1.2, 0.5, -3.0, False)
    assert decoder.decode_beams(logits(4)) == expected.decode_beams(logits(4))
    with pytest.raises(UsageError, match="alpha must be a float, found 'much'"):
        decoder.reset_params(alpha="much")  # type: ignore[arg-type]
    # as transformers sets them
    model = decoder.model_container[decoder._model_key]
    assert isinstance(model, LanguageModel)
    model.alpha = 0.1
    assert decoder.decode_beams(logits(4)) != expected.decode_beams(logits(4))


def test_hot_words_that_cannot_be_spelled_are_left_out() -> None:
    decoder = build_ctcdecoder(LABELS)
    assert decoder.decode(logits(3), hotwords=["naïve", "w1"]) == decoder.decode(logits(3), hotwords=["w1"])


def test_a_language_model_of_another_kind_is_refused() -> None:
    with pytest.raises(UsageError, match=r"expected a LanguageModel of gapgram\.adapters\.pyctcdecode, found list$"):
        BeamSearchDecoderCTC(Alphabet.build_alphabet(["", " ", "a"]), [])  # type: ignore[arg-type]


def test_alphabets() -> None:
    made = Alphabet.build_alphabet(LABELS)
    assert made.labels == [*"0123456789w", " ", ""] and not made.is_bpe
    assert Alphabet.loads(made.dumps()).labels == made.labels


def test_it_stands_in_for_pyctcdecode() -> None:
    program = (
        "import gapgram.adapters.pyctcdecode as ours; ours.stand_in()\n"
        "import importlib.util; assert importlib.util.find_spec('pyctcdecode')\n"
        "from pyctcdecode import BeamSearchDecoderCTC, build_ctcdecoder\n"
        "from pyctcdecode.alphabet import BLANK_TOKEN_PTN, UNK_TOKEN, UNK_TOKEN_PTN\n"
        "from pyctcdecode.constants import DEFAULT_ALPHA, DEFAULT_HOTWORD_WEIGHT, DEFAULT_PRUNE_LOGP\n"
        "from pyctcdecode.decoder import build_ctcdecoder as again\n"
        "import pyctcdecode.language_model\n"
        "assert again is build_ctcdecoder is ours.build_ctcdecoder and BLANK_TOKEN_PTN.match('<pad>')\n"
        "print(build_ctcdecoder(['', ' ', 'a']).decode([[0.0, 0.0, 1.0]]))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ran.stdout == "a\n", ran.stderr


def test_a_language_model_scores_as_the_decoder_does(made: dict[str, Model], tmp_path: Path) -> None:
    write_arpa(made["mkn"], tmp_path / "m.arpa")

    class OfKenLM:
        path = str(tmp_path / "m.arpa").encode()  # as KenLM's own model has it

    decoder = build_ctcdecoder(LABELS, OfKenLM(), list(made["mkn"].vocabulary)[3:])  # type: ignore[arg-type]
    lm = decoder._language_model
    assert lm is not None and lm.order == made["mkn"].order and lm.unigrams
    best = decoder.decode_beams(logits(4))[0]
    words, total, state = best.text.split(), best.logit_score, lm.get_start_state()
    for i, word in enumerate(words):
        added, state = lm.score(state, word, is_last_word=i + 1 == len(words))
        total += added
    assert best.lm_score == pytest.approx(total, abs=1e-6)
    assert lm.score_partial_token("w") == 0.0
    assert lm.score_partial_token("x" * 12) == -20.0


def test_a_decoder_is_pickled_with_its_model_and_copied_without(made: dict[str, Model]) -> None:
    decoder = build_ctcdecoder(LABELS, made["mkn"])
    assert copy.deepcopy(decoder) is decoder
    assert pickle.loads(pickle.dumps(decoder)).decode(logits(3)) == decoder.decode(logits(3))
