"""Experiments: what the paper compared, on any text. All of its experiments are in `studies/`, beside the package.

    compare    MKN beside GLM on one text
    demo       the main job on text that every CPython ships
"""
