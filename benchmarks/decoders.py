"""Whole decoders with KenLM and with gapgram in its place: words a second, errors, whether transcripts are the same.

    python benchmarks/decoders.py TEXT KENLM_BINARY NAME=MODEL … [--sentences 40] [--beam 50] [--json]

TEXT is text to be "heard", lower case; KENLM_BINARY a file of build_binary. Sound is made up: for every letter two
frames with noise and a blank. Each decoder hears the same. Words are those of a file (`--lexicon`). A decoder whose
package is not installed is left out, and that is said.

    flashlight    LexiconDecoder, the lexicon as its trie; KenLM in C++, gapgram as `CTCWordModel`
    pyctcdecode   BeamSearchDecoderCTC with KenLM, the lexicon as its unigrams; gapgram's with the same arguments
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gapgram.reporting.tables import table

LETTERS = " abcdefghijklmnopqrstuvwxyz'"
BLANK = len(LETTERS)
PEER = "KenLM"

Decode = Callable[[Any], list[str]]


def heard(sentence: str, noise: float, draw: np.random.Generator) -> Any:
    """[frame, letter]: log probabilities of a sentence spoken with noise."""
    frames = [label for letter in f"{sentence} " for label in (*[LETTERS.index(letter)] * 2, BLANK)]
    scores = draw.normal(0, noise, (len(frames), BLANK + 1))
    scores[np.arange(len(frames)), frames] += 8.0
    scores -= np.log(np.exp(scores).sum(axis=1, keepdims=True))
    return scores.astype(np.float32)


def sentences(path: str, words: set[str], n: int) -> list[list[str]]:
    """The first n sentences of 5 to 25 words that the decoders can spell; a tenth of the words may be unknown."""
    found = []
    for line in Path(path).read_text(encoding="utf-8").split("\n"):
        spoken = ["".join(c for c in word if c in LETTERS) for word in line.lower().split()]
        spoken = [word for word in spoken if word.strip("'")]
        known = sum(word in words for word in spoken)
        if 5 <= len(spoken) <= 25 and known >= 0.9 * len(spoken):
            found.append(spoken)
    return found[:n]


def errors(found: list[str], said: list[str]) -> int:
    """Words to be changed, left out or put in."""
    before = list(range(len(said) + 1))
    for i, word in enumerate(found, 1):
        now = [i]
        for j, wanted in enumerate(said, 1):
            now.append(min(before[j] + 1, now[-1] + 1, before[j - 1] + (word != wanted)))
        before = now
    return before[-1]


def flashlight(words: list[str], binary: str, models: dict[str, str], beam: int) -> Iterator[tuple[str, Decode]]:
    """Flashlight's decoder with KenLM, then with each model."""
    from flashlight.lib.text import decoder as fl
    from flashlight.lib.text.decoder.kenlm import KenLM
    from flashlight.lib.text.dictionary import Dictionary

    from gapgram.adapters.torchaudio import CTCWordModel

    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("\n".join(words))
        file.flush()
        dictionary = Dictionary(file.name)
    made: dict[str, Callable[[], Any]] = {PEER: partial(KenLM, binary, dictionary)}
    made |= {name: partial(CTCWordModel, path, words, one_decoder=True) for name, path in models.items()}
    options = fl.LexiconDecoderOptions(
        beam_size=beam, beam_size_token=BLANK + 1, beam_threshold=25 if beam <= 50 else 100, lm_weight=3.0,
        word_score=0.0, unk_score=-np.inf, sil_score=0.0, log_add=False, criterion_type=fl.CriterionType.CTC,
    )  # fmt: skip
    for name, make in made.items():
        lm = make()
        trie, start = fl.Trie(BLANK + 1, 0), lm.start(False)
        for i, word in enumerate(words):
            trie.insert([LETTERS.index(c) for c in f"{word} "], i, lm.score(start, i)[1])
        trie.smear(fl.SmearingMode.MAX)
        search = fl.LexiconDecoder(options, trie, lm, 0, BLANK, -1, [], False)

        def decode(scores: Any, search: Any = search, lm: Any = lm) -> list[str]:
            best = search.decode(scores.ctypes.data, *scores.shape)[0]
            return [words[i] for i in best.words if i >= 0]

        yield name, decode


def pyctcdecode(words: list[str], binary: str, models: dict[str, str], beam: int) -> Iterator[tuple[str, Decode]]:
    """pyctcdecode's decoder with KenLM's module, then ours."""
    import pyctcdecode as peer

    from gapgram.adapters import pyctcdecode as ours

    makers: dict[str, tuple[Any, str]] = {PEER: (peer, binary)} | {name: (ours, path) for name, path in models.items()}
    for name, (package, path) in makers.items():
        search = package.build_ctcdecoder([*LETTERS, ""], path, words, alpha=0.7, beta=1.5)

        def decode(scores: Any, search: Any = search) -> list[str]:
            found: str = search.decode(scores, beam_width=beam)
            return found.split()

        yield name, decode


def measured(decoders: dict[str, Decode], sounds: list[Any]) -> dict[str, tuple[list[list[str]], float]]:
    """By name (what was heard, seconds of processor time).

    Each sound is heard once by each, so that nothing is remembered, and by all in turn: machines are faster at times.
    """
    found: dict[str, list[list[str]]] = {name: [] for name in decoders}
    seconds = dict.fromkeys(decoders, 0.0)
    for sound in sounds:
        for name, decode in decoders.items():
            began = time.process_time()
            found[name].append(decode(sound))
            seconds[name] += time.process_time() - began
    return {name: (found[name], seconds[name]) for name in decoders}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("text")
    arguments.add_argument("kenlm_binary")
    arguments.add_argument("models", nargs="+", metavar="NAME=MODEL")
    arguments.add_argument("--lexicon", required=True, help="file of words, one a line")
    arguments.add_argument("--sentences", type=int, default=40)
    arguments.add_argument("--beam", type=int, default=50)
    arguments.add_argument("--noise", type=float, default=2.8)
    arguments.add_argument("--decoders", default="flashlight,pyctcdecode")
    arguments.add_argument("--json", action="store_true")
    given = arguments.parse_args()
    words = Path(given.lexicon).read_text(encoding="utf-8").split()
    models = dict(one.split("=", 1) for one in given.models)
    said, draw = sentences(given.text, set(words), given.sentences + 1), np.random.default_rng(1)
    first, *sounds = [heard(" ".join(one), given.noise, draw) for one in said]
    del said[0]  # it is heard before anything is measured: kernels are loaded then
    n = sum(map(len, said))
    rows = []
    for decoders in [one for one in (flashlight, pyctcdecode) if one.__name__ in given.decoders.split(",")]:
        try:
            made = dict(decoders(words, given.kenlm_binary, models, given.beam))
        except ImportError as error:
            print(f"{decoders.__name__} is left out: {error}", file=sys.stderr)
            continue
        for decode in made.values():
            decode(first)
        results = measured(made, sounds)
        expected, least = results[PEER]
        for name, (found, seconds) in results.items():
            wrong = sum(errors(one, spoken) for one, spoken in zip(found, said, strict=True))
            same = sum(one == other for one, other in zip(found, expected, strict=True))
            rows.append((decoders.__name__, name, 100 * wrong / n, same, n / seconds, least / seconds))
    if given.json:
        print(json.dumps([dict(zip(TITLES, row, strict=True)) for row in rows], indent=2))
        return
    print(f"{len(said)} sentences, {n} words, beam {given.beam}, noise {given.noise}")
    print(table(TITLES, [[d, m, f"{w:.1f}", str(s), f"{v:.0f}", f"{r:.2f}"] for d, m, w, s, v, r in rows]))


TITLES = ["decoder", "model", "word errors, %", "transcripts as KenLM's", "words/s", "relative"]

if __name__ == "__main__":
    main()
