"""Lists of hypotheses of a recogniser or translator, ranked anew with a model.

    nbest           lists and references, read from files
    tuning          weights of scores that make the fewest errors
    graphs          word graphs in HTK's format, and their best path
    rescorer        the scores of hypotheses, the best ones, and what that gained
"""
