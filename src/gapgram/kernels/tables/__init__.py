"""The tables of grams and contexts of every pattern: built, packed, checked, read.

In: sorted grams and their counts. Out: the arrays of a model file (`arrays` says what each holds), and what a query
reads from them, in the fast layout or the compact one.

    arrays          the tables of grams and contexts: what they are
    read            grams, counts and contexts read from tables of either layout
    search          a number among sorted ones, a key among those of a context
    build           tables from groups of grams
    structure       where they lie, and whether those of a file lie so
    check           whether large tables are those of counts
    compact_read    the compact layout, read
    compact_write   and written
    bits            numbers of any width
    keys            words scrambled, so that they can be searched by guessing
    model_arrays    a model as kernels take it
"""
