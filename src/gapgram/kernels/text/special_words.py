"""The three words that every vocabulary begins with, and their ids."""

UNKNOWN, START, END = SPECIAL = ("<unk>", "<s>", "</s>")
UNKNOWN_ID, START_ID, END_ID = 0, 1, 2
