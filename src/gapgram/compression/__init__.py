"""Smaller models.

    pruning         fewer grams
    quantise        fewer different counts
"""
