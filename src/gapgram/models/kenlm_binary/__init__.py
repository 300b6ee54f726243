"""Binary files of KenLM, mapped and scored as KenLM scores them.

    header       how a file is known, and what its first bytes say
    words        its words, by their hashes or listed
    model        the model
    conversion   all of its grams, as a backoff model
"""
