"""Experiments: what the paper compared, on any text.

    compare                 MKN beside GLM on one text
    study                   all of the paper's experiments, as a report
    published               the rules by which the published perplexities were computed
    published_comparison    the published figures, recomputed
    demo                    the main job on text that every CPython ships
"""
