"""The decoder for CTC fitted to a recogniser.

    tuning      alpha and beta with the fewest word errors
"""
