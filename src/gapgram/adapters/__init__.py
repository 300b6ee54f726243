"""gapgram models where other programs expect theirs.

    kenlm         KenLM's Python module
    pyctcdecode   pyctcdecode's Python module
    torchaudio    the decoder of torchaudio and flashlight
    nltk          nltk.lm
    nemo          the language model of NVIDIA NeMo's decoders, on a card or without
    transformers  a processor of logits, for decoders such as Whisper's

Each but `kenlm` and `pyctcdecode` needs the package it is for, and says so where that is not installed.
"""
