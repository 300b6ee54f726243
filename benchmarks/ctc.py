"""The decoder for CTC beside pyctcdecode and flashlight: one KenLM model, made-up recordings, one process.

    python -m benchmarks.ctc TEXT KENLM NAME=MODEL … --lexicon WORDS [--sentences 60] [--beam 100] [--noise 2.8]

TEXT: held-out sentences. KENLM: an ARPA or binary file for KenLM; gapgram decodes with it, too, and with each MODEL.
The weights of each are the best of a small grid on the first third of the sentences; all else is of the rest. Times are
of processor time, each sentence decoded by all in turn. Needs pyctcdecode and kenlm, and flashlight-text, for the peers
that are asked for.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.decoders import BLANK, LETTERS, errors, heard, sentences

import gapgram
from gapgram.ctc import Decoder
from gapgram.reporting.tables import table

LABELS = [*LETTERS, ""]
GRID = list(itertools.product((0.6, 0.9, 1.3), (0.0, 1.5)))  # alpha, beta
PEER = "pyctcdecode, KenLM"
N_HOT, CHUNK = 200, 20
LN10 = float(np.log(10))

Decode = Callable[[Any], list[str]]
Make = Callable[[float, float], Decode]  # of alpha and beta


def pyctcdecode(words: list[str], path: str, beam: int) -> Make:
    """pyctcdecode's decoder with KenLM."""
    import kenlm
    from pyctcdecode import Alphabet, BeamSearchDecoderCTC, LanguageModel

    search = BeamSearchDecoderCTC(Alphabet.build_alphabet(LABELS), LanguageModel(kenlm.Model(path), words))

    def make(alpha: float, beta: float) -> Decode:
        def decode(scores: Any) -> list[str]:
            search.reset_params(alpha=alpha, beta=beta)
            text: str = search.decode(scores, beam_width=beam)
            return text.split()

        return decode

    make.search = search  # type: ignore[attr-defined]
    return make


def flashlight(words: list[str], path: str, beam: int) -> Make:
    """flashlight's decoder of known words with KenLM."""
    from flashlight.lib.text import decoder as fl
    from flashlight.lib.text.decoder.kenlm import KenLM
    from flashlight.lib.text.dictionary import Dictionary

    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("\n".join(words))
        file.flush()
        lm = KenLM(path, Dictionary(file.name))
    trie, start = fl.Trie(BLANK + 1, 0), lm.start(False)
    for i, word in enumerate(words):
        trie.insert([LETTERS.index(c) for c in f"{word} "], i, lm.score(start, i)[1])
    trie.smear(fl.SmearingMode.MAX)

    def make(alpha: float, beta: float) -> Decode:
        options = fl.LexiconDecoderOptions(
            beam_size=beam, beam_size_token=BLANK + 1, beam_threshold=25, lm_weight=alpha * LN10, word_score=beta,
            unk_score=-np.inf, sil_score=0.0, log_add=False, criterion_type=fl.CriterionType.CTC,
        )  # fmt: skip
        search = fl.LexiconDecoder(options, trie, lm, 0, BLANK, -1, [], False)

        def decode(scores: Any) -> list[str]:
            best = search.decode(scores.ctypes.data, *scores.shape)[0]
            return [words[i] for i in best.words if i >= 0]

        return decode

    return make


def ours(decoder: Decoder) -> Make:
    """gapgram's decoder."""
    return lambda alpha, beta: lambda scores: decoder.decode(scores, alpha=alpha, beta=beta).split()


def tuned(make: Make, sounds: list[Any], said: list[list[str]]) -> tuple[float, float]:
    """The alpha and beta of the grid with the fewest errors."""
    wrong = []
    for weights in GRID:
        decode = make(*weights)
        wrong.append(sum(errors(decode(sound), spoken) for sound, spoken in zip(sounds, said, strict=True)))
    return GRID[int(np.argmin(wrong))]


def measured(decoders: dict[str, Decode], sounds: list[Any]) -> dict[str, tuple[list[list[str]], float]]:
    """By name (what was heard, seconds of processor time), all in turn."""
    found: dict[str, list[list[str]]] = {name: [] for name in decoders}
    seconds = dict.fromkeys(decoders, 0.0)
    for decode in decoders.values():
        decode(sounds[0])
    for sound in sounds:
        for name, decode in decoders.items():
            began = time.process_time()
            found[name].append(decode(sound))
            seconds[name] += time.process_time() - began
    return {name: (found[name], seconds[name]) for name in decoders}


def same_scores(search: Any, decoder: Decoder, sounds: list[Any], beam: int) -> str:
    """How often pyctcdecode's best text and score are found."""
    n_same, largest = 0, 0.0
    search.reset_params(alpha=0.5, beta=1.5)
    for sound in sounds:
        theirs = search.decode_beams(sound, beam_width=beam, prune_history=True)[0]
        best = decoder.decode_beams(sound, beam_width=beam, distinct=True, alpha=0.5, beta=1.5)[0]
        if best.text == theirs[0]:
            n_same += 1
            largest = max(largest, abs(best.total - theirs[4]), abs(best.acoustic - theirs[3]))
    return f"pyctcdecode's best text {n_same} times of {len(sounds)}, scores within {largest:.1e}"


def extras(decoder: Decoder, sounds: list[Any], words: list[str], beam: int) -> str:
    """What hot words and streams take, in the time of neither."""
    hot = words[1000 : 1000 + N_HOT]

    def streamed(sound: Any) -> list[str]:
        stream = decoder.stream(beam_width=beam)
        for at in range(0, len(sound), CHUNK):
            stream.push(sound[at : at + CHUNK])
        return stream.finish().text.split()

    plain: dict[str, Decode] = {
        "plain": lambda sound: decoder.decode(sound, beam_width=beam).split(),
        "hot": lambda sound: decoder.decode(sound, hot, beam_width=beam).split(),
        "stream": streamed,
    }
    seconds = {name: taken for name, (_, taken) in measured(plain, sounds).items()}
    shares = seconds["hot"] / seconds["plain"], seconds["stream"] / seconds["plain"]
    return f"{N_HOT} hot words {shares[0]:.2f} of the time, chunks of {CHUNK} frames {shares[1]:.2f} of one piece"


def main() -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("text")
    arguments.add_argument("kenlm")
    arguments.add_argument("models", nargs="*")
    arguments.add_argument("--lexicon", required=True)
    arguments.add_argument("--sentences", type=int, default=60)
    arguments.add_argument("--beam", type=int, default=100)
    arguments.add_argument("--noise", type=float, default=2.8)
    arguments.add_argument("--peers", default="pyctcdecode,flashlight")
    given = arguments.parse_args()
    words = Path(given.lexicon).read_text(encoding="utf-8").split()
    said, draw = sentences(given.text, set(words), given.sentences), np.random.default_rng(1)
    sounds = [heard(" ".join(one), given.noise, draw) for one in said]
    paths = {"KenLM's": given.kenlm, **dict(one.split("=", 1) for one in given.models)}
    makers: dict[str, Make] = {}
    for name, made in ((PEER, pyctcdecode), ("flashlight, KenLM", flashlight)):
        if name.split(",")[0] in given.peers.split(","):
            makers[name] = made(words, given.kenlm, given.beam)
    decoders = {}
    for name, path in paths.items():
        model = gapgram.load(path)
        decoders[name] = Decoder(LABELS, model, words=words, beam_width=given.beam)
        makers[f"gapgram, {name}"] = ours(decoders[name])
        known = Decoder(LABELS, model, words=words, beam_width=given.beam, unknown=None, ahead=True, token_prune=-10.0)
        makers[f"gapgram, {name}, known words"] = ours(known)
    n = len(sounds) // 3
    weights = {name: tuned(make, sounds[:n], said[:n]) for name, make in makers.items()}
    results = measured({name: make(*weights[name]) for name, make in makers.items()}, sounds[n:])
    slowest = results[PEER][1] if PEER in results else float("nan")
    spoken, frames = sum(map(len, said[n:])), sum(map(len, sounds[n:]))
    rows = []
    for name, (found, seconds) in results.items():
        wrong = sum(errors(one, right) for one, right in zip(found, said[n:], strict=True))
        rows.append([
            name, *map(str, weights[name]), f"{100 * wrong / spoken:.1f} %", f"{1e6 * seconds / frames:.1f}",
            f"{slowest / seconds:.1f}",
        ])  # fmt: skip
    print(table(["decoder", "alpha", "beta", "word errors", "µs a frame", "times pyctcdecode"], rows))
    if PEER in makers:
        print(same_scores(makers[PEER].search, decoders["KenLM's"], sounds, given.beam))  # type: ignore[attr-defined]
    for name, decoder in decoders.items():
        print(f"{name}: {extras(decoder, sounds[n:], words, given.beam)}")
    print(f"{len(said) - n} sentences, {spoken} words, {frames} frames; beam {given.beam}", file=sys.stderr)


if __name__ == "__main__":
    main()
