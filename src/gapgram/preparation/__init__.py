"""From dumps and documents to text: one sentence a line, words apart, case kept.

Reading Wikipedia needs the extra: `pip install 'gapgram[prepare]'`. The command is `gapgram prepare`; the package has
a noun for its name, as all packages here, so that it cannot be taken for a function.

    wikipedia       a dump to sentences
    acquis          documents of JRC-Acquis to sentences
    plain           plain text to sentences
    conversion      what these share: documents in, sentences out, counted
    fetching        public corpora by name
    split           training, validation and test sets; random sequences

    records         an XML file as a stream of its documents
    markup          wikitext to paragraphs
    links           what a reader sees of a link, and of a template
    unpaired        wikitext in which too much markup lacks its partner

    sentences       paragraphs to sentences
    languages       what differs between languages
    output          text to files
"""

from __future__ import annotations

from gapgram.preparation.acquis import prepare_acquis
from gapgram.preparation.conversion import Options, Prepared
from gapgram.preparation.plain import prepare_text
from gapgram.preparation.wikipedia import prepare_wikipedia

__all__ = ["Options", "Prepared", "prepare_acquis", "prepare_text", "prepare_wikipedia"]
