"""The decoder for CTC on a card beside itself on the CPU: seconds, word errors, how many texts are the same.

    python -m benchmarks.ctc_card TRAIN TEST [--lines 400000 --sentences 1000 --beam 64 --model mkn]

TRAIN and TEST: text. A model of order 5 is trained on the first lines, and hears made-up recordings of about ten
seconds (`benchmarks.ctc`); words seen three times are known. The logits lie on the card before time is taken. Needs
PyTorch with CUDA, cupy and numba-cuda.
"""

from __future__ import annotations

import argparse
import itertools
import lzma
import time
from collections import Counter

import torch
from benchmarks.ctc import LETTERS, WORDS_ALONE, Labels
from benchmarks.decoders import errors

import gapgram
from gapgram.ctc import Decoder


def plain(path: str, n: int | None) -> list[str]:
    """The first lines of a text, packed or not, in the letters of the labels."""
    kept, out = set(LETTERS), []
    with (lzma.open if path.endswith(".xz") else open)(path, "rt", encoding="utf-8") as lines:
        for line in itertools.islice(lines, n):
            words = ["".join(c for c in word if c in kept) for word in line.lower().split()]
            out.append(" ".join(word for word in words if any(map(str.isalpha, word))))
    return [line for line in out if line]


def main() -> None:
    """Print the figures."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("train")
    arguments.add_argument("test")
    arguments.add_argument("--lines", type=int, default=400_000)
    arguments.add_argument("--sentences", type=int, default=1000)
    arguments.add_argument("--beam", type=int, default=64)
    arguments.add_argument("--model", default="mkn")
    arguments.add_argument("--noise", type=float, default=2.8)
    arguments.add_argument("--device", default="cuda")
    given = arguments.parse_args()
    text, labels = plain(given.train, given.lines), Labels(None)
    counts = Counter(word for line in text for word in line.split())
    words = [word for word, count in counts.items() if count >= 3]
    model = gapgram.train(sentences=text, order=5, model=given.model)
    said = [line.split() for line in plain(given.test, None) if 120 <= len(line) <= 200][: given.sentences]
    sounds = [labels.heard(one, given.noise, i) for i, one in enumerate(said)]
    for name, options in (("as pyctcdecode", {"empty_word": False}), ("known words", WORDS_ALONE)):
        decoder = Decoder(labels.names, model, words=words, beam_width=given.beam, alpha=0.9, **options)
        batched = decoder.on(given.device)
        held = [torch.from_numpy(sound).to(given.device) for sound in sounds]
        batched.decode_many(held[:8])
        for _ in range(2):  # the second time all is warm
            began = time.perf_counter()
            found = batched.decode_many(held)
            seconds = time.perf_counter() - began
        n_same, began = min(len(sounds), 100), time.perf_counter()
        expected = decoder.decode_many(sounds[:n_same])
        on_cpu = (time.perf_counter() - began) * len(sounds) / n_same
        same = sum(map(str.__eq__, found, expected))
        wrong = sum(errors(one.split(), right) for one, right in zip(found, said, strict=True))
        print(
            f"{name}: {len(held)} utterances, {sum(map(len, sounds)):,} frames, beam {given.beam}: {seconds:.2f} s; "
            f"all cores of the CPU about {on_cpu:.1f} s; {100 * wrong / sum(map(len, said)):.2f} % word errors; "
            f"{same} of {n_same} texts those of the CPU"
        )
    if given.device == "cuda":
        print(f"{torch.cuda.get_device_name()}, {torch.cuda.max_memory_allocated() / 1e9:.1f} GB")


if __name__ == "__main__":
    main()
