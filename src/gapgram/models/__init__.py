"""The kinds of models, and their files.

    model           gapgram's own: counts, discounts, weights
    unbounded       the same, mixed with what followed in the training text
    file            its file
    streamed_file   its file, written while the tables are put together
    backoff         probabilities and backoff weights, as ARPA files have them
    grams           their grams
    arpa            ARPA files, read and written
    kenlm_binary    binary files of KenLM, read
    nemo            a backoff model as NeMo's decoders read it
    mixture         several models mixed
    open            a model of any kind from its file
    places          where a model is: a file, a name, an address, a repository of a hub
    verify          whether a file of any kind is whole
"""
