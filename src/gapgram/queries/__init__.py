"""What every kind of model can be asked.

    language_model  what a kind of model must answer, and what follows from that for all kinds
    id_runs         such sequences checked and shared out to threads
    raw_text        what a model makes of raw text: its words, or its tokens
    attached_marks  a warning where text was not cut as the model's was
    perplexity      the figure, with what it was computed from
    line_scores     scores of the lines of a text
    open_vocabulary probabilities of their own for words that a model does not know
    predict         the most probable next words
    whole_words     whole words predicted by a model of tokens
    typing_words    words for people who type: words alone, found from small letters, with one letter wrong
    explain         where a probability comes from
    evidence        the training sentences that it comes from
    lattice_picture the lattice of a probability drawn
    shown           results as notebooks show them
    continuations   the most probable continuations of some ids
    generate        text drawn from a model
    drawing         sentences drawn from the arrays of a model, many side by side
    states          one word after another, for decoders
    state_rows      the states of a search, in arrays
    packed_states   states that are single numbers
    session         a reader that learns what it reads
    sequences       what it does with ids: reading on, words taken back
    session_rows    the states of a search under a session
    stream_sessions    what several streams have read, each its own
    session_file    what it has read, in a file
    history         what it has read: counts, and how far they are trusted
"""
