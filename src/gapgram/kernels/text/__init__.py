"""Text in bytes to words in ids.

In: bytes of lines that end in newlines, and the vocabulary as a table of hashes. Out: ids, and where sentences begin.

    utf8            whether bytes are text
    cut_words       bytes cut into words, and their hashes
    words           bytes to word ids
    lines           lines of a text, cut into pieces
    word_order      the order of the words of a vocabulary
    figures         what scored lines add to a perplexity
    special_words   <unk>, <s> and </s>
"""
