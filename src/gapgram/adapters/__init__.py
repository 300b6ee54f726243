"""gapgram models where other programs expect theirs.

    ctc_beam      pyctcdecode's beam search
    ctc_words     the decoder of torchaudio and flashlight
    nltk_model    nltk.lm

Each needs the package it is for, and says so where that is not installed.
"""
