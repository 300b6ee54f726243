"""What a session has read, mixed with what its model says.

In: ids that were read, and the model's probability of each word. Out: the mixed probabilities, counts and weights.

    history         what a session has read, mixed with what its model says
    history_gate    how far it is to be trusted
    count_table     its counts
"""
