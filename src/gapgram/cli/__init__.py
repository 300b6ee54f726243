"""The command line: one file a command, each over an importable function.

    main        finds and runs a command, turns errors into sentences
    commands    the names of all commands by group, with a summary each
    options     what several commands share

    train       text to a model file                    prepare     dumps and documents to sentences
    score       the probability of each line            split       training, validation and test sets
    perplexity  how well a model predicts text          sample      random word sequences
    predict     the most probable next words            classes     word classes found in text
    explain     where a probability comes from          compare     MKN beside GLM on one text
    generate    sentences drawn from a model            demo        a tour on text that ships with Python
    info        what is in a model file                 serve       a page and an API on this machine
    verify      is a model file whole?
    convert     another layout, or fewer counts         arpa        a model as an ARPA file
    prune       a smaller model from a model            mix         several models as one
    about       what a model file says of itself        card        a model card
    surprisal   what each word costs a reader           fetch       public corpora by name
    filter      records kept by their perplexity        classify    texts told apart by models
    correct     spelling corrected in context           rescore     n-best lists ranked anew
    push        a model and its card to a hub           decode      logits of a recogniser to text
    trace       runs of words that a training text has
"""
