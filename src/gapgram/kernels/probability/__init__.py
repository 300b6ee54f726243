"""The probability of a word, of a text, of the next word: the heart of a query.

In: a model (`tables.model_arrays`) and ids, bytes or states. Out: log10 of probabilities. Read `scoring` first, then
`chains`: looking up one pattern while the one before is worked out; `probabilities` is the same for any lattice.

    chains          the same where every pattern falls back on one other
    scoring         the probability of every word of a text
    probabilities   the probability of a word, shared out over the lattice
    gate            what learned weights look at, and what they make of it
    scores          probabilities to scores that are some, whatever tables say
    score_line      the same for one line
    score_text      lines of text to scores in one go
    successors      what follows a context, and the distribution that it makes
    one_step        the same for one word after one state
    stepping        one word after another, from state to state
    mixing          probabilities of several models added up
"""
