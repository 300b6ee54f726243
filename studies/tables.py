"""The paper's tables, from what a study found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from studies.findings import Findings, Measurement, TextKey
from studies.formats import CHANGE, COUNT, FIGURE, SHARE, Cell, Column, Table
from studies.protocols import PARTS

TITLES = {"sequences": "isolated sequences", "running": "running text"}
WHO = {False: "unknown words included", True: "unknown words left out"}


def all_tables(findings: Findings) -> list[Table]:
    """Every table, in the order of the paper."""
    tables = [statistics_table(findings)]
    for protocol in findings.config.protocols:
        tables += [perplexity_table(findings, protocol, known=known) for known in (False, True)]
    for sizes in findings.config.sizes:
        for protocol in findings.config.protocols:
            tables += [sizes_table(findings, sizes.corpus, protocol, known=known) for known in (False, True)]
    if "sequences" in findings.config.protocols:
        tables += [parts_table(findings, known=known) for known in (False, True)]
    tables += [once_table(findings, "grams", "total"), once_table(findings, "unique", "unique")]
    return [*tables, models_table(findings)]


def statistics_table(findings: Findings) -> Table:
    """Words and sentences (the paper's table 2)."""
    columns = [
        Column("corpus"), Column("language"), Column("sentences", COUNT), Column("words", COUNT),
        Column("unique words", COUNT), Column("met once", SHARE), Column("words a sentence", FIGURE),
        Column("test sentences", COUNT), Column("test words", COUNT), Column("unknown", SHARE),
    ]  # fmt: skip
    languages = {corpus.name: corpus.language for corpus in findings.config.corpora}
    rows: list[list[Cell]] = [
        [
            _name(text), languages[text.corpus], v["sentences"], v["words"], v["unique_words"],
            v["words_once"] / v["unique_words"], v["mean_sentence_length"], v["test_sentences"], v["test_words"],
            v["test_unknown_words"] / v["test_words"],
        ]
        for text, v in findings.statistics.items()
    ]  # fmt: skip
    note = "Unknown: the share of the test words that the training text does not hold."
    return Table("statistics", "Words of the corpora", columns, rows, note)


def perplexity_table(findings: Findings, protocol: str, *, known: bool) -> Table:
    """All models by corpus and order (the paper's table 3)."""
    rows = _by_row(findings.select(protocol), lambda m: (m.text.corpus, m.order))
    return Table(
        _file_name(f"perplexity-{protocol}", known), f"Perplexity of {TITLES[protocol]}, {WHO[known]}",
        [Column("corpus"), Column("n", COUNT), *_model_columns(findings.config.models)],
        [[*labels, *_model_cells(row, findings.config.models, known)] for labels, row in rows],
        f"Changes are relative to {findings.config.models[0]}.",
    )  # fmt: skip


def sizes_table(findings: Findings, corpus: str, protocol: str, *, known: bool) -> Table:
    """All models by training size and order (the paper's table 4)."""
    measurements = (m for m in findings.select(protocol, sizes=True) if m.text.corpus == corpus)
    words = {text.lines: v["words"] for text, v in findings.statistics.items() if text.corpus == corpus}
    rows = _by_row(measurements, lambda m: (m.text.lines, words[m.text.lines], m.order))
    return Table(
        _file_name(f"sizes-{corpus}-{protocol}", known),
        f"Perplexity of {TITLES[protocol]} by training size, {corpus}, {WHO[known]}",
        [
            Column("lines", COUNT), Column("words", COUNT), Column("n", COUNT),
            *_model_columns(findings.config.models),
        ],
        [[*labels, *_model_cells(row, findings.config.models, known)] for labels, row in rows],
        "Smaller training texts are the first lines of larger ones; the test text stays the same. A larger text knows "
        "more words, rare ones among them: compare models in a row, not rows.",
    )  # fmt: skip


def parts_table(findings: Findings, *, known: bool) -> Table:
    """Sequences seen in training or not (the paper's table 5)."""
    measurements = [m for part in PARTS for m in findings.select("sequences", part)]
    rows = sorted(
        _by_row(measurements, lambda m: (m.text.corpus, m.order, m.part)),
        key=lambda row: (_corpus_number(findings, str(row[0][0])), row[0][1], PARTS.index(str(row[0][2]))),
    )
    columns = [Column("corpus"), Column("n", COUNT), Column("sequences"), Column("predictions", COUNT)]
    cells = []
    for labels, row in rows:
        tally = row[findings.config.models[0]].tally
        predictions = tally.predictions - (tally.unknown_words if known else 0)
        cells.append([*labels, predictions, *_model_cells(row, findings.config.models, known)])
    return Table(
        _file_name("parts", known), f"Complete, unseen and observed sequences, {WHO[known]}",
        [*columns, *_model_columns(findings.config.models)], cells,
        "Observed: the first n words of the sequence stand one after the other somewhere in the training text.",
    )  # fmt: skip


def once_table(findings: Findings, relative_to: str, title: str) -> Table:
    """The share of grams that occur once, by pattern (the paper's table 6)."""
    columns = [Column("pattern"), *(Column(text.corpus, SHARE) for text in findings.once)]
    patterns = next(iter(findings.once.values()))
    shares = [
        [p, *(values[p]["once"] / values[p][relative_to] for values in findings.once.values())] for p in patterns
    ]
    of = "all grams" if relative_to == "grams" else "the different grams"
    return Table(f"once-{title}", f"Grams that occur once, relative to {of} of the pattern ({title})", columns, shares)


def models_table(findings: Findings) -> Table:
    """Entries and bytes of the models."""
    columns = [
        Column("corpus"), Column("n", COUNT), Column("model"), Column("grams", COUNT), Column("bytes", COUNT),
        Column("bytes a gram", FIGURE), Column("grams relative", ".2f"), Column("seconds to train", FIGURE),
    ]  # fmt: skip
    first = findings.config.models[0]
    rows: list[list[Cell]] = [
        [
            _name(text), order, model, v["grams"], v["bytes"], v["bytes_per_gram"],
            v["grams"] / findings.sizes[text, first, order]["grams"], v["seconds"],
        ]
        for (text, model, order), v in findings.sizes.items()
    ]  # fmt: skip
    note = f"Relative to {first} of the same order and text. Bytes are those of the arrays that a model file holds."
    return Table("models", "Sizes of the models", columns, rows, note)


Place = tuple[Cell, ...]  # the first cells of a row
Row = dict[str, Measurement]


def _by_row(measurements: Iterable[Measurement], labels: Callable[[Measurement], Place]) -> Iterator[tuple[Place, Row]]:
    """The measurements of each place by model."""
    rows: dict[Place, Row] = {}
    for measurement in measurements:
        rows.setdefault(labels(measurement), {})[measurement.model] = measurement
    yield from rows.items()


def _model_columns(models: Sequence[str]) -> list[Column]:
    columns = [Column(models[0], FIGURE)]
    for model in models[1:]:
        columns += [Column(model, FIGURE), Column("change", CHANGE)]
    return columns


def _model_cells(row: Row, models: Sequence[str], known: bool) -> list[Cell]:
    values = [perplexity(row[model], known) for model in models]
    if not row[models[0]].tally.predictions:
        return [None] * (2 * len(models) - 1)
    cells: list[Cell] = [values[0]]
    for value in values[1:]:
        cells += [value, value / values[0] - 1]
    return cells


def perplexity(measurement: Measurement, known: bool) -> float:
    """With or without unknown words; nan of no predictions."""
    return measurement.tally.perplexity_known if known else measurement.tally.perplexity


def _name(text: TextKey) -> str:
    return text.corpus if text.is_main else f"{text.corpus} {text.lines:,} lines"


def _file_name(name: str, known: bool) -> str:
    return f"{name}-known" if known else name


def _corpus_number(findings: Findings, name: str) -> int:
    return [corpus.name for corpus in findings.config.corpora].index(name)
