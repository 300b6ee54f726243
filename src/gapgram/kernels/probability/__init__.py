"""The probability of a word, of a text, of the next word: the heart of a query.

In: a model (`tables.model_arrays`) and ids, bytes or states. Out: log10 of probabilities. Read `query` first.

    query           a text to the log10 of each word: looked up, worked out, mixed
    probabilities   the probability of a word, shared out over any lattice
    gate            what learned weights look at, and what they make of it
    stepping        one word after another, from state to state
    plan            what states of a model hold
    successors      what follows a context, and the distribution that it makes
    scores          probabilities to finite scores, whatever tables say; sums, mixtures
    soundness       whether the numbers of a model fit its tables
"""
