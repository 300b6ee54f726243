"""The equations of docs/ideas/mathematics.md, literally, in slow plain Python: what the kernels must equal.

    counts      counts and continuation counts of a text
    model       the recursion: modified Kneser-Ney on the chain, equal weights on any other lattice
    by_counts   weights by counts
    shifted     shifted odds of falling back, which weights by counts and learned weights have
    gate        what learned weights look at, and the parameters that are fitted
    learned     learned weights, also with word classes
    spelling    words outside of a vocabulary
    pruned      counts without some of their grams, for any of these models
    left_out    what learned weights are fitted to
    sessions    a reader that learns: what was read, mixed with any of these models
    unbounded   what followed in the text, without a limit of words
    beam_search texts from the frames of a recogniser, with any model of words or labels

Read it in this order, beside the page. Every number is worked out here: nothing is imported but patterns and lattices,
and nothing here is used to train or to query a model. The tests compare both for ever.
"""
