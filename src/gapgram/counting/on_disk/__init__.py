"""Counting through files where memory is limited, with the same result as in memory.

    stored_text     an encoded text on disk
    scatter         its windows by bands
    count           bands counted, one after the other
    piece_files     the pieces of tables that a band gives, on disk
"""
