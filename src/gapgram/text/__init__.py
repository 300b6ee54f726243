"""Bytes to word ids.

    files           plain and compressed text files, in blocks of whole lines
    held_sentences  sentences in memory as lines of text
    vocabulary      words and their ids
    word_table      a vocabulary while it is learned
    rules           which words are kept, and what to do, and to say, where something is wrong with text
    corpus          text encoded, sentence by sentence, and what was read
    sentences       a sample of its sentences
    splitting       punctuation marks cut off the words that they touch
    tokenisers      raw text cut into the tokens that a model counts
"""
