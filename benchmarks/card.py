"""How fast models are scored on a graphics card, beside the CPU.

    python benchmarks/card.py TRAIN TEST [--model mkn|glm] [--weights …]

trains a model (or opens one: `--open MODEL`), and scores TEST: word ids that lie on the card, ids from the CPU and
back, raw bytes to scores, batches of states one word at a time, and all next words of a batch. Needs the extra `cuda`
and a card; without one it says so. `docs/measured/card.md` says what came of it.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import numpy as np

import gapgram
from gapgram.cuda.card import find_card
from gapgram.cuda.model import CardModel
from gapgram.errors import DeviceError
from gapgram.text.corpus import encode_block, sentence_begins
from gapgram.text.files import Block, blocks_of_files

TIMES = 5


def seconds(work: Callable[[], Any], cuda: Any, times: int = TIMES) -> float:
    """The least of several runs by the clock, the card waited for; the first, which compiles, is left out."""
    work()
    best = float("inf")
    for _ in range(times):
        cuda.synchronize()
        begin = time.perf_counter()
        work()
        cuda.synchronize()
        best = min(best, time.perf_counter() - begin)
    return best


def rate(title: str, n: int, taken: float) -> None:
    """Print how many words a second that is."""
    print(f"{title:<44}{taken * 1e3:>10.2f} ms{n / taken / 1e6:>10.1f} M words/s", flush=True)


def measure(model: gapgram.Model, test: str, cuda: Any) -> None:
    """Print all rates of one model."""
    import cupy

    card = model.on("cuda")
    assert isinstance(card, CardModel)
    blocks = [encode_block(block, model.vocabulary).ids for block in blocks_of_files(test)]
    ids = np.concatenate(blocks).astype(np.int32)
    begins = sentence_begins(ids)
    starts_here = np.zeros(ids.size, np.uint8)
    starts_here[begins[:-1]] = 1
    print(model.signature)
    theirs = model.score_ids(ids, begins)
    print(f"largest difference to the CPU: {np.abs(card.score_ids(ids, begins) - theirs).max():.1e} of log10")
    rate("CPU, ids, all cores", ids.size, seconds(lambda: model.score_ids(ids, begins), cuda, 2))
    held, flags = cuda.to_device(ids), cuda.to_device(starts_here)
    rate("card, ids on the card", ids.size, seconds(lambda: card.score_on_card(held, flags), cuda))
    rate("card, ids from the CPU and scores back", ids.size, seconds(lambda: card.score_ids(ids, begins), cuda))
    with open(test, "rb") as file:
        data = Block(test, 1, file.read())
    rate("card, raw bytes to scores", ids.size, seconds(lambda: card.score_block(data), cuda))
    rate("card, perplexity of the file", ids.size, seconds(lambda: card.perplexity(test), cuda, 2))
    for n in (1, 256, 4096, 65536):
        words, states = cupy.asarray(np.resize(ids[ids > 2], n)), card.new_states(n)
        out = cupy.empty(n, np.float64), cupy.empty((n, model.order), np.int32)
        taken = seconds(partial(card.step, states, words, out=out), cuda, 50)
        print(f"step of {n:>6,} states{taken * 1e6:>33.1f} µs{n / taken / 1e6:>10.2f} M words/s", flush=True)
    for n, kind in product((1, 64, 256), (np.float64, np.float32)):
        states, out = card.new_states(n), cupy.empty((n, len(model.vocabulary)), kind)
        taken = seconds(partial(card.next_scores, states, out=out), cuda, 10)
        print(f"all {out.shape[1]:,} next words of {n:>4} states, {out.dtype}{taken * 1e6:>10.1f} µs", flush=True)
    likely = partial(card.likely_words, states, 10)
    print(f"the 10 most probable of {n:>4} states{seconds(likely, cuda, 10) * 1e6:>27.1f} µs", flush=True)


def main() -> None:
    """Measure one model."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("train", nargs="?")
    parser.add_argument("test")
    parser.add_argument("--open", metavar="MODEL")
    parser.add_argument("--model", default="glm")
    parser.add_argument("--weights")
    options = parser.parse_args()
    try:
        cuda = find_card()
    except DeviceError as error:
        sys.exit(str(error))
    kind = {"model": options.model, **({"weights": options.weights} if options.weights else {})}
    model = gapgram.Model.load(options.open) if options.open else gapgram.train(options.train, **kind)
    measure(model, options.test, cuda)


if __name__ == "__main__":
    main()
