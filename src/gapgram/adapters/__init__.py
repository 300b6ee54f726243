"""gapgram models where other programs expect theirs.

    kenlm         KenLM's Python module
    pyctcdecode   pyctcdecode's Python module
    torchaudio    the decoder of torchaudio and flashlight
    nltk          nltk.lm

Each but `kenlm` and `pyctcdecode` needs the package it is for, and says so where that is not installed.
"""
