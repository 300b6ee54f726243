"""Contexts without a limit: what followed the longest end of a context in the training text.

    suffixes    the text sorted by what follows each of its places, and its n-grams by hash
    matching    the longest end of what was read that is in the text, word by word
    mixing      what followed it beside what a model says: scores, distributions, positions to fit on
"""
