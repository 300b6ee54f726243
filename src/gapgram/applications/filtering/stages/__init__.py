"""Documents scored and filtered inside other programs' pipelines, by their own interfaces.

    scored          a model that travels to workers as its path, and what it says of documents
    datasets        a function for `datasets.Dataset.map`
    datatrove       a filter of datatrove
    nemo_curator    a filter of NeMo Curator
"""
