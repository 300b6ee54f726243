"""From the logits of a recogniser trained with CTC to text: speech, handwriting and print, with a model of language.

    decoder     the decoder: one utterance, or many
    batched     many utterances side by side, in tensors of PyTorch, on a card
    tensor_states   states of a model for that
    stream      an utterance decoded while it goes on
    options     how it scores and prunes
    hypotheses  what it finds: texts, where their words are, what their scores are made of
    alphabet    the labels of a recogniser
    lexicon     tries of the words that labels can spell, and of hot words
    logits      what a recogniser gives, frame by frame
    files       logits, labels and hot words, read from files
    search      one beam search, and the rounds of searching and of asking the model

>>> from gapgram.ctc import Decoder
>>> Decoder(["_", " ", "a", "b"]).decode([[0.1, 0.1, 0.7, 0.1], [0.1, 0.1, 0.1, 0.7]])
'ab'
"""

from gapgram.ctc.alphabet import Alphabet as Alphabet
from gapgram.ctc.decoder import Decoder as Decoder
from gapgram.ctc.hypotheses import DecodedWord as DecodedWord
from gapgram.ctc.hypotheses import Hypothesis as Hypothesis
from gapgram.ctc.options import DecoderOptions as DecoderOptions
from gapgram.ctc.stream import DecoderStream as DecoderStream
from gapgram.ctc.stream import StreamedText as StreamedText
