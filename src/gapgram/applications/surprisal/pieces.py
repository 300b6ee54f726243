"""Regions of raw text as the tokens of a model that holds a tokeniser: what a word costs is the sum over its tokens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gapgram.applications.surprisal.stimuli import Stimulus
from gapgram.errors import TextError
from gapgram.text.tokenisers.tokeniser import Tokeniser


def cut(stimuli: Iterable[Stimulus], tokeniser: Tokeniser) -> Iterator[Stimulus]:
    """Stimuli whose regions are read as tokens.

    A sentence is cut as a whole. A region has the tokens that are more than those of the text before it.
    """
    for stimulus in stimuli:
        texts = [region.text for region in stimulus.regions]
        beginnings = [tokeniser.encode(" ".join(texts[:n])) for n in range(len(texts) + 1)]
        whole, regions = beginnings[-1], []
        for region, before, after in zip(stimulus.regions, beginnings, beginnings[1:], strict=False):
            if whole[: len(after)] != after or len(after) < len(before):
                raise TextError(
                    f"item {stimulus.item}, sentence {stimulus.sentence}: {tokeniser} joins {region.text!r} with what "
                    "comes after it, so that it has no tokens of its own: use a tokeniser that splits at blanks"
                )
            regions.append(region._replace(words=tuple(whole[len(before) : len(after)])))
        yield stimulus._replace(regions=regions)
