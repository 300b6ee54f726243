"""How long a recogniser waits for the scores of all labels on a card, beside NVIDIA NeMo's NGPU-LM.

    NEMO=CHECKOUT python benchmarks/fusion.py TEXT MODEL … [--ngpu FILE …]

MODEL: trained with a tokeniser. FILE: an ARPA file that `gapgram arpa --encoding nemo` wrote, or what `gapgram convert
-o lm.nemo` did, read by the files of NeMo in CHECKOUT, as they are; what they import and do not need here is made up.
Called: many calls one after the other, the card waited for at the end. Replayed: a CUDA graph of one call, likewise.
Needs PyTorch, CuPy and a card. `docs/measured/card.md` says what came of it.
"""

from __future__ import annotations

import argparse
import os
import sys
import tarfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

import gapgram
from gapgram.adapters.nemo import FusionModel

CALLS, ROUNDS = 300, 5
BATCHES = (1, 32, 256, 2048)


def ngpu_class(checkout: str) -> Any:
    """NeMo's `NGramGPULanguageModel`, from its own file."""
    import torch

    parts = "nemo", "nemo.core", "nemo.core.utils", "nemo.core.utils.optional_libs", "nemo.utils", "nemo.collections", (
        "nemo.collections.common"
    ), "nemo.collections.common.parts", "lightning", "lightning.pytorch", "omegaconf"
    for name in parts:
        if name not in sys.modules:
            sys.modules[name] = ModuleType(name)
            sys.modules[name].__path__ = [str(Path(checkout, *name.split(".")))]

    class ModelPT(torch.nn.Module):  # type: ignore[misc, unused-ignore]
        def __init__(self, cfg: Any, trainer: Any = None) -> None:
            super().__init__()

        @classmethod
        def restore_from(cls, restore_path: str, map_location: str) -> Any:
            with tarfile.open(restore_path) as archive:
                lines = archive.extractfile("./model_config.yaml").read().decode().splitlines()  # type: ignore[union-attr]
                numbers = dict(line.split(": ") for line in lines)
                config = {name: int(numbers[name]) for name in ("num_states", "num_arcs", "max_order", "vocab_size")}
                model = cls(SimpleNamespace(**config, separate_bos_state=True, use_triton=None))
                weights = torch.load(archive.extractfile("./model_weights.ckpt"), map_location=map_location)
                model.load_state_dict(weights)
            return model

    def structured(config: Any) -> Any:
        return config

    made: dict[str, dict[str, Any]] = {
        "nemo.core": {"ModelPT": ModelPT, "PretrainedModelInfo": object},
        "nemo.core.utils.optional_libs": {
            "KENLM_AVAILABLE": False, "TRITON_AVAILABLE": torch.cuda.is_available(),
            "kenlm_required": lambda f: f, "triton_required": lambda f: f,
        },
        "nemo.utils": {"logging": __import__("logging")},
        "nemo.collections.common.parts": {"NEG_INF": float("-inf")},
        "lightning.pytorch": {"Trainer": object},
        "omegaconf": {"MISSING": 0, "DictConfig": dict, "OmegaConf": type("OmegaConf", (), {"structured": structured})},
    }  # fmt: skip
    for name, values in made.items():
        for key, value in values.items():
            setattr(sys.modules[name], key, value)
    sys.modules["omegaconf"].OmegaConf.structured = staticmethod(structured)
    for name in ("nemo.collections.asr", "nemo.collections.asr.parts", "nemo.collections.asr.parts.submodules"):
        sys.modules[name] = ModuleType(name)
        sys.modules[name].__path__ = [str(Path(checkout, *name.split(".")))]
    from importlib import import_module

    return import_module("nemo.collections.asr.parts.submodules.ngram_lm.ngram_lm_batched").NGramGPULanguageModel


def microseconds(work: Callable[[], Any]) -> float:
    """Of one of many calls, the card waited for after all of them; the median of several rounds."""
    import torch

    rounds = []
    for _ in range(20):
        work()
    for _ in range(ROUNDS):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(CALLS):
            work()
        torch.cuda.synchronize()
        rounds.append((time.perf_counter() - begin) / CALLS * 1e6)
    return float(np.median(rounds))


def states_of(fusion: Any, histories: Any) -> Any:
    """The states after rows of labels, found as a decoder finds them."""
    import torch

    states = fusion.get_init_states(len(histories), True)
    for column in torch.from_numpy(histories).to("cuda").T:
        states = fusion.advance(states)[1].gather(1, column[:, None]).squeeze(1)
    return states


def measure(name: str, fusion: Any, histories: Any) -> None:
    """Print the times of one model."""
    import torch

    for n in BATCHES:
        states = states_of(fusion, histories[:n])
        called = microseconds(partial(fusion.advance, states))
        plain = fusion.advance(states)[0].clone()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            recorded, _ = fusion.advance(states)
        graph.replay()
        same = torch.equal(recorded, plain)
        replayed = microseconds(graph.replay)
        print(f"{name:<36}{n:>6} states{called:>9.1f} µs called{replayed:>8.1f} replayed, bits equal: {same}")


def main() -> None:
    """Measure models."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("text")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--ngpu", nargs="*", default=[])
    options = parser.parse_args()
    import torch

    if not torch.cuda.is_available():
        sys.exit("PyTorch sees no card here")
    fusion = {}
    for path in options.models:
        begin = time.perf_counter()
        fusion[path] = FusionModel(path).to("cuda")
        fusion[path].advance(fusion[path].get_init_states(1))
        torch.cuda.synchronize()
        print(f"{path}: from the file to the first step {time.perf_counter() - begin:.2f} s; {gapgram.load(path)!r}")
    own: Any = next(iter(fusion.values()))
    tokens = own.model.tokeniser.engine.ids
    with open(options.text, encoding="utf-8") as file:
        ids = [tokens[t] for line in file for t in own.model.tokens(line.rstrip("\n"))]
    step = max(len(ids) // (max(BATCHES) + 1), 1)
    histories = np.lib.stride_tricks.sliding_window_view(np.array(ids), 5)[::step].copy()
    for path, model in fusion.items():
        measure(path, model, histories)
    if options.ngpu and "NEMO" not in os.environ:
        print("NGPU-LM is not measured: the variable NEMO names no checkout of NeMo")
        return
    for path in options.ngpu:
        begin = time.perf_counter()
        theirs = ngpu_class(os.environ["NEMO"]).from_file(path, vocab_size=own.vocab_size).to("cuda").eval()
        theirs.advance(theirs.get_init_states(1))
        torch.cuda.synchronize()
        print(f"{path}: NGPU-LM from the file to the first step {time.perf_counter() - begin:.2f} s")
        with torch.no_grad():
            measure(f"NGPU-LM {path}", theirs, histories)


if __name__ == "__main__":
    main()
