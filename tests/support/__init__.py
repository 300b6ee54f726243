"""Texts, models and processes that tests are made with."""
