"""How a prediction is shared out among the patterns of a lattice, for each context.

    estimators        every way to do so, by name; equal weights
    fallback_graph    which patterns a prediction starts from and which it falls back on
    by_counts         weights from the counts of the contexts, without fitting
    sample            positions of a text with the statistics of a model that has not seen them
    learned           weights fitted on such a sample
    pattern_gain      what more patterns would bring to a mixture
    pattern_choice    which patterns pay in a text
"""
