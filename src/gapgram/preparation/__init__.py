"""From dumps and documents to text: one sentence a line, words apart, case kept.

Reading Wikipedia needs the extra: `pip install 'gapgram[prepare]'`. The command is `gapgram prepare`; the package has
a noun for its name, as all packages here, so that it cannot be taken for a function.
"""

from __future__ import annotations

from gapgram.preparation.acquis import prepare_acquis
from gapgram.preparation.conversion import Options, Prepared
from gapgram.preparation.plain import prepare_text
from gapgram.preparation.wikipedia import prepare_wikipedia

__all__ = ["Options", "Prepared", "prepare_acquis", "prepare_text", "prepare_wikipedia"]
