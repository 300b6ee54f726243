"""The paper's experiments on any corpora, as a report: python -m studies, from a clone of the repository.

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
    published    the rules by which the published perplexities were computed
    published_comparison    the published figures, recomputed
"""

from studies.config import StudyConfig, read_config
from studies.report import run_study

__all__ = ["StudyConfig", "read_config", "run_study"]
