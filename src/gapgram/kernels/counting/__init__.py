"""Windows of text to groups of equal grams.

In: the ids of a text. Out: positions in the order of their grams, where each group begins, and counts of them.

    sorting         positions into groups of equal grams
    distinct_rows   the distinct statistics of contexts
    window_codec    windows of text as few bytes
"""
