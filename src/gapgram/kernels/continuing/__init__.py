"""Texts that go on after what a session has read: the most probable next words.

    in_session      the next words of a session
"""
