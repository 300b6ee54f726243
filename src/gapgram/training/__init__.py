"""Text to model in one call.

    train           the call
    task            what was asked for
    run             the steps of a run, on any engine
    choose_classes  its word classes
    fitting_sample  the sample that weights are fitted on
    choose_lattice  its patterns, where they are to be chosen
    limits          its memory and disk
    keep_text       the text kept in the model, for contexts without a limit
    documents       where documents begin, and some of them held out
    fit_history     how far sessions trust what they have read, from documents
    spark_options   where and how to count with Spark
"""
