"""How long a recogniser waits for the scores of all labels on a card, beside NVIDIA NeMo's NGPU-LM.

    NEMO=CHECKOUT python benchmarks/fusion.py TEXT MODEL … [--ngpu FILE …]

MODEL: trained with a tokeniser. FILE: an ARPA file that `gapgram arpa --encoding nemo` wrote, or what `gapgram convert
-o lm.nemo` did, read by the files of NeMo in CHECKOUT, as they are; what they import and do not need here is made up.
Called: many calls one after the other, the card waited for at the end. Replayed: a CUDA graph of one call, likewise.
Needs PyTorch, CuPy and a card. `docs/measured/card.md` says what came of it.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import tarfile
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

import gapgram
from gapgram.adapters.nemo import FusionModel

CALLS, ROUNDS = 300, 5
STREAMS, SEGMENTS = 32, 40  # that listen and learn; segments that each has learned
Model: Any = None  # NeMo's base class, where PyTorch is
BATCHES = (1, 32, 256, 2048)


class Stubs(Loader):
    """What files of NeMo import and do not need here: modules in which every name is an empty class."""

    def __init__(self, checkout: str, real: tuple[str, ...]) -> None:
        self._checkout, self._real = checkout, real

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """A module of NeMo's own, from its file, or a made-up one."""
        if name.split(".")[0] not in ("nemo", "lightning", "omegaconf"):
            return None
        file = Path(self._checkout, *name.split(".")).with_suffix(".py")
        if name in self._real:
            return spec_from_file_location(name, file)
        return ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: Any) -> ModuleType:
        """An empty module, but for a few values that are read."""
        import torch

        module = Stub(spec.name)
        module.__path__ = []
        for name, value in {
            "ModelPT": Model, "NEG_INF": float("-inf"), "KENLM_AVAILABLE": False,
            "TRITON_AVAILABLE": torch.cuda.is_available(), "CUDA_PYTHON_AVAILABLE": torch.cuda.is_available(),
            "logging": logging, "MISSING": 0, "kenlm_required": same, "triton_required": same,
            "cuda_python_required": same,
        }.items():  # fmt: skip
            setattr(module, name, value)
        module.OmegaConf.structured = staticmethod(same)
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is run."""


class Stub(ModuleType):
    """A module that has every name."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        setattr(self, name, type(name, (), {}))
        return getattr(self, name)


def same(given: Any) -> Any:
    """What is given."""
    return given


def _model_class() -> Any:
    import torch

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

    return ModelPT


_PARTS = "nemo.collections.asr.parts"
_LM = f"{_PARTS}.submodules.ngram_lm"
NGPU = (f"{_LM}.constants", f"{_LM}.ngram_lm_batched", f"{_LM}.ngram_lm_triton")
BEAM = (
    f"{_PARTS}.submodules.ctc_batched_beam_decoding", f"{_PARTS}.utils.batched_beam_decoding_utils", "nemo.utils.enum",
    "nemo.collections.common.parts.optional_cuda_graphs", "nemo.core.utils.cuda_python_utils",
)  # fmt: skip


def of_nemo(checkout: str) -> tuple[Any, Any]:
    """NeMo's `NGramGPULanguageModel` and `BatchedBeamCTCComputer`, from their own files, as they are."""
    global Model
    Model = _model_class()
    if not any(isinstance(finder, Stubs) for finder in sys.meta_path):
        sys.meta_path.insert(0, Stubs(checkout, NGPU + BEAM))
    return import_module(NGPU[1]).NGramGPULanguageModel, import_module(BEAM[0]).BatchedBeamCTCComputer


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


def measure_sessions(path: str, histories: Any) -> None:
    """Print what it costs that each of some streams has learned, and what learning a segment takes."""
    import torch

    plain, learning = FusionModel(path).to("cuda"), FusionModel(path, streams=STREAMS).to("cuda")
    states = states_of(plain, histories[:STREAMS])
    segments = np.resize(histories, (STREAMS, SEGMENTS, 25))
    taken = []
    for stream in range(STREAMS):
        for segment in segments[stream]:
            torch.cuda.synchronize()
            begin = time.perf_counter()
            learning.learn(stream, segment)
            torch.cuda.synchronize()
            taken.append(time.perf_counter() - begin)
    for n in (1, 8):
        many = states.repeat_interleave(n)
        for name, fusion in (("static", plain), ("sessions", learning)):
            fusion.advance(many)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                fusion.advance(many)
            called, replayed = microseconds(partial(fusion.advance, many)), microseconds(graph.replay)
            print(f"{path}: {len(many):>4} states, {name:<9}{called:>7.1f} µs called{replayed:>7.1f} replayed")
    print(f"learn: {np.median(taken) * 1e3:.2f} ms a segment of 25 labels, of {SEGMENTS} segments in a stream")


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
    measure_sessions(options.models[-1], histories)
    if options.ngpu and "NEMO" not in os.environ:
        print("NGPU-LM is not measured: the variable NEMO names no checkout of NeMo")
        return
    for path in options.ngpu:
        begin = time.perf_counter()
        theirs = of_nemo(os.environ["NEMO"])[0].from_file(path, vocab_size=own.vocab_size).to("cuda").eval()
        theirs.advance(theirs.get_init_states(1))
        torch.cuda.synchronize()
        print(f"{path}: NGPU-LM from the file to the first step {time.perf_counter() - begin:.2f} s")
        with torch.no_grad():
            measure(f"NGPU-LM {path}", theirs, histories)


if __name__ == "__main__":
    main()
