"""What a study found, as plots: SVG for print and PNG for the screen. Needs matplotlib (gapgram[plot])."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from gapgram.errors import UsageError, to_install
from studies.findings import Findings
from studies.tables import TITLES, WHO, perplexity

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Colours that stay apart in grey and for the colour-blind (Okabe and Ito), with marks of their own.
LOOKS = {
    "mkn": ("#000000", "s"), "glm uniform": ("#D55E00", "^"), "glm counts": ("#009E73", "D"),
    "glm learned": ("#0072B2", "o"), "glm classes": ("#CC79A7", "v"),
}  # fmt: skip
STYLE: dict[str, Any] = {
    "font.size": 9, "axes.titlesize": 9, "axes.labelsize": 9, "legend.fontsize": 8, "xtick.labelsize": 8,
    "ytick.labelsize": 8, "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True,
    "grid.color": "#DDDDDD", "grid.linewidth": 0.6, "lines.linewidth": 1.4, "lines.markersize": 4.5,
    "legend.frameon": False, "svg.fonttype": "none", "svg.hashsalt": "gapgram", "axes.axisbelow": True,
}  # fmt: skip


def require_matplotlib() -> None:
    """Say what to install where it is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise UsageError(
            f"plots need matplotlib: {to_install('plot')}, or leave them out (--no-plots)"
        ) from None


def all_figures(findings: Findings) -> dict[str, bytes]:
    """File names and contents of every plot."""
    from matplotlib import rc_context

    plots: dict[str, Callable[[], Figure]] = {"once": partial(once_figure, findings)}
    for protocol in findings.config.protocols:
        if len(findings.config.models) > 1:
            plots[f"changes-{protocol}"] = partial(changes_figure, findings, protocol)
        for sizes in findings.config.sizes:
            plots[f"sizes-{sizes.corpus}-{protocol}"] = partial(sizes_figure, findings, sizes.corpus, protocol)
    files: dict[str, bytes] = {}
    with rc_context(STYLE):
        for name, draw in plots.items():
            figure = draw()
            files |= {f"{name}.svg": _saved(figure, "svg"), f"{name}.png": _saved(figure, "png")}
    return files


def _figure(panels: int, width: float, height: float, **shared: Any) -> tuple[Figure, list[Axes]]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(1, panels, squeeze=False, **shared)[0]
    return figure, list(axes)


def sizes_figure(findings: Findings, corpus: str, protocol: str) -> Figure:
    """The change relative to the first model by training size, a panel an order (the paper's figure 3).

    Perplexities of different sizes do not compare: a larger text knows more words, which then count.
    """
    measurements = [m for m in findings.select(protocol, sizes=True) if m.text.corpus == corpus]
    words = {text: values["words"] for text, values in findings.statistics.items()}
    texts = sorted({m.text for m in measurements}, key=lambda text: words[text])
    by_text = {(m.model, m.order, m.text): perplexity(m, True) for m in measurements}
    (first, *others), orders = findings.config.models, findings.config.orders
    figure, panels = _figure(len(orders), 7.0, 3.1, sharey=True)
    for axes, order in zip(panels, orders, strict=True):
        for model in others:
            colour, mark = LOOKS[model]
            changes = [100 * (by_text[model, order, t] / by_text[first, order, t] - 1) for t in texts]
            axes.plot([words[t] for t in texts], changes, color=colour, marker=mark, label=model)
        axes.axhline(0, color="black", linewidth=1)
        axes.set_title(f"n = {order}")
        _words_axis(axes, [words[t] for t in texts])
    panels[0].set_ylabel(f"change relative to {first} (%)")
    panels[len(panels) // 2].set_xlabel("training words")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    figure.suptitle(f"{corpus}, {TITLES[protocol]}, {WHO[True]}", fontsize=9)
    return figure


def _words_axis(axes: Axes, sizes: list[int]) -> None:
    axes.set_xscale("log")
    axes.minorticks_off()
    axes.set_xticks(sizes, [_short(size) for size in sizes], rotation=30, ha="right")


def _short(number: int) -> str:
    """`10.6 M`, `131 k`, `950`: three digits."""
    for unit, name in ((1_000_000, " M"), (1_000, " k")):
        if number >= unit:
            return f"{number / unit:.3g}{name}"
    return str(number)


def changes_figure(findings: Findings, protocol: str) -> Figure:
    """The change relative to the first model, by corpus, a panel an order."""
    models, orders = findings.config.models, findings.config.orders
    corpora = [corpus.name for corpus in findings.config.corpora]
    by_text = {(m.model, m.order, m.text.corpus): perplexity(m, True) for m in findings.select(protocol)}
    figure, panels = _figure(len(orders), 7.0, 1.1 + 0.26 * len(corpora), sharey=True, sharex=True)
    for axes, order in zip(panels, orders, strict=True):
        for model in models[1:]:
            colour, mark = LOOKS[model]
            changes = [100 * (by_text[model, order, c] / by_text[models[0], order, c] - 1) for c in corpora]
            axes.plot(changes, range(len(corpora)), mark, color=colour, label=model)
        axes.axvline(0, color="black", linewidth=1)
        axes.set_title(f"n = {order}")
        axes.set_yticks(range(len(corpora)), corpora)
    panels[0].set_ylim(len(corpora) - 0.5, -0.5)
    panels[len(panels) // 2].set_xlabel(f"change of perplexity relative to {models[0]} (%)")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    figure.suptitle(f"{TITLES[protocol].capitalize()}, {WHO[True]}", fontsize=9)
    return figure


def once_figure(findings: Findings) -> Figure:
    """The share of different grams that occur once, by corpus and pattern."""
    patterns = sorted(next(iter(findings.once.values())), key=lambda p: (p.count("1"), len(p), p))
    shares = [[100 * values[p]["once"] / values[p]["unique"] for p in patterns] for values in findings.once.values()]
    figure, (axes,) = _figure(1, 7.0, 1.3 + 0.24 * len(shares))
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=220, aspect="auto")  # pale, so that figures can be read
    for row, values in enumerate(shares):
        for column, value in enumerate(values):
            axes.text(column, row, f"{value:.0f}", ha="center", va="center", fontsize=8)
    axes.grid(False)
    axes.tick_params(length=0)
    axes.set_xticks(range(len(patterns)), [p.replace("0", "_") for p in patterns], rotation=60, family="monospace")
    axes.set_yticks(range(len(shares)), [text.corpus for text in findings.once])
    axes.set_xlabel("pattern (1 a word kept, _ a word skipped; the predicted word last)")
    axes.set_title("Different grams that occur once (%)")
    return figure


def _saved(figure: Figure, kind: str) -> bytes:
    out = io.BytesIO()
    metadata = {"Date": None, "Creator": "gapgram"} if kind == "svg" else {"Software": "gapgram"}
    figure.savefig(out, format=kind, dpi=200, metadata=metadata)
    return out.getvalue()
