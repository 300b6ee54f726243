"""Word ids to counts: three engines, one result, bit for bit.

    text_source     what training asks of a text, whichever engine counts it
    in_memory       all at once, in threads
    on_disk         through files, where memory is limited (`train --memory`)
    spark           on a cluster
    memory_needs    how much memory counting and fitting take
    plan            what disk and cluster share: bands, and what cuts words that are too frequent
    band            the windows of a band to grams, counts and continuation counts
"""
