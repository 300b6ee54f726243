"""A recogniser of print with a model of language: PP-OCR's logits of rendered lines, by the decoder for CTC.

    python -m benchmarks.ocr TEXT NAME=MODEL … [--lines 360] [--logits FILE.npz]

TEXT: held-out sentences in the letters of `benchmarks.ctc`; nine words of each are drawn in fonts of the system,
blurred, made small and noisy, and read by the recogniser in the package rapidocr. Weights are tuned on the first third;
figures are of the rest, with bounds of 95 % from drawing lines again. The columns of other letters are left out. Needs
rapidocr, onnxruntime and pillow, or logits that were made before (`--logits`, read if it is there).
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.ctc import LETTERS
from benchmarks.decoders import errors

import gapgram
from gapgram.applications.decoding.tuning import tune_weights
from gapgram.ctc import Decoder
from gapgram.reporting.tables import table

ALPHAS, BETAS = (0.1, 0.2, 0.4, 0.6, 0.9), (0.0, 1.0, 2.0)
OPTIONS: dict[str, Any] = {"token_prune": -10.0, "unknown": -5.0, "ahead": True}
FONTS = "/usr/share/fonts/truetype"


def rendered(lines: list[str]) -> dict[str, Any]:
    """The logits of each line: [frame, letter or blank]."""
    from PIL import Image, ImageDraw, ImageFilter, ImageFont

    path = next((Path(str(import_module("rapidocr").__file__)).parent / "models").glob("*rec*.onnx"))
    session = import_module("onnxruntime").InferenceSession(str(path))
    letters = session.get_modelmeta().custom_metadata_map["character"].splitlines()
    columns = [len(letters) + 1 if letter == " " else letters.index(letter) + 1 for letter in LETTERS] + [0]
    fonts = sorted(str(path) for path in Path(FONTS).rglob("*.ttf") if "Math" not in path.name)
    draw, out = np.random.default_rng(7), {}
    for i, line in enumerate(lines):
        font = ImageFont.truetype(fonts[draw.integers(len(fonts))], 34)
        picture = Image.new("L", (int(font.getlength(line)) + 30, 56), 255)
        ImageDraw.Draw(picture).text((12, 8), line, font=font, fill=int(draw.integers(0, 90)))
        picture = picture.rotate(float(draw.normal(0, 0.5)), fillcolor=255)
        picture = picture.filter(ImageFilter.GaussianBlur(float(draw.uniform(0.8, 2.6))))
        small = picture.resize((int(picture.width * 0.45), int(picture.height * 0.45)))
        gray = np.asarray(small.resize((int(picture.width * 48 / picture.height), 48)), np.float32)
        gray = np.clip(gray + draw.normal(0, float(draw.uniform(20, 60)), gray.shape), 0, 255)
        given = ((gray / 255 - 0.5) / 0.5)[None, None].repeat(3, 1).astype(np.float32)
        probs = session.run(None, {session.get_inputs()[0].name: given})[0][0]
        out[f"line{i:04d}"] = np.log(np.clip(probs[:, columns], 1e-9, 1)).astype(np.float32)
    return out


def greedy(logits: Any) -> str:
    """The most probable label of each frame."""
    best = [*logits.argmax(axis=1).tolist(), -1]
    return "".join(LETTERS[a] for a, b in pairwise(best) if a != b and a < len(LETTERS))


def bounds(wrong: list[int], right: list[int]) -> str:
    """The rate of errors, and its bounds."""
    draw = np.random.default_rng(1).integers(0, len(wrong), (2000, len(wrong)))
    rates = np.array(wrong)[draw].sum(axis=1) / np.array(right)[draw].sum(axis=1)
    low, high = np.percentile(100 * rates, [2.5, 97.5])
    return f"{100 * sum(wrong) / sum(right):.1f} ({low:.1f}–{high:.1f})"


def main() -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("text")
    arguments.add_argument("models", nargs="+")
    arguments.add_argument("--lines", type=int, default=360)
    arguments.add_argument("--logits", default="ocr.npz")
    given = arguments.parse_args()
    sentences = [line.split()[:9] for line in Path(given.text).read_text(encoding="utf-8").split("\n")]
    lines = [" ".join(words) for words in sentences if len(words) == 9][: given.lines]
    if not Path(given.logits).exists():
        np.savez(given.logits, **rendered(lines))
    logits, labels, n = list(np.load(given.logits).values()), [*LETTERS, ""], len(lines) // 3
    found = {"no model, best labels": [greedy(one) for one in logits[n:]]}
    found["no model, beam search"] = Decoder(labels).decode_many(logits[n:], token_prune=-10.0)
    for name, path in (one.split("=", 1) for one in given.models):
        model = gapgram.load(path)
        decoder = Decoder(labels, model, unit="word", **OPTIONS)
        tuned = tune_weights(decoder, logits[:n], lines[:n], alphas=ALPHAS, betas=BETAS)
        weights: dict[str, Any] = {"alpha": tuned.alpha, "beta": tuned.beta}
        print(name, weights, file=sys.stderr)
        found[name] = decoder.decode_many(logits[n:], **weights)
        new = [[word for word in line.split() if word not in model.vocabulary] for line in lines[n:]]
        hot = dict.fromkeys((word for words in new for word in words), 4.0)
        found[f"{name}, {len(hot)} unknown words hot"] = decoder.decode_many(logits[n:], hot, **weights)
        session = model.session()
        with_session = Decoder(labels, session=session, unit="word", **OPTIONS)
        found[f"{name}, session"] = []
        for one, right in zip(logits[n:], lines[n:], strict=True):
            found[f"{name}, session"].append(with_session.decode(one, **weights))
            session.read([right])  # as somebody corrects it
    rows = []
    for name, texts in found.items():
        pairs = list(zip(texts, lines[n:], strict=True))
        letters = [errors(list(one), list(right)) for one, right in pairs]
        words = [errors(one.split(), right.split()) for one, right in pairs]
        characters = bounds(letters, [len(right) for _, right in pairs])
        rows.append([name, characters, bounds(words, [len(right.split()) for _, right in pairs])])
    print(table(["", "character errors, %", "word errors, %"], rows))
    print(f"{len(lines) - n} lines, {sum(len(line.split()) for line in lines[n:])} words", file=sys.stderr)


if __name__ == "__main__":
    main()
