"""The picture of a beam in docs/guide/ctc.md: the hypotheses after each frame of the page's recording.

    python -m docs.site.beam      # writes docs/images/beam.svg
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import gapgram
from gapgram.ctc import Decoder, Hypothesis

LABELS = ["<pad>", "|", "a", "b", "c", "d"]
SAID, AS_CLEAR = [2, 1, 3, 2, 5, 1, 4, 2, 3], {2: 4, 6: 3}  # columns of "a bad cab"; frames in which two are as clear
ROWS, COLUMN, ROW, TOP, LEFT = 5, 112, 40, 58, 18
INK, OURS, LINE = "#1f2328", "#0f8a6d", "#8b949e"


def beams() -> list[list[Hypothesis]]:
    """The best hypotheses after each frame."""
    model = gapgram.train(sentences=["a bad cab", "a bad dad", "add a cab"] * 9, order=3, model="mkn")
    decoder = Decoder(LABELS, model)
    logits = np.log(np.full((len(SAID), len(LABELS)), 0.02))
    logits[np.arange(len(SAID)), SAID] = 0.0
    for frame, column in AS_CLEAR.items():
        logits[frame, column] = 0.3
    return [decoder.decode_beams(logits[:n], boundary=n == len(SAID))[:ROWS] for n in range(1, len(SAID) + 1)]


def drawn(found: list[list[Hypothesis]]) -> str:
    """A column for each frame, the best hypothesis at the top; lines lead from what each goes on from."""
    width, height = 2 * LEFT + COLUMN * len(found), TOP + ROW * ROWS
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="sans-serif" font-size="13" text-anchor="middle" fill="{INK}">',
        "<title>The beam of a search, frame by frame</title>",
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    came_from = [[_before(one, found[t - 1]) if t else None for one in own] for t, own in enumerate(found)]
    path: list[int | None] = [0]  # of the best, backwards
    for ranks in reversed(came_from):
        path.append(None if path[-1] is None else ranks[path[-1]])
    for t, column in enumerate(found):
        x = LEFT + COLUMN * t + COLUMN // 2
        heard = " or ".join(LABELS[c].replace("|", "␣") for c in sorted({SAID[t], AS_CLEAR.get(t, SAID[t])}))
        parts.append(f'<text x="{x}" y="24" fill="{LINE}">{heard}</text>')
        for rank, one in enumerate(column):
            y, is_best, before = TOP + ROW * rank, rank == path[len(found) - 1 - t], came_from[t][rank]
            if before is not None:
                parts.append(
                    f'<line x1="{x - COLUMN + 42}" y1="{TOP + ROW * before - 4}" x2="{x - 42}" y2="{y - 4}" '
                    f'stroke="{OURS if is_best else LINE}" stroke-width="{2 if is_best else 0.7}"/>'
                )
            shown = f'fill-opacity="{0.35 + 0.65 * one.confidence:.2f}"'
            shown = f'fill="{OURS}" font-weight="600"' if is_best else shown
            parts.append(f'<text x="{x}" y="{y}" {shown}>{one.text or "·"}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _before(one: Hypothesis, earlier: list[Hypothesis]) -> int | None:
    """The place of what a hypothesis goes on from, one frame earlier."""
    ranks = [rank for rank, other in enumerate(earlier) if one.text.startswith(other.text)]
    return max(ranks, key=lambda rank: len(earlier[rank].text), default=None)


def main() -> None:
    """Write the picture."""
    (Path(__file__).resolve().parents[1] / "images" / "beam.svg").write_text(drawn(beams()), encoding="utf-8")


if __name__ == "__main__":
    main()
