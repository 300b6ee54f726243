"""Perplexity against the size of ARPA files: draws the tables that benchmarks/arpa_growth.py prints.

    python benchmarks/arpa_plot.py docs/measured/arpa.md -o docs/images/arpa.svg

Every table of the page whose columns are file, grams, MB, perplexity … is a panel; its title is the heading above it.
Needs matplotlib (gapgram[plot]).
"""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

COLUMNS = ["file", "grams", "MB", "perplexity"]
LOOKS = {"mkn": ("mkn, whole and pruned", "#000000", "s"), "grown": ("grown from the glm", "#0072B2", "o")}
STYLE = {"svg.fonttype": "none", "svg.hashsalt": "gapgram", "font.size": 9, "legend.fontsize": 8}


class Row(NamedTuple):
    """A file: its name, megabytes, and perplexity of known words."""

    name: str
    megabytes: float
    perplexity: float


def tables(page: str) -> dict[str, list[Row]]:
    """The tables of a page by their headings."""
    found, heading, inside = dict[str, list[Row]](), "", False
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if line.startswith("#"):
            heading = line.strip("# ")
        elif cells[:4] == COLUMNS:
            inside, found[heading] = True, []
        elif not cells:
            inside = False
        elif inside and not cells[0].startswith("---"):
            found[heading].append(Row(cells[0], float(cells[2]), float(cells[3].split()[0])))
    return found


def draw(panel: Any, title: str, rows: list[Row]) -> None:
    """One panel: the files of each kind as a line, the glm as a level."""
    for kind, (label, colour, mark) in LOOKS.items():
        own = sorted((row.megabytes, row.perplexity) for row in rows if row.name.startswith(kind))
        panel.plot(*zip(*own, strict=True), color=colour, marker=mark, label=label)
    (glm,) = (row for row in rows if "glm itself" in row.name)
    panel.axhline(glm.perplexity, color="#D55E00", linestyle="--", label="the glm itself")
    ticks = import_module("matplotlib.ticker")
    panel.set_xscale("log")
    panel.xaxis.set_major_locator(ticks.LogLocator(subs=(1, 2, 5)))
    panel.xaxis.set_major_formatter(ticks.StrMethodFormatter("{x:g}"))
    panel.xaxis.set_minor_locator(ticks.NullLocator())
    panel.set(title=title, xlabel="MB of the ARPA file", ylabel="perplexity of known words")
    panel.set_ylim(bottom=0.95 * glm.perplexity)
    panel.grid(color="#DDDDDD", linewidth=0.6)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("page", type=Path)
    arguments.add_argument("-o", "--output", type=Path, required=True)
    given = arguments.parse_args()
    found = tables(given.page.read_text("utf-8"))
    if not found:
        arguments.error(f"{given.page}: no table with the columns {', '.join(COLUMNS)}")
    with import_module("matplotlib").rc_context(STYLE):
        columns, lines = min(3, len(found)), -(-len(found) // 3)
        figure = import_module("matplotlib.figure").Figure((4.2 * columns, 3.2 * lines), layout="constrained")
        for place, (title, rows) in enumerate(found.items(), 1):
            draw(figure.add_subplot(lines, columns, place), title, rows)
        figure.axes[0].legend(frameon=False)
        figure.savefig(given.output, metadata={"Date": None} if given.output.suffix == ".svg" else None)


if __name__ == "__main__":
    main()
