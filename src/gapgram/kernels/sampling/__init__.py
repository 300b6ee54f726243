"""Sentences drawn from a model.

In: a model and random numbers. Out: ids of words, each drawn with its probability.

    draw            sentences drawn from a model without its distributions
"""
