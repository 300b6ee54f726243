"""A gapgram model in pyctcdecode's beam search."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from gapgram.adapters import kenlm
from gapgram.errors import to_install
from gapgram.kernels.special_words import SPECIAL
from gapgram.queries.language_model import LanguageModel as AnyLanguageModel

try:
    from pyctcdecode import Alphabet, BeamSearchDecoderCTC, LanguageModel
    from pyctcdecode.constants import LOG_BASE_CHANGE_FACTOR
except ImportError as error:
    raise ImportError(f"this adapter needs pyctcdecode: {to_install('pyctcdecode')}") from error


class DecoderState(kenlm.State):
    """A state of KenLM's that later versions of pyctcdecode may also take for one of their own."""

    __slots__ = ()

    @property
    def state(self) -> DecoderState:
        """The state itself."""
        return self

    def get_mp_safe_state(self) -> None:
        """Nothing, as with KenLM: beams that come from another process carry no state."""


class PyctcdecodeModel(LanguageModel):  # type: ignore[misc]
    """pyctcdecode's `LanguageModel` with a gapgram model, a path to one, or a `gapgram.adapters.kenlm.Model`.

    Takes the same parameters (kenlm_model, alpha, beta, unk_score_offset, score_boundary); `unigrams` are by default
    the words of the model.
    """

    def __init__(
        self,
        kenlm_model: AnyLanguageModel | kenlm.Model | str | os.PathLike[str],
        unigrams: Collection[str] | None = None,
        **parameters: Any,
    ) -> None:
        wrapped = kenlm_model if isinstance(kenlm_model, kenlm.Model) else kenlm.Model(kenlm_model)
        words = list(wrapped.vocabulary)[len(SPECIAL) :] if unigrams is None else unigrams
        super().__init__(wrapped, words, **parameters)

    def get_start_state(self) -> DecoderState:
        """The state before the first word."""
        state = DecoderState()
        (self._kenlm_model.BeginSentenceWrite if self.score_boundary else self._kenlm_model.NullContextWrite)(state)
        return state

    def _get_raw_end_score(self, start_state: kenlm.State) -> float:
        if not self.score_boundary:
            return 0.0
        return float(self._kenlm_model.BaseScore(start_state, "</s>", DecoderState()))

    def score(self, prev_state: kenlm.State, word: str, is_last_word: bool = False) -> tuple[float, DecoderState]:
        """The weighted score of a word, in natural logarithms, and the state after it."""
        state = DecoderState()
        score = self._kenlm_model.BaseScore(prev_state, word, state)
        if (self._unigram_set and word not in self._unigram_set) or word not in self._kenlm_model:
            score += self.unk_score_offset
        if is_last_word:
            score += self._get_raw_end_score(state)
        return self.alpha * score * LOG_BASE_CHANGE_FACTOR + self.beta, state

    def save_to_dir(self, filepath: str, unigram_encoding: str | None = None) -> None:
        """Save as pyctcdecode does; it wants the file of the model to end in `.arpa` or `.bin`."""
        super().save_to_dir(filepath, unigram_encoding)
        copied = Path(filepath) / Path(os.fsdecode(self._kenlm_model.path)).name
        if copied.suffix not in (".arpa", ".bin"):
            copied.rename(copied.with_suffix(".bin"))

    @classmethod
    def load_from_dir(cls, filepath: str, unigram_encoding: str | None = None) -> PyctcdecodeModel:
        """Load what `save_to_dir` saved."""
        import json

        names = cls.parse_directory_contents(filepath)
        attributes = json.loads(Path(names["json_attrs"]).read_text("utf-8"))
        unigrams = Path(names["unigrams"]).read_text(unigram_encoding or "utf-8").splitlines()
        return cls(names["kenlm"], unigrams, **attributes)


def build_ctcdecoder(
    labels: Sequence[str], model: AnyLanguageModel | str | os.PathLike[str], **parameters: Any
) -> BeamSearchDecoderCTC:
    """pyctcdecode's decoder for these labels with a gapgram model; parameters as for `PyctcdecodeModel`."""
    return BeamSearchDecoderCTC(Alphabet.build_alphabet(list(labels)), PyctcdecodeModel(model, **parameters))
