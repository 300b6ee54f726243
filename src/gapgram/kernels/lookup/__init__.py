"""Grams of a text found in the tables.

In: ids of words, and which of the words before them are known. Out: for each pattern and position the gram, its count
and the row of its context's statistics, or -1.

    search          a number among sorted ones, a key among those of a context
    lookup          grams of a text found in the tables
"""
