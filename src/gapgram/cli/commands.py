"""The commands by group, with a summary each, in the order in which a newcomer meets them.

`gapgram --help` is printed from this table: it loads no command.
"""

from __future__ import annotations

GROUPS = {
    "Begin": {
        "demo": "Compare two models on Python's language reference",
        "train": "Train a model on text, one sentence a line",
        "perplexity": "Print how well a model predicts text",
        "compare": "Compare Kneser-Ney with generalized models on text",
    },
    "Ask a model": {
        "score": "Print the probability of each line or word",
        "predict": "Print the most probable next words",
        "explain": "Show where a probability comes from",
        "trace": "Find runs of words that a training text has",
        "generate": "Draw sentences from a model",
        "serve": "Open a page and a JSON API on this machine",
        "page": "Write a page with a model in it",
    },
    "Use models": {
        "surprisal": "Print the surprisal of each word, in bits",
        "filter": "Keep, split or mark records by their perplexity",
        "classify": "Tell languages, authors or topics apart",
        "correct": "Correct spelling in context",
        "rescore": "Rescore n-best lists of a recogniser",
        "decode": "Turn the logits of a recogniser into text",
    },
    "Look at and change models": {
        "info": "Show what is in a model file",
        "about": "Show or set what a model file says of itself",
        "card": "Write a model card in Markdown",
        "push": "Write a model and its card to a hub",
        "verify": "Check a model file for damage",
        "convert": "Write a model in another layout or format",
        "arpa": "Write a model as an ARPA file",
        "prune": "Make a model smaller",
        "mix": "Mix several models into one",
    },
    "Prepare text": {
        "fetch": "Fetch a public corpus by name",
        "prepare": "Turn dumps and documents into sentences",
        "split": "Split text into training, validation and test text",
        "sample": "Draw word sequences from text",
        "classes": "Find word classes in text",
    },
}
COMMANDS = {name: summary for commands in GROUPS.values() for name, summary in commands.items()}
MOVED = {"study": "is now `python -m studies`, in a clone of gapgram's repository"}
