"""One class for every word.

    classes         classes, their file, their names
    exchange        classes found in a text: the exchange algorithm
"""
