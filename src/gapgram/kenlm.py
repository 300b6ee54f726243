"""KenLM's Python module, with any gapgram model behind it: `from gapgram import kenlm` (`gapgram.adapters.kenlm`)."""

from gapgram.adapters.kenlm import *  # noqa: F403
