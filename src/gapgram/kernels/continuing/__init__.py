"""Texts that go on: the most probable next words, one after another.

    words           a beam of continuations in one call
    in_session      the next words of a session
"""
