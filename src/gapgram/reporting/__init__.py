"""How results are shown.

    tables                  plain text tables
    model_info              what a model consists of
    prediction_quality      how good predictions are on a text
"""
