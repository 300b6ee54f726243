"""The only home of compiled code: arrays in, arrays out; nothing here prints or reads the environment.

    lines           lines of a text, cut into pieces
    utf8            whether bytes are text
    cut_words       bytes cut into words, and their hashes
    words           bytes to word ids
    word_order      the order of the words of a vocabulary
    sorting         positions into groups of equal grams
    keys            words scrambled, so that they can be searched by guessing
    tables          the tables of grams and contexts: what they are
    build_tables    tables from groups of grams
    distinct_rows   the distinct statistics of contexts
    read_tables     grams, counts and contexts read from tables of either layout
    check_tables    whether large tables are those of counts
    compact_read    the compact layout, read
    compact_write   and written
    heaps           numbers in order
    search          a number among sorted ones, a key among those of a context
    bits            numbers of any width
    prefetch        asking for memory before it is read
    lookup          grams of a text found in the tables
    lanes           loops that take eight numbers at a time
    views           parts of arrays
    memory          numbers at any byte of memory
    model_arrays    a model as kernels take it
    gate            what learned weights look at, and what they make of it
    probabilities   the probability of a word, shared out over the lattice
    chains          the same where every pattern falls back on one other
    scores          probabilities to scores that are some, whatever tables say
    scoring         the probability of every word of a text
    score_text      lines of text to scores in one go
    score_line      the same for one line
    figures         what scored lines add to a perplexity
    stepping        one word after another, from state to state
    one_step        the same for one word after one state
    tries           pairs of numbers and what they lead to; words letter by letter
    prefixes        what hypotheses begin with: words letter by letter, texts word by word
    beams           the beams of a search, and which are best
    beam_search     which texts the labels of each frame make
    successors      what follows a context, and the distribution that it makes
    drawing         sentences drawn from a model without its distributions
    topk            the most probable next words
    completions     the next words that start with a prefix
    rank            the rank of a word among all
    fitting         what weights are fitted to
    slopes          how the likelihood of a position changes with what is fitted
    gradient        how that of a text does
    descent         weights from that, by threads that work together
    meeting         threads that wait for each other
    pairs           neighbours of words, counted
    exchange        words into classes of like neighbours
    judging         which class each word of a batch would like best
    moving          words of a batch that move between classes
    pruning         tables with fewer grams
    backoff         probabilities of models read from ARPA files
    backoff_text    the same for texts
    growing         the grams that a backoff model should have to be near another model
    choosing        those of them that stay where there is room for some
    kenlm_arrays    a binary file of KenLM as kernels read it
    kenlm_words     its words by their hashes
    kenlm_lookup    its grams, one word longer at a time
    kenlm_scoring   its scores, with KenLM's own arithmetic
    kenlm_text      the same for a line of text
    kenlm_grams     all of its grams, read back
    history         what a session has read, mixed with what its model says
    history_gate    how far it is to be trusted
    count_table     its counts
    mixing          probabilities of several models added up
    window_codec    windows of text as few bytes
    special_words   <unk>, <s> and </s>
    compiled        the decorators of kernels, and which code runs
    signatures      the table of kernels that Python calls
    lanes_llvm      `lanes` as instructions

Kernels are compiled when the package is built (`compiler` in the repository). They release the interpreter's lock.
With GAPGRAM_KERNELS=python they run as plain Python under a debugger.
"""
