"""The texts that a recogniser's frames make.

In: log probabilities of labels, frame by frame. Out: beams: texts with their probabilities.

    beam_search     which texts the labels of each frame make
    beams           the beams of a search, and which are best
    prefixes        what hypotheses begin with: words letter by letter, texts word by word
    tries           pairs of numbers and what they lead to; words letter by letter
"""
