"""What a maker says of a model: name, language, licence and whatever else, as plain texts in the file."""

from __future__ import annotations

from collections.abc import Mapping

from gapgram.errors import UsageError

About = tuple[tuple[str, str], ...]

USUAL = ("name", "language", "licence", "tokenisation", "date", "address")
MOST_ENTRIES, MOST_CHARACTERS = 100, 10_000


def checked_about(entries: Mapping[str, str] | None) -> About:
    """What is said, by name; refuses what is no text, or too much of it.

    >>> checked_about({"name": "news", "language": "en"})
    (('language', 'en'), ('name', 'news'))
    """
    for name, value in (entries or {}).items():
        if not isinstance(name, str) or not isinstance(value, str) or not name.strip():
            raise UsageError(f"about {name!r}: {value!r}: expected names and texts, such as {{'language': 'en'}}")
        if len(name) > MOST_CHARACTERS or len(value) > MOST_CHARACTERS:
            raise UsageError(f"about {name[:40]!r}: expected at most {MOST_CHARACTERS:,} characters")
    if entries is not None and len(entries) > MOST_ENTRIES:
        raise UsageError(f"about: {len(entries):,} entries, expected at most {MOST_ENTRIES}")
    return tuple(sorted((entries or {}).items()))


def parse_about(given: tuple[str, ...]) -> dict[str, str]:
    """NAME=TEXT, as commands take it.

    >>> parse_about(("licence=CC BY-SA 4.0", "address=https://example.org/?a=b"))
    {'licence': 'CC BY-SA 4.0', 'address': 'https://example.org/?a=b'}
    """
    for entry in given:
        if "=" not in entry.lstrip("="):
            raise UsageError(f"about {entry!r}: expected NAME=TEXT, such as language=en; usual: {', '.join(USUAL)}")
    return {name.strip(): text for name, text in (entry.split("=", 1) for entry in given)}
