"""Weights fitted to text, by threads that work together.

In: positions of a text with what each pattern knows of them. Out: the logits of the gate, shifts and discounts.

    sample          what weights are fitted to
    slopes          how the likelihood of a position changes with what is fitted
    gradient        how that of a text does
    descent         weights from that, by threads that work together
"""
