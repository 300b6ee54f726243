"""The decoder for CTC beside pyctcdecode and flashlight: one KenLM model, made-up recordings, one process.

    python -m benchmarks.ctc TEXT KENLM NAME=MODEL … --lexicon WORDS [--pieces SPM] [--channel] [--sentences 200]

TEXT: held-out sentences. KENLM: an ARPA or binary file for KenLM; gapgram decodes with it, too, and with each MODEL.
Labels are 32 characters, or SentencePiece's (`--pieces`). A recording has for each label two frames with noise and a
blank; or the labels go through the channel of confusions of `benchmarks.channel`, which needs PyTorch (`--channel`).
The weights of each kind of search are the best of a small grid on the first sentences (`--tune`), found with its first
model, pyctcdecode's with our search of the same texts; all else is of those after the ones left out (`--skip`). Times
are of processor time, each sentence decoded by all in turn. Needs pyctcdecode and kenlm, and flashlight-text, for the
peers that are asked for.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.decoders import errors

import gapgram
from gapgram.ctc import Decoder
from gapgram.reporting.tables import table

LETTERS = [*" abcdefghijklmnopqrstuvwxyz'-.é"]
PEER = "pyctcdecode, KenLM"
N_HOT, CHUNK, N_SCORED = 200, 20, 20
UNHEARD = -40.0  # no recogniser says the unknown piece, after which pyctcdecode ends a word of any other beam
LN10 = float(np.log(10))
WORDS_ALONE: dict[str, Any] = {"unknown": None, "token_prune": -10.0}
KINDS: dict[str, dict[str, Any]] = {
    "as pyctcdecode": {"empty_word": True},
    "unsure": {"token_prune": -10.0, "ahead": True},
    "known words": WORDS_ALONE,
    "known words (wide)": {**WORDS_ALONE, "beam_prune": -25.0},  # flashlight's threshold
}
WEIGHTS: dict[str, Any] = {"alpha": (0.6, 0.9, 1.2), "beta": (0.0, 1.5)}
GRIDS = {
    "as pyctcdecode": {**WEIGHTS, "unknown": (-10.0, -20.0)},
    "flashlight": {**WEIGHTS, "log_add": (False, True)},
    "unsure": {**WEIGHTS, "unknown": (-10.0, -20.0)},
    "known words": WEIGHTS,
    "known words (wide)": WEIGHTS,
}

Decode = Callable[[Any], list[str]]
Make = Callable[..., Decode]  # of alpha, beta and what else is tuned


class Labels:
    """The labels of a recogniser, and what it hears of a sentence."""

    def __init__(self, pieces: str | None, *, confused: bool = False) -> None:
        self._pieces = None
        if pieces is not None:
            import sentencepiece

            self._pieces = sentencepiece.SentencePieceProcessor(model_file=pieces)
            self.names = [self._pieces.id_to_piece(i).replace("<unk>", "▁⁇▁") for i in range(len(self._pieces))] + [""]
        else:
            self.names = [*LETTERS, ""]
        self.blank = len(self.names) - 1
        self._channel = import_module("benchmarks.channel").Channel(self.blank) if confused else None

    def spelled(self, word: str) -> list[int]:
        """The labels of a word."""
        found: list[int] = self._pieces.encode(word) if self._pieces else [LETTERS.index(c) for c in f"{word} "]
        return found

    def heard(self, words: list[str], noise: float, seed: int) -> Any:
        """[frame, label]: log probabilities of words spoken with noise, or heard through the channel."""
        labels = self._pieces.encode(" ".join(words)) if self._pieces else [i for w in words for i in self.spelled(w)]
        if self._channel:
            return self._channel(labels, seed, "cpu").numpy()
        frames = [frame for label in labels for frame in (label, label, self.blank)]
        scores = np.random.default_rng(seed).normal(0, noise, (len(frames), len(self.names)))
        if self._pieces:
            scores[:, self._pieces.unk_id()] = UNHEARD
        scores[np.arange(len(frames)), frames] += 8.0
        return (scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))).astype(np.float32)


def sentences(path: str, words: set[str]) -> list[list[str]]:
    """Sentences of about ten seconds of which at most a tenth of the words is unknown."""
    lines = [line.split() for line in Path(path).read_text(encoding="utf-8").split("\n") if 120 <= len(line) <= 200]
    return [words_of for words_of in lines if sum(word in words for word in words_of) >= 0.9 * len(words_of)]


def pyctcdecode(labels: Labels, words: list[str], path: str, beam: int) -> Make:
    """pyctcdecode's decoder with KenLM."""
    import kenlm
    from pyctcdecode import Alphabet, BeamSearchDecoderCTC, LanguageModel

    search = BeamSearchDecoderCTC(Alphabet.build_alphabet(labels.names), LanguageModel(kenlm.Model(path), words))

    def make(alpha: float, beta: float, unknown: float) -> Decode:
        def decode(scores: Any) -> list[str]:
            search.reset_params(alpha=alpha, beta=beta, unk_score_offset=unknown)
            text: str = search.decode(scores, beam_width=beam)
            return text.split()

        return decode

    make.search = search  # type: ignore[attr-defined]
    return make


def flashlight(labels: Labels, words: list[str], path: str, beam: int) -> Make:
    """flashlight's decoder of known words with KenLM."""
    from flashlight.lib.text import decoder as fl
    from flashlight.lib.text.decoder.kenlm import KenLM
    from flashlight.lib.text.dictionary import Dictionary

    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("\n".join(words))
        file.flush()
        lm = KenLM(path, Dictionary(file.name))
    trie, start = fl.Trie(len(labels.names), 0), lm.start(False)
    for i, word in enumerate(words):
        trie.insert(labels.spelled(word), i, lm.score(start, i)[1])
    trie.smear(fl.SmearingMode.MAX)
    silence = 0 if labels.names[0] == " " else labels.blank

    def make(alpha: float, beta: float, log_add: bool) -> Decode:
        options = fl.LexiconDecoderOptions(
            beam_size=beam, beam_size_token=min(len(labels.names), 100), beam_threshold=25, lm_weight=alpha * LN10,
            word_score=beta, unk_score=-np.inf, sil_score=0.0, log_add=log_add, criterion_type=fl.CriterionType.CTC,
        )  # fmt: skip
        search = fl.LexiconDecoder(options, trie, lm, silence, labels.blank, -1, [], False)

        def decode(scores: Any) -> list[str]:
            best = search.decode(scores.ctypes.data, *scores.shape)[0]
            return [words[i] for i in best.words if i >= 0]

        return decode

    return make


def ours(decoder: Decoder) -> Make:
    """gapgram's decoder."""

    def make(**options: Any) -> Decode:
        return lambda scores: decoder.decode(scores, **options).split()

    make.decoder = decoder  # type: ignore[attr-defined]
    return make


def tuned(make: Make, grid: dict[str, Any], sounds: list[Any], said: list[list[str]]) -> dict[str, Any]:
    """What of the grid makes the fewest errors."""
    best: dict[str, Any] = {}
    fewest = np.inf
    for values in itertools.product(*grid.values()):
        chosen = dict(zip(grid, values, strict=True))
        decode = make(**chosen)
        wrong = sum(errors(decode(sound), spoken) for sound, spoken in zip(sounds, said, strict=True))
        best, fewest = (chosen, wrong) if wrong < fewest else (best, fewest)
    return best


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
    search.reset_params(alpha=0.5, beta=1.5, unk_score_offset=-10.0)
    for sound in sounds:
        theirs = search.decode_beams(sound, beam_width=beam, prune_history=True)[0]
        best = decoder.decode_beams(sound, beam_width=beam, distinct=True, alpha=0.5, beta=1.5, empty_word=True)[0]
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


def makers(given: argparse.Namespace, labels: Labels, words: list[str]) -> dict[tuple[str, str], Make]:
    """Each decoder by its name and the kind of its search."""
    out: dict[tuple[str, str], Make] = {}
    if "pyctcdecode" in given.peers:
        out[PEER, "as pyctcdecode"] = pyctcdecode(labels, words, given.kenlm, given.beam)
    if "flashlight" in given.peers:
        out["flashlight, KenLM", "flashlight"] = flashlight(labels, words, given.kenlm, given.beam)
    for name, path in {"KenLM's": given.kenlm, **dict(one.split("=", 1) for one in given.models)}.items():
        model = gapgram.load(path)
        for kind, options in KINDS.items():
            if kind in given.kinds:
                decoder = Decoder(labels.names, model, words=words, beam_width=given.beam, unit="word", **options)
                out[f"{name}, {kind}", kind] = ours(decoder)
    return out


def main() -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("text")
    arguments.add_argument("kenlm")
    arguments.add_argument("models", nargs="*")
    arguments.add_argument("--lexicon", required=True)
    arguments.add_argument("--pieces", help="a model of SentencePiece")
    arguments.add_argument("--channel", action="store_true")
    arguments.add_argument("--tune", type=int, default=20)
    arguments.add_argument("--skip", type=int, default=0)
    arguments.add_argument("--sentences", type=int, default=60)
    arguments.add_argument("--beam", type=int, default=100)
    arguments.add_argument("--noise", type=float, default=2.8)
    arguments.add_argument("--peers", default="pyctcdecode,flashlight")
    arguments.add_argument("--kinds", default=",".join(KINDS))
    arguments.add_argument("--weights", help="JSON of the weights of each decoder: read, or written if absent")
    arguments.add_argument("--json", action="store_true")
    given = arguments.parse_args()
    labels = Labels(given.pieces, confused=given.channel)
    words = [word for word in Path(given.lexicon).read_text(encoding="utf-8").split() if set(word) <= set(LETTERS)]
    said = sentences(given.text, set(words))
    begin = given.tune + given.skip
    wanted = range(begin + given.sentences)
    sounds = [labels.heard(one, given.noise, i) for i, one in zip(wanted, said, strict=False)]
    made, file = makers(given, labels, words), Path(given.weights or "/nowhere")
    weights: dict[str, dict[str, Any]] = json.loads(file.read_text()) if file.exists() else {}
    for (_, kind), make in reversed(made.items()):  # ours before the peers, of which one makes the same texts
        own = [make for (_, other), make in made.items() if other == kind and hasattr(make, "decoder")]
        if kind not in weights:
            weights[kind] = tuned((own or [make])[0], GRIDS[kind], sounds[: given.tune], said[: given.tune])
    if given.weights:
        file.write_text(json.dumps(weights))
    sounds, said = sounds[begin : begin + given.sentences], said[begin : begin + given.sentences]
    results = measured({name: make(**weights[kind]) for (name, kind), make in made.items()}, sounds)
    report(results, {name: weights[kind] for name, kind in made}, sounds, said, as_json=given.json)
    as_theirs = {name: make.decoder for (name, kind), make in made.items() if hasattr(make, "decoder")}
    if "pyctcdecode" in given.peers and "as pyctcdecode" in given.kinds:
        search = made[PEER, "as pyctcdecode"].search  # type: ignore[attr-defined]
        print(same_scores(search, next(iter(as_theirs.values())), sounds[:N_SCORED], given.beam))
        first = next(name for name in results if name.endswith("as pyctcdecode"))
        n_same = sum(map(list.__eq__, results[PEER][0], results[first][0]))
        print(f"{first}: {n_same} of {len(sounds)} texts are pyctcdecode's")
    for name, decoder in as_theirs.items() if not given.json else ():
        print(f"{name}: {extras(decoder, sounds[:30], words, given.beam)}")


def report(
    results: dict[str, Any], weights: dict[str, Any], sounds: list[Any], said: list[list[str]], *, as_json: bool
) -> None:
    """Print word errors and times."""
    wrong = {
        name: sum(errors(one, right) for one, right in zip(found, said, strict=True))
        for name, (found, _) in results.items()
    }
    spoken, frames = sum(map(len, said)), sum(map(len, sounds))
    if as_json:
        sums = {name: [wrong[name], seconds] for name, (_, seconds) in results.items()}
        print(json.dumps({"sentences": len(said), "words": spoken, "frames": frames, "sums": sums}))
        return
    slowest = results[PEER][1] if PEER in results else float("nan")
    rows = [
        [name, " ".join(map(str, weights[name].values())), f"{100 * wrong[name] / spoken:.2f} %",
         f"{1e6 * seconds / frames:.1f}", f"{slowest / seconds:.1f}"]
        for name, (_, seconds) in results.items()
    ]  # fmt: skip
    print(table(["decoder", "weights", "word errors", "µs a frame", "times pyctcdecode"], rows))
    print(f"{len(said)} sentences, {spoken} words, {frames} frames", file=sys.stderr)


if __name__ == "__main__":
    main()
