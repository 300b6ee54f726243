"""Backoff models, as ARPA files hold them: asked, and grown near another model.

In: the tree of a file's grams (`grams`). Out: log10 of probabilities, states; the grams that a file should have.

    grams           probabilities of models read from ARPA files
    score           the same for texts
    grow            the grams that a backoff model should have to be near another model
    choose          those of them that stay where there is room for some
"""
