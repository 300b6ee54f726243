"""The paper's experiments on any corpora, as a report.

    config       what a TOML file may ask for
    fields       the keys of that file, checked
    texts        training and test text of the corpora
    protocols    isolated sequences, and running text
    statistics   figures of texts without a model
    cache        results by what they depend on
    experiments  all results of a study
    findings     those results
    tables       results as the paper's tables
    formats      a table as Markdown, CSV, LaTeX
    figures      results as plots
    report       the report folder
"""

from gapgram.experiments.study.config import StudyConfig, read_config
from gapgram.experiments.study.report import run_study

__all__ = ["StudyConfig", "read_config", "run_study"]
