"""Alpha and beta with the fewest word errors on logits whose texts are known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gapgram.applications.rescoring.rescorer import word_errors
from gapgram.arrays import Floats
from gapgram.ctc.decoder import Decoder
from gapgram.errors import UsageError
from gapgram.system.progress import progress_bar

ALPHAS, BETAS = (0.2, 0.4, 0.6, 0.8, 1.0, 1.3), (-1.0, 0.0, 1.0, 2.0, 3.0)


class TunedWeights(NamedTuple):
    """The best weights of a grid, and the rate of word errors of each: rates[i, j] with alphas[i] and betas[j]."""

    alpha: float
    beta: float
    alphas: tuple[float, ...]
    betas: tuple[float, ...]
    rates: Floats

    def as_svg(self) -> str:
        """A picture: a row for each alpha, a column for each beta, the darker the fewer errors."""
        cell, left, top = (76, 34), 70, 64
        width, height = left + cell[0] * len(self.betas) + 16, top + cell[1] * len(self.alphas) + 14
        low, span = float(self.rates.min()), max(float(np.ptp(self.rates)), 1e-9)
        said = f"{100 * low:.2f} % word errors with alpha {self.alpha:g}, beta {self.beta:g}"
        out = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            'font-family="sans-serif" font-size="12" text-anchor="middle">',
            f'<rect width="{width}" height="{height}" fill="white"/><text x="{width // 2}" y="22">{said}</text>',
        ]
        for j, beta in enumerate(self.betas):
            out.append(f'<text x="{left + cell[0] * j + cell[0] // 2}" y="{top - 10}">beta {beta:g}</text>')
        for i, alpha in enumerate(self.alphas):
            y = top + cell[1] * i
            out.append(f'<text x="{left // 2}" y="{y + 21}">alpha {alpha:g}</text>')
            for j in range(len(self.betas)):
                rate, x = float(self.rates[i, j]), left + cell[0] * j
                best = (alpha, self.betas[j]) == (self.alpha, self.beta)
                share = 1 - (rate - low) / span
                out.append(
                    f'<rect x="{x}" y="{y}" width="{cell[0] - 2}" height="{cell[1] - 2}" fill="#0f8a6d" '
                    f'fill-opacity="{share:.2f}" stroke="{"#000" if best else "#ccc"}"/>'
                    f'<text x="{x + cell[0] // 2}" y="{y + 21}" fill="{"white" if share > 0.6 else "black"}">'
                    f"{100 * rate:.2f}</text>"
                )
        return "\n".join([*out, "</svg>"]) + "\n"


def tune_weights(
    decoder: Decoder,
    logits: Sequence[Any],
    references: Sequence[str],
    *,
    alphas: Sequence[float] = ALPHAS,
    betas: Sequence[float] = BETAS,
    threads: int | None = None,
    progress: bool = False,
) -> TunedWeights:
    """The alpha and beta of a grid with which a decoder makes the fewest word errors."""
    if len(logits) != len(references):
        raise UsageError(f"{len(logits)} utterances and {len(references)} references: expected a text for each")
    right = [text.split() for text in references]
    n_words = sum(map(len, right))
    if not n_words:
        raise UsageError("references without a word: there is nothing to tune on")
    rates = np.empty((len(alphas), len(betas)))
    with progress_bar("tuning", total=rates.size, progress=progress) as advance:
        for i, alpha in enumerate(alphas):
            for j, beta in enumerate(betas):
                found = decoder.decode_many(list(logits), alpha=alpha, beta=beta, threads=threads)
                wrong = sum(word_errors(text.split(), words) for text, words in zip(found, right, strict=True))
                rates[i, j] = wrong / n_words
                advance(1)
    row, column = divmod(int(rates.argmin()), len(betas))
    return TunedWeights(alphas[row], betas[column], tuple(alphas), tuple(betas), rates)
