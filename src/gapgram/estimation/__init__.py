"""Counts to the numbers that a model is asked with.

    discounts       D1, D2, D3+ of each pattern
    weights         how a prediction is shared out among patterns
    history_weights the views of what a session reads, and how far each is trusted to begin with
    spelling        the probabilities of words that a vocabulary does not have
    parts           all that a model consists of, and what queries need for each row of statistics
"""
