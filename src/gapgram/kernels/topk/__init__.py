"""The most probable next words, exactly, and the rank of a word.

In: a model and a context. Out: ids, the most probable first, and their probabilities.

    exact           the most probable next words
    continuing      the most probable next words, one after another
    completions     the next words that start with a prefix
    rank            the rank of a word among all
"""
