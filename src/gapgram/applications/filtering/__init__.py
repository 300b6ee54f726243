"""Records of text kept, dropped, split or marked by how well models predict them.

documents       scores of documents, many at a time
choice          which records are kept, and into which bucket they go
summary         what a run has done, to be printed
pieces          records as they are read, some at a time, and what becomes of them
lines           records that are lines: JSON or plain text, compressed or not
parquet         records that are rows of Parquet files
outputs         files that grow, and go on after an interruption
run             all of it, on all cores, in order
folders         folders of files, a worker each
stages          the same inside other programs' pipelines
"""
