"""Counts to the numbers that a model is asked with.

    discounts       D1, D2, D3+ of each pattern
    lmplz           how lmplz counts the last n-gram of each order
    weights         how a prediction is shared out among patterns
    history_weights the views of what a session reads, and how far each is trusted to begin with
    spelling        the probabilities of words that a vocabulary does not have
    unbounded       the training text with its index, for contexts without a limit
    parts           all that a model consists of, and what queries need for each row of statistics
"""
