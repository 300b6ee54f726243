"""How results are shown.

    tables                  plain text tables
    model_card              a model card in Markdown
    sharing                 a model and its card written to a hub
    model_info              what a model consists of
    prediction_quality      how good predictions are on a text
"""
