"""python -m studies: the paper's experiments on any corpora, and its published figures recomputed."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import click

from gapgram.cli.options import print_json, shared, talk
from gapgram.errors import GapgramError
from studies import read_config, run_study
from studies.published_comparison import compare_published, published_table


@click.command()
@click.argument("config", required=False, metavar="[CONFIG.toml]")
@click.option("-o", "--output", metavar="FOLDER", help="Report folder.  [default: the one that CONFIG names]")
@click.option(
    "--no-plots", "plots", is_flag=True, flag_value=False, default=True, help="Leave out plots, which need matplotlib."
)
@click.option("--published", is_flag=True, help="Recompute the paper's published figures instead.")
@click.option(
    "--data", metavar="FOLDER", help="Folder of train.txt and test.5.txt, for --published.  [default: data/paper]"
)
@shared("threads", "json", "quiet")
def command(
    config: str | None, output: str | None, published: bool, data: str | None, plots: bool, threads: int | None,
    as_json: bool, quiet: bool,
) -> None:  # fmt: skip
    """Run the paper's experiments on the corpora of CONFIG.toml and write a report.

    The report folder gets report.md, results.json, tables as CSV and LaTeX and plots. A study that was
    interrupted goes on where it stopped. CONFIG.toml says, with paths relative to itself:

    \b
        title = "Two books"
        output = "report"
        orders = [3, 4, 5]
        models = ["mkn", "glm uniform", "glm counts", "glm learned", "glm classes"]
        protocols = ["sequences", "running"]

    \b
        [[corpus]]                      # any number of them
        name = "emma"
        language = "en"
        train = "emma.train.txt"        # and test; or text and train_share
        test = "emma.test.txt"
        max_lines = 50000

    \b
        [[sizes]]                       # the training size is varied
        corpus = "emma"
        lines = [5000, 500]             # or shares = [1.0, 0.1]

    All but corpora may be left out. See also docs/measured/results/study.toml in the repository.
    """
    if published == (config is not None):
        raise click.UsageError("expected CONFIG.toml or --published, one of the two")
    if published:
        if output is not None:
            raise click.UsageError("--output is for CONFIG.toml; --published prints")
        _published(data, threads, as_json, quiet)
        return
    if data is not None:
        raise click.UsageError("--data is for --published; CONFIG.toml names its own files")
    _study(str(config), output, plots, threads, as_json, quiet)


def _study(config: str, output: str | None, plots: bool, threads: int | None, as_json: bool, quiet: bool) -> None:
    study = read_config(config)
    say = partial(talk, quiet=quiet)
    results = run_study(study, output=output, plots=plots, threads=threads, say=say, progress=not quiet)
    if as_json:
        print_json(results)
        return
    print(f"{output or study.output}/report.md")
    talk(f"{len(results['measurements']):,} perplexities in {results['seconds']:,.1f} s", quiet)


def _published(data: str | None, threads: int | None, as_json: bool, quiet: bool) -> None:
    comparison: dict[str, Any] = compare_published(data, threads=threads, say=partial(talk, quiet=quiet))
    if as_json:
        print_json(comparison)
        return
    print(published_table(comparison))


if __name__ == "__main__":
    try:
        command(prog_name="python -m studies")
    except GapgramError as mistake:
        sys.exit(f"studies: {mistake}")
