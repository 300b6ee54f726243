"""What every kind of model can be asked.

    language_model  the queries that all kinds share
    perplexity      the figure, with what it was computed from
    line_scores     scores of the lines of a text
    predict         the most probable next words
    explain         where a probability comes from
    generate        text drawn from a model
    states          one word after another, for decoders
"""
