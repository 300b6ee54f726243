"""A backoff model that keeps much of what a model with gaps knows: grams are grown, not only kept.

    grow            all of it: text drawn, grams grown, fitted, chosen
    files           what is grown as ARPA files, several from one growth
    drawn_text      text that the model draws, and the contexts in it
    longer_grams    the grams that each context should have, length by length
    fitting         probabilities and backoffs under which the drawn text is most probable
    limits          how large the model may be, and what goes where it is larger
"""
