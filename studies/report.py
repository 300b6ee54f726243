"""A study's report folder: report.md, results.json, tables/ (CSV, LaTeX), figures/ (SVG, PNG), cache/."""

from __future__ import annotations

import json
import os
import platform
import re
import time
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from gapgram.errors import TextError, UsageError
from gapgram.signature import __version__
from gapgram.system.parallel import checked_threads
from studies.cache import Cache, program_digest, write_aside
from studies.config import StudyConfig
from studies.experiments import Say, run_experiments
from studies.figures import all_figures, require_matplotlib
from studies.findings import Findings
from studies.formats import Table
from studies.tables import all_tables

PROTOCOLS = {
    "sequences": (
        "`sequences`, the paper's: {number:,} isolated sequences of {length} words (all where the text has fewer), "
        "drawn from the test text with seed {seed}; the first n words of each; the product of "
        "P(word i | words 1 … i-1) for i = 1 … n, each by the model of order i; perplexity per word."
    ),
    "running": "`running`: whole sentences after `<s>`, the end `</s>` predicted; perplexity per prediction.",
}


def run_study(
    config: StudyConfig, *, output: str | Path | None = None, plots: bool = True, threads: int | None = None,
    say: Say = lambda _: None, progress: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """Run a study, or the rest of it, and write its report. Returns what results.json holds."""
    if plots:
        require_matplotlib()
    folder = Path(output) if output is not None else config.output
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder}: a file; the report needs a folder of its own")
    _check_files(config)
    threads = checked_threads(threads)
    began = time.perf_counter()
    cache = Cache(folder / "cache")
    findings = run_experiments(config, cache, threads=threads, say=say, progress=progress)
    results = {
        "title": config.title, "gapgram": __version__, "program": program_digest(),
        "seconds": round(time.perf_counter() - began, 1), "seconds_in_all": round(cache.seconds, 1),
        "machine": {**machine(), "threads": threads}, **findings.as_dict(),
    }  # fmt: skip
    tables = all_tables(findings)
    figures = all_figures(findings) if plots else {}
    _write(folder, {"results.json": json.dumps(results, ensure_ascii=False, indent=1).encode()})
    _write(folder / "tables", {f"{t.name}.csv": t.csv().encode() for t in tables})
    _write(folder / "tables", {f"{t.name}.tex": f"{t.latex()}\n".encode() for t in tables})
    _write(folder / "figures", figures)
    _write(folder, {"report.md": report_text(findings, tables, figures, results).encode()})
    return results


def _check_files(config: StudyConfig) -> None:
    """Say now, not after an hour, that a text is missing."""
    for corpus in config.corpora:
        for path in (*corpus.train, *corpus.test):
            if not path.is_file():
                raise TextError(f"corpus {corpus.name}: {path}: no such file")


def report_text(findings: Findings, tables: Iterable[Table], figures: Iterable[str], results: dict[str, Any]) -> str:
    """The report as Markdown."""
    config = findings.config
    rules = [PROTOCOLS[p].format(**vars(config)) for p in config.protocols]
    machine_text = ", ".join(f"{name} {value}" for name, value in results["machine"].items())
    sections = [
        f"# {config.title}",
        f"Made by `python -m studies` with gapgram {__version__}; {machine_text}. Computing the results took "
        f"{results['seconds_in_all']:,.0f} s in all, reading the texts not counted.",
        "Protocols:",
        "\n".join(f"* {rule}" for rule in rules),
        "Every figure stands with its signature in `results.json`; `tables/` holds each table as CSV and LaTeX.",
    ]
    shown, tables = [name for name in figures if name.endswith(".svg")], list(tables)
    titles = [*(table.title for table in tables), *(["Plots"] if shown else [])]
    sections.append("\n".join(f"* [{title}](#{_anchor(title)})" for title in titles))
    for table in tables:
        sections += [f"## {table.title}", table.markdown(), *([table.note] if table.note else [])]
    if shown:
        sections += ["## Plots", *(f"![{name.removesuffix('.svg')}](figures/{name})" for name in shown)]
    return "\n\n".join(sections) + "\n"


def _anchor(title: str) -> str:
    """What a link to a heading says.

    >>> _anchor("Grams that occur once (total), wiki-en")
    'grams-that-occur-once-total-wiki-en'
    """
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def machine() -> dict[str, Any]:
    """Where it ran."""
    return {
        "python": platform.python_version(), "numpy": version("numpy"), "numba": version("numba"),
        "system": f"{platform.system()} {platform.machine()}", "cores": os.cpu_count(),
    }  # fmt: skip


def _write(folder: Path, files: dict[str, bytes]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            write_aside(folder / name, data)
    except OSError as error:
        raise UsageError(f"{folder}: the report cannot be written there: {error.strerror or error}") from None
