"""Models on a graphics card: the arrays of a model lie in its memory, and a thread takes a position.

    card            finding a card, and the kernels of `gapgram.kernels` compiled for it
    buffer          how a model lies on a card
    lookup          the grams of a word under every pattern
    mixing          the patterns that a prediction starts from, mixed
    scoring         the probability of every word of a text, and of one more word after many states
    encoding        bytes to word ids
    next_words      all next words after states, in one launch: `Model.on("cuda")`, `gapgram.adapters.nemo`
    torch_streams   the same for tensors of PyTorch, with what streams have read
    model           a model on a card: `Model.on("cuda")`

The small functions of `gapgram.kernels` are compiled for the card from the same source; what is written here is how the
work is laid out: processors take many positions a step, cards take one position a thread.
"""
