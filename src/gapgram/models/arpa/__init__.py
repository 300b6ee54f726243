"""ARPA files: any toolkit's read into a backoff model; modified Kneser-Ney models written exactly, others nearly.

    reading         ARPA files of any toolkit
    writing         a modified Kneser-Ney model, exactly
    approximation   a backoff model that is near to a model with gaps
    growing         a backoff model that is nearer, of other grams
"""
