"""Experiments: what the paper compared, on any text."""
