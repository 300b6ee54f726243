"""Tokenisers: raw text cut into the tokens that a model counts, and tokens put together again.

To the rest of the program a token is a word: text becomes tokens with blanks between them, line by line, before it is
read. A tokeniser is stored in the model file as its kind and its bytes; nothing of it is executed, and the library that
reads it is loaded when text is first cut.

    tokeniser       a tokeniser of any kind: from a file or from a model, lines of text to lines of tokens and back
    engines         characters, a model of SentencePiece, a tokenizer.json of Hugging Face
"""
