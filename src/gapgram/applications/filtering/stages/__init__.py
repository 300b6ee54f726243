"""Documents scored and filtered inside other programs' pipelines, by their own interfaces.

    datasets        a function for `datasets.Dataset.map`
    datatrove       a filter of datatrove
    nemo_curator    a filter of NeMo Curator
"""
