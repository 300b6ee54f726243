"""Spelling corrected in context: a noisy channel, and a search over the sentence with the model's states.

    tokens          words of a line, their case, and the marks and blanks around them
    errors          how probable a misspelling is, learned from pairs
    candidates      words of the vocabulary that are near a string
    corrector       lines corrected, with what was changed and what else it might have been
"""
