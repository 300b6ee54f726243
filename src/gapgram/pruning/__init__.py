"""Models with fewer grams."""
