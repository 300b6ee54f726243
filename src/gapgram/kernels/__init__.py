"""The only home of compiled code: arrays in, arrays out; nothing here prints or reads the environment.

    words       bytes to word ids
    sorting     positions into groups of equal grams
    tables      groups to gram and context tables
    lookup      grams of a text found in the tables, and their probabilities
    gate        what learned weights look at
    fitting     weights from text
    clustering  words into classes of like neighbours
    topk        the most probable next words
    rivals      the rank of a word among all
    backoff     probabilities of models read from ARPA files
    sentences   lines of text to scores in one go
    mixing      probabilities of several models added up
    stepping    one word after another, from state to state

Kernels are compiled on first use and cached beside the package (or in the user's cache folder). They
release the interpreter's lock. With NUMBA_DISABLE_JIT=1 they run as plain Python under a debugger.
"""
