"""Models with fewer grams: by how often grams occur, or by what the model loses with them.

    prune        the call
    tables       the tables of patterns taken apart, and put together with fewer grams
    by_count     by count
    by_loss      what is lost with a gram
    to_size      by loss, to a size
"""
