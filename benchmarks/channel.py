"""Word errors of a recogniser that is made up, with several language models in NeMo's own beam search of CTC.

    NEMO=CHECKOUT python benchmarks/channel.py TUNING TEST --model MODEL … [--ngpu FILE] [--sessions MODEL] [--lines N]

Pieces of text go through a channel of confusions: each piece is a frame, in which some other pieces sound like it, at
times more so. TUNING and TEST: lines in documents, an empty line between them. 32 documents are heard side by side; an
utterance is a line, in order. The weight of each model is chosen on TUNING. With --sessions each stream learns what was
recognised, never what was said. With --ngpu, NGPU-LM reads a file; scores and transcripts of the first such file are
compared with those of the first MODEL. `docs/measured/card.md` says what came of it.
"""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

import numpy as np
import torch
from benchmarks.fusion import of_nemo

from gapgram.adapters.nemo import FusionModel

STREAMS, BEAM, LABELS_A_LINE = 32, 8, 120
ALPHAS = (0.4, 0.7, 1.0, 1.4)
# Pieces that sound like one, how loud it is, how loud they are, and how that varies
CONFUSED, OWN, OTHER, SPREAD = 12, 7.5, 1.5, 1.9


class Channel:
    """Text to logits: int64 labels to float32 [frame, label and blank] of log probabilities."""

    def __init__(self, n_labels: int, seed: int = 1) -> None:
        self.n_labels = n_labels
        self._alike = np.random.default_rng(seed).integers(0, n_labels, (n_labels, CONFUSED))
        self._heard: dict[tuple[int, ...], Any] = {}

    def __call__(self, labels: Any, seed: int, device: Any) -> Any:
        """What is heard of labels, the same whenever it is asked."""
        key = (seed, *labels)
        if key not in self._heard:
            self._heard[key] = self._logits(labels, seed).to(device)
        return self._heard[key]

    def _logits(self, labels: Any, seed: int) -> Any:
        draw = np.random.default_rng(seed)
        n_frames = 2 * len(labels)
        logits = draw.normal(-1.0, 0.5, (n_frames, self.n_labels + 1))
        logits[1::2, -1] += 9.0  # blanks between all pieces
        for t, label in enumerate(labels):
            own = logits[2 * t]
            own[self._alike[label]] += draw.normal(OTHER, SPREAD, CONFUSED)
            own[label] += draw.normal(OWN, SPREAD)
        logits = torch.from_numpy(1.5 * logits.astype(np.float32))
        return torch.log_softmax(logits, dim=-1)


def streams_of(path: str, model: Any, n_lines: int) -> list[list[list[int] | None]]:
    """For each stream utterances as labels, None where a document ends."""
    ids = model.tokeniser.engine.ids
    streams: list[list[list[int] | None]] = [[] for _ in range(STREAMS)]
    with open(path, encoding="utf-8") as file:
        for document in file.read().split("\n\n"):
            own = min(streams, key=len)
            for line in document.split("\n"):
                labels = [ids[token] for token in model.tokens(line)]
                if 3 <= len(labels) <= LABELS_A_LINE and len(own) < n_lines:
                    own.append(labels)
            own.append(None)
    return streams


def beam_search(computer: Any, batch: list[Any]) -> list[list[int]]:
    """The best labels of each utterance."""
    lengths = torch.tensor([len(each) for each in batch], device=batch[0].device)
    padded = torch.nn.utils.rnn.pad_sequence(batch, batch_first=True)
    with torch.no_grad():
        hyps = computer(padded, lengths)
    hyps.flatten_sort_(score_norm=False)
    return [collapsed(row, computer._blank_index) for row in hyps.transcript_wb[: len(batch), 0].tolist()]


def collapsed(frames: list[int], blank: int) -> list[int]:
    """The labels of frames."""
    return [v for t, v in enumerate(frames) if v not in (blank, -1) and (t == 0 or v != frames[t - 1])]


def distance(a: list[str], b: list[str]) -> int:
    """How many words are to be changed, dropped or added."""
    row = list(range(len(b) + 1))
    for i, word in enumerate(a, 1):
        above, row[0] = row[0], i
        for j, other in enumerate(b, 1):
            above, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, above + (word != other))
    return row[-1]


def word_errors(streams: Any, channel: Channel, model: Any, fusion: Any, alpha: float, computer_class: Any) -> float:
    """The share of words that are wrong; what has streams learns what it hears."""
    learns, device = getattr(fusion, "_sessions", None) is not None, fusion.device
    tokens = {number: token for token, number in model.tokeniser.engine.ids.items()}
    computer = computer_class(
        blank_index=channel.n_labels, beam_size=BEAM, fusion_models=[fusion] if alpha else None,
        fusion_models_alpha=[alpha], allow_cuda_graphs=False,
    )  # fmt: skip
    wrong = words = 0
    for i in range(max(map(len, streams))):
        told = {s: stream[i] for s, stream in enumerate(streams) if i < len(stream)}
        own = [s for s, labels in told.items() if labels is not None]
        if learns:
            begin_streams(fusion, range(STREAMS) if i == 0 else [s for s in told if s not in own], own)
        if not own:
            continue
        batch = [channel(told[s], 1000 * i + s, device) for s in own]
        for s, found in zip(own, beam_search(computer, batch), strict=True):
            said, heard = (model.text_of([tokens[v] for v in labels]).split() for labels in (told[s], found))
            wrong, words = wrong + distance(said, heard), words + len(said)
            if learns and found:
                fusion.learn(s, found)
    return wrong / words


def begin_streams(fusion: Any, ended: Any, heard: list[int]) -> None:
    """Forget documents that have ended; the next batch is of some streams."""
    for stream in ended:
        fusion.forget(stream)
    if heard:
        fusion.assign(heard)


def compare(own: Any, theirs: Any, streams: Any, channel: Channel, computer_class: Any) -> None:
    """Print how far scores of 10,000 random sentences differ, and how many of 1,000 transcripts."""
    draw, device = np.random.default_rng(5), own.device
    labels = torch.from_numpy(draw.integers(0, own.vocab_size, (10_000, 20))).to(device)
    lengths = torch.from_numpy(draw.integers(1, 21, 10_000)).to(device)
    with torch.no_grad():
        ours, others = (each.score_sentences(labels, lengths, True, True) for each in (own, theirs))
    inside = torch.arange(21, device=device) <= lengths[:, None]
    print(f"10,000 random sentences: largest difference of a score {((ours - others) * inside).abs().max():.1e}")
    lines = [line for stream in streams for line in stream if line][:1000]
    heard = [channel(line, i, device) for i, line in enumerate(lines)]
    batches = [heard[a : a + 250] for a in range(0, len(heard), 250)]
    found, taken = [], []
    for fusion, graphs in ((theirs, False), (own, False), (own, True), (theirs, True)):
        computer = computer_class(
            blank_index=channel.n_labels, beam_size=BEAM, fusion_models=[fusion], fusion_models_alpha=[0.5],
            allow_cuda_graphs=graphs,
        )  # fmt: skip
        beam_search(computer, batches[0])
        begin = time.perf_counter()
        found.append([row for batch in batches for row in beam_search(computer, batch)])
        taken.append(f"{time.perf_counter() - begin:.2f} s ({computer.cuda_graphs_mode})")
    for title, rows, seconds in zip(("ours", "ours, graphs", "theirs, graphs"), found[1:], taken[1:], strict=True):
        differ = sum(a != b for a, b in zip(found[0], rows, strict=True))
        print(f"{title}: {differ} of {len(lines)} transcripts differ from {taken[0]}; {seconds}", flush=True)


def main() -> None:
    """Measure models."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("tuning")
    parser.add_argument("test")
    parser.add_argument("--model", action="append", default=[])
    parser.add_argument("--sessions")
    parser.add_argument("--ngpu", action="append", default=[])
    parser.add_argument("--lines", type=int, default=60)
    options = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    ngpu_class, computer_class = of_nemo(os.environ["NEMO"])
    models = {path: FusionModel(path).to(device) for path in options.model}
    own: Any = next(iter(models.values()))
    for path in options.ngpu:
        models[path] = ngpu_class.from_file(path, vocab_size=own.vocab_size).to(device).eval()
        models[path].device = torch.device(device)
    if options.sessions:
        models["sessions"] = FusionModel(options.sessions, streams=STREAMS).to(device)
    channel = Channel(own.vocab_size)
    tuning, test = (streams_of(path, own.model, options.lines) for path in (options.tuning, options.test))
    print(f"{sum(line is not None for stream in test for line in stream)} utterances of {STREAMS} streams", flush=True)
    if options.ngpu:
        compare(own, models.pop(options.ngpu[0]), test, channel, computer_class)
    print(f"no language model: {word_errors(test, channel, own.model, own, 0.0, computer_class):.2%}", flush=True)
    for name, fusion in models.items():
        begin = time.perf_counter()
        tuned = {alpha: word_errors(tuning, channel, own.model, fusion, alpha, computer_class) for alpha in ALPHAS}
        alpha = min(tuned, key=lambda each: tuned[each])
        errors = word_errors(test, channel, own.model, fusion, alpha, computer_class)
        shown = ", ".join(f"{a}: {e:.2%}" for a, e in tuned.items())
        print(f"{name}: {errors:.2%} at alpha {alpha} ({shown}), {time.perf_counter() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main()
