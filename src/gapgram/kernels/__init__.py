"""The only home of compiled code: arrays in, arrays out; nothing here prints or reads files.

How kernels run:

    compiled        the decorators of kernels, and which code runs
    kinds           the names of kinds of arguments
    intrinsics      what is a few instructions of the processor, in plain Python
    lanes           loops that take eight numbers at a time
    barrier         threads that run one kernel together

What they do:

    text            text in bytes to words in ids
    tables          the tables of grams and contexts of every pattern: built, packed, checked, read
    probability     the probability of a word, of a text, of the next word: the heart of a query
    topk            the most probable next words, exactly, and the rank of a word; texts that go on by them
    continuing      the most probable next words of a session
    sampling        sentences drawn from a model
    counting        windows of text to groups of equal grams
    classes         words into classes of like neighbours
    fitting         weights fitted to text, by threads that work together
    pruning         grams that go where a model is to be smaller
    backoff         backoff models, as ARPA files hold them: asked, and grown near another model
    kenlm           kenLM's binary files, read where they lie
    unbounded       contexts without a limit: what followed their longest ends in the training text
    sessions        what a session has read, mixed with what its model says
    ctc             the texts that a recogniser's frames make

Kernels are compiled when the package is built (`compiler` in the repository). They release the interpreter's lock.
With GAPGRAM_KERNELS=python they run as plain Python under a debugger.
"""
