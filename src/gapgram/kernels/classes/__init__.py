"""Words into classes of like neighbours.

In: how often which words stand beside each other. Out: the class of each word.

    exchange        words into classes of like neighbours
    judging         which class each word of a batch would like best
    moving          words of a batch that move between classes
    pairs           neighbours of words, counted
"""
