"""From dumps and documents to text: one sentence a line, words apart, case kept.

Reading Wikipedia needs the extra: `pip install 'gapgram[prepare]'`.
"""

from __future__ import annotations

from gapgram.prepare.acquis import prepare_acquis
from gapgram.prepare.conversion import Options, Prepared
from gapgram.prepare.plain import prepare_text
from gapgram.prepare.wikipedia import prepare_wikipedia

__all__ = ["Options", "Prepared", "prepare_acquis", "prepare_text", "prepare_wikipedia"]
