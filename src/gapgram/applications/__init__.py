"""What people do with a model: each a command, and a function that `gapgram` exports.

    surprisal       tables of what each word of a text costs a reader
    filtering       records kept, dropped, split or marked by how well models predict them
    classification  texts told apart by one model a class
    correction      spelling corrected in context
    rescoring       n-best lists of recognisers and translators ranked anew
    decoding        the decoder for CTC fitted to a recogniser
    paths           the best path through a graph of words
"""
