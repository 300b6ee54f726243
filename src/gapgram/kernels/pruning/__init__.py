"""Grams that go where a model is to be smaller.

In: tables, and how often each gram is to be expected. Out: what each would cost, and tables without those that go.

    tables          tables with fewer grams
"""
