"""Texts told apart by one model a class: languages, authors, topics.

    labelled        texts with their labels, from lines or folders
    classifier      posterior probabilities of classes, and the folder that a classifier is kept in
    training        one model a class from labelled text
    evaluation      accuracy and a table of what was taken for what
"""
