"""n-best lists of pocketsphinx, with its own model, for `gapgram rescore`: of voices, and of people who were recorded.

    python -m benchmarks.spoken OUT --text TEXT [--sentences 72]     # flite reads held-out sentences
    python -m benchmarks.spoken OUT --recordings FOLDER              # of the package moonshine-voice, its assets

Writes OUT.nbest and OUT.txt, what was said. A recording is cut where it is quiet for a quarter of a second. The first
hypothesis is pocketsphinx's best, whose score is on a scale of its own: it gets the highest of the list and `first=1`.
Needs pocketsphinx, and flite on PATH.
"""

from __future__ import annotations

import argparse
import itertools
import math
import subprocess
import tempfile
import wave
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

RATE, N_BEST, LOOKED_AT = 16000, 100, 300
VOICES = ("slt", "rms", "kal16")
QUIET, PAUSE, SHORTEST = 25.0, 25, 40  # dB below what is loud; frames of 10 ms
SAID = {
    "two_cities.wav": (
        "it was the best of times it was the worst of times", "it was the age of wisdom",
        "it was the age of foolishness", "it was the epoch of belief", "it was the epoch of incredulity",
        "it was the season of light", "it was the season of darkness", "it was the spring of hope",
        "it was the winter of despair", "we had everything before us we had nothing before us",
        "we were all going direct to heaven", "we were all going direct the other way", "in short",
        "the period was so far like the present period",
        "that some of its noisiest authorities insisted on its being received",
        "for good or for evil in the superlative degree of comparison only",
    ),
    "beckett.wav": ("ever tried ever failed", "no matter try again", "fail again fail better"),
}  # fmt: skip


def samples(path: str | Path) -> Any:
    """The sound of a file, 16,000 numbers a second."""
    with wave.open(str(path)) as file:
        held, rate = np.frombuffer(file.readframes(file.getnframes()), np.int16).astype(float), file.getframerate()
    n = len(held) * RATE // rate
    if rate != RATE:  # lower frequencies alone
        held = np.fft.irfft(np.fft.rfft(held)[: n // 2 + 1], n) * (n / len(held))
    return np.clip(held, -32768, 32767).astype(np.int16)


def phrases(sound: Any) -> list[Any]:
    """What is between pauses, with a little of them."""
    frame = RATE // 100
    frames = sound[: len(sound) // frame * frame].reshape(-1, frame).astype(float)
    loudness = 10 * np.log10((frames**2).mean(axis=1) + 1)
    loud = np.flatnonzero(loudness >= np.percentile(loudness, 95) - QUIET)
    parts = np.split(loud, np.flatnonzero(np.diff(loud) > PAUSE) + 1)
    kept = [part for part in parts if part[-1] - part[0] >= SHORTEST]
    return [sound[max(0, (part[0] - 12) * frame) : (part[-1] + 13) * frame] for part in kept]


def spoken(path: str, known: set[str], n: int) -> Iterator[tuple[str, Any]]:
    """Sentences of words that pocketsphinx knows, and how voices of flite say them."""
    lines = (line.split() for line in Path(path).read_text(encoding="utf-8").split("\n"))
    usual = (line for line in lines if 5 <= len(line) <= 14 and all(word in known and word.isalpha() for word in line))
    for i, line in enumerate(itertools.islice(usual, n)):
        with tempfile.NamedTemporaryFile(suffix=".wav") as file:
            subprocess.run(["flite", "-voice", VOICES[i % 3], "-t", " ".join(line), "-o", file.name], check=True)
            yield " ".join(line), samples(file.name)


def recorded(folder: str) -> Iterator[tuple[str, Any]]:
    """The phrases of the recordings."""
    for name, said in SAID.items():
        yield from zip(said, phrases(samples(Path(folder) / name)), strict=True)


def hypotheses(decoder: Any, sound: Any) -> list[tuple[str, float]]:
    """The list of pocketsphinx for a sound, its best first, with natural logarithms."""
    decoder.start_utt()
    decoder.process_raw(sound.tobytes(), full_utt=True)
    decoder.end_utt()
    best, out = decoder.hyp(), dict[str, float]()
    for one in itertools.islice(itertools.takewhile(bool, decoder.nbest()), LOOKED_AT):
        if one.score > 0:
            out.setdefault(one.hypstr, math.log(one.score))
    first = best.hypstr if best else ""
    highest = max(out.values(), default=0.0)
    others = [(text, score) for text, score in out.items() if text != first]
    return [(first, highest), *others][:N_BEST]


def main() -> None:
    """Write the lists."""
    sphinx = import_module("pocketsphinx")
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("out")
    arguments.add_argument("--text")
    arguments.add_argument("--sentences", type=int, default=72)
    arguments.add_argument("--recordings")
    given = arguments.parse_args()
    dictionary = Path(sphinx.get_model_path("en-us/cmudict-en-us.dict")).read_text(encoding="utf-8")
    known = {line.split()[0] for line in dictionary.split("\n") if line}
    decoder = sphinx.Decoder(lm=sphinx.get_model_path("en-us/en-us.lm.bin"), loglevel="FATAL")
    told = recorded(given.recordings) if given.recordings else spoken(given.text, known, given.sentences)
    with open(f"{given.out}.nbest", "w") as lists, open(f"{given.out}.txt", "w") as references:
        for i, (said, sound) in enumerate(told):
            references.write(said + "\n")
            for k, (text, score) in enumerate(hypotheses(decoder, sound)):
                lists.write(f"{i}\tsphinx={score:.6f} first={int(k == 0)}\t{text}\n")


if __name__ == "__main__":
    main()
