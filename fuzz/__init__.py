"""Fuzzers: files and requests changed at random, checksums repaired, opened and asked as a user would.

    sealed        files of arrays taken apart, changed and sealed again with right checksums
    mutations     what is changed: numbers, bits, shapes, names, plain values, texts
    questions     what a model is asked, and which answers are possible
    seeds         one small file of every kind to begin with
    readers       every reader: its files, how it opens one, and what may come of it
    apart         many inputs in a process that may crash or hang, and is watched
    corpora       laws on random texts: python -m fuzz.corpora
    checked       kernels with bounds checks and a sanitizer
    run           the command: python -m fuzz.run
    faults        the n-th write, sync, rename or allocation fails: python -m fuzz.faults
    kills         runs that are killed at random and resumed: python -m fuzz.kills
    cluster_kills the same of parts of a cluster of Spark: python -m fuzz.cluster_kills
    threads       objects that change, used by many threads: python -m fuzz.threads
    connections   half requests on thousands of connections: python -m fuzz.connections
    soak          a service asked by many for long, its memory watched, then threads for a minute: python -m fuzz.soak

An input fails if it ends the process, takes more than a second or 200 MB, raises anything but an error of gapgram's, or
opens and then gives an impossible answer. The n-th input of a reader is the same for ever: `--seed` and `--first` give
it again.
"""

import os

if "FUZZ_LIBRARY" in os.environ:
    from fuzz.checked import use

    use(os.environ["FUZZ_LIBRARY"])
