"""KenLM's binary files, read where they lie.

In: the address of a mapped file and a description of what lies where. Out: ids, scores and states, bit for bit KenLM's.

    arrays          a binary file of KenLM as kernels read it
    grams           all of its grams, read back
    lookup          its grams, one word longer at a time
    scoring         its scores, with KenLM's own arithmetic
    words           its words by their hashes
"""
