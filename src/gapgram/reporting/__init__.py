"""How results are shown.

    tables                  plain text tables
    model_card              a model card in Markdown; a model and its card written to a hub
    model_info              what a model consists of
    showcase                places of held-out text that show what skipping a word buys
    tracing                 the runs of words that a text has in common with a training text
    prediction_quality      how good predictions are on a text
"""
