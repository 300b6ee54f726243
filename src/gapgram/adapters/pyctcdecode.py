"""pyctcdecode's Python module: its classes, arguments, results and folders, with gapgram's decoder behind them.

Neither pyctcdecode nor kenlm is needed. Where a program imports pyctcdecode itself, as transformers does, one line
before that puts this in its place:

    import gapgram.adapters.pyctcdecode; gapgram.adapters.pyctcdecode.stand_in()

What differs: models of any kind; without `unigrams` the words of the model are known; pools of processes are not needed
and not used, threads decode; labels beside `▁⁇▁` do not break the words of other beams.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from bisect import bisect_left
from collections.abc import Collection, Iterable, MutableMapping, Sequence
from functools import cached_property
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, NamedTuple
from weakref import WeakValueDictionary

from gapgram.adapters import kenlm
from gapgram.ctc.alphabet import UNKNOWN_SIGN, WORD_BEGINS
from gapgram.ctc.alphabet import Alphabet as LabelAlphabet
from gapgram.ctc.decoder import LN10, Decoder
from gapgram.ctc.hypotheses import Hypothesis
from gapgram.ctc.lexicon import hot_words_of
from gapgram.ctc.options import DecoderOptions
from gapgram.errors import ModelFileError, UsageError
from gapgram.kernels.ctc.prefixes import USUAL_LENGTH
from gapgram.models.mixture import Mixture, write_mixture
from gapgram.models.model import Model as GapgramModel
from gapgram.queries.language_model import LanguageModel as AnyLanguageModel
from gapgram.queries.states import State
from gapgram.system.atomic_file import written_aside

__all__ = ["Alphabet", "BeamSearchDecoderCTC", "LanguageModel", "build_ctcdecoder"]

_OPTIONS = DecoderOptions()
DEFAULT_ALPHA, DEFAULT_BETA, DEFAULT_UNK_LOGP_OFFSET = _OPTIONS.alpha, _OPTIONS.beta, -10.0
DEFAULT_BEAM_WIDTH, DEFAULT_PRUNE_LOGP = _OPTIONS.beam_width, _OPTIONS.beam_prune
DEFAULT_MIN_TOKEN_LOGP, DEFAULT_HOTWORD_WEIGHT = _OPTIONS.token_prune, _OPTIONS.hot_weight
DEFAULT_PRUNE_BEAMS, DEFAULT_SCORE_LM_BOUNDARY = False, True
BPE_TOKEN, UNK_TOKEN, UNK_BPE_TOKEN = WORD_BEGINS, UNKNOWN_SIGN, f"{WORD_BEGINS}{UNKNOWN_SIGN}{WORD_BEGINS}"

WordFrames = tuple[str, tuple[int, int]]
_ALPHABET, _FOLDER, _ATTRIBUTES, _UNIGRAMS = "alphabet.json", "language_model", "attrs.json", "unigrams.txt"


class OutputBeam(NamedTuple):
    """A text, the state of the model after it, its words with their frames, the score of the logits and that of all."""

    text: str
    last_lm_state: kenlm.State | None
    text_frames: list[WordFrames]
    logit_score: float
    lm_score: float


class Alphabet:
    """The labels of a recogniser as pyctcdecode writes them."""

    def __init__(self, labels: Sequence[str], is_bpe: bool) -> None:
        self._labels, self._is_bpe = list(labels), is_bpe

    @property
    def is_bpe(self) -> bool:
        """Whether labels are pieces of words."""
        return self._is_bpe

    @property
    def labels(self) -> list[str]:
        """The labels, in the order of the logits."""
        return self._labels[:]

    @classmethod
    def build_alphabet(cls, labels: Sequence[str]) -> Alphabet:
        """The alphabet of labels as a recogniser has them."""
        made = LabelAlphabet.of(list(labels))
        return cls(made.texts, made.is_pieces)

    def dumps(self) -> str:
        """The alphabet as JSON."""
        return json.dumps({"labels": self._labels, "is_bpe": self._is_bpe})

    @classmethod
    def loads(cls, s: str) -> Alphabet:
        """The alphabet from JSON."""
        try:
            held = json.loads(s)
            labels, is_bpe = held["labels"], held["is_bpe"]
        except (ValueError, TypeError, KeyError):
            raise UsageError('an alphabet: expected JSON with "labels" and "is_bpe"') from None
        if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels) or "" not in labels:
            raise UsageError('an alphabet: expected a list of labels, the blank "" among them')
        return cls(labels, bool(is_bpe))


class LanguageModel:
    """A model, its known words and its weights; a model of gapgram, or a path, in the place of KenLM's."""

    JSON_ATTRS = ("alpha", "beta", "unk_score_offset", "score_boundary")

    def __init__(
        self,
        kenlm_model: AnyLanguageModel | kenlm.Model | str | os.PathLike[str],
        unigrams: Collection[str] | None = None,
        alpha: float = DEFAULT_ALPHA,
        beta: float = DEFAULT_BETA,
        unk_score_offset: float = DEFAULT_UNK_LOGP_OFFSET,
        score_boundary: bool = DEFAULT_SCORE_LM_BOUNDARY,
    ) -> None:
        if not isinstance(kenlm_model, kenlm.Model):
            path = getattr(kenlm_model, "path", None)  # KenLM's own model names its file
            kenlm_model = kenlm.Model(path if isinstance(path, bytes) else kenlm_model)
        self._kenlm_model, self._unigram_set = kenlm_model, set(unigrams or ())
        self.alpha, self.beta = alpha, beta
        self.unk_score_offset, self.score_boundary = unk_score_offset, score_boundary

    @property
    def model(self) -> AnyLanguageModel:
        """The model itself."""
        return self._kenlm_model._model

    @property
    def unigrams(self) -> list[str] | None:
        """The known words; None where they are those of the model."""
        return sorted(self._unigram_set) or None

    @property
    def order(self) -> int:
        """The order of the model."""
        return self.model.order

    def reset_params(self, **params: Any) -> None:
        """Set some of the weights."""
        for name, value in params.items():
            if name not in self.JSON_ATTRS:
                raise UsageError(f"{name}: expected one of {', '.join(self.JSON_ATTRS)}")
            wanted = bool if name == "score_boundary" else float
            if value is not None and not isinstance(value, wanted):
                raise UsageError(f"{name} must be a {wanted.__name__}, found {value!r}")
            if value is not None:
                setattr(self, name, value)

    def get_start_state(self) -> kenlm.State:
        """The state before the first word."""
        state = kenlm.State()
        (self._kenlm_model.BeginSentenceWrite if self.score_boundary else self._kenlm_model.NullContextWrite)(state)
        return state

    @cached_property
    def _ordered(self) -> list[str]:
        """The known words, in order."""
        vocabulary = self.model.vocabulary
        return sorted(self._unigram_set or (vocabulary if getattr(vocabulary, "has_words", True) else ()))

    def score_partial_token(self, partial_token: str) -> float:
        """What a word that is not finished adds to a score."""
        at = bisect_left(self._ordered, partial_token)
        is_known = at < len(self._ordered) and self._ordered[at].startswith(partial_token)
        return 0.0 if is_known else self.unk_score_offset * max(1.0, len(partial_token) / USUAL_LENGTH)

    def score(self, prev_state: kenlm.State, word: str, is_last_word: bool = False) -> tuple[float, kenlm.State]:
        """(what a word adds to a score, the state after it)."""
        state = kenlm.State()
        score = self._kenlm_model.BaseScore(prev_state, word, state)
        if (self._unigram_set and word not in self._unigram_set) or word not in self._kenlm_model:
            score += self.unk_score_offset
        if is_last_word and self.score_boundary:
            score += self._kenlm_model.BaseScore(state, "</s>", kenlm.State())
        return self.alpha * score * LN10 + self.beta, state

    @property
    def serializable_attrs(self) -> dict[str, Any]:
        """The weights, by name."""
        return {name: getattr(self, name) for name in self.JSON_ATTRS}

    def save_to_dir(self, filepath: str, unigram_encoding: str | None = None) -> None:
        """Write the weights, the known words and the model into a folder, under the name that its file has."""
        model, path, folder = self.model, self.model.path, Path(filepath)
        if path is None and not isinstance(model, Mixture | GapgramModel):
            raise UsageError("a model without a file cannot be saved with a decoder: write it to a file and open that")
        name = path.name if path else "language.model"
        others = [other for other in _files_in(folder) if other not in (_ATTRIBUTES, _UNIGRAMS, name)]
        if others:
            raise UsageError(f"{folder}: another model is in it, {', '.join(others)}: save to a new folder")
        with written_aside(folder / _ATTRIBUTES) as file:
            file.write(json.dumps(self.serializable_attrs).encode())
        with written_aside(folder / _UNIGRAMS) as file:
            file.write("".join(f"{word}\n" for word in self.unigrams or ()).encode(unigram_encoding or "utf-8"))
        if isinstance(model, Mixture):
            write_mixture(folder / name, model)
        elif isinstance(model, GapgramModel) and path is None:
            model.save(folder / name)
        elif path is not None and path.resolve() != (folder / name).resolve():
            with path.open("rb") as source, written_aside(folder / name) as file:
                shutil.copyfileobj(source, file)

    @staticmethod
    def parse_directory_contents(filepath: str) -> dict[str, str]:
        """The paths of what `save_to_dir` wrote."""
        names = _files_in(filepath)
        for name in (_ATTRIBUTES, _UNIGRAMS):
            if name not in names:
                raise UsageError(f"{filepath}: no {name} in it, found {', '.join(sorted(names)) or 'nothing'}")
        models = [name for name in names if name not in (_ATTRIBUTES, _UNIGRAMS)]
        if len(models) != 1:
            raise UsageError(f"{filepath}: expected one model in it, found {', '.join(sorted(models)) or 'none'}")
        found = {"json_attrs": _ATTRIBUTES, "unigrams": _UNIGRAMS, "kenlm": models[0]}
        return {name: os.path.join(filepath, file) for name, file in found.items()}

    @classmethod
    def load_from_dir(cls, filepath: str, unigram_encoding: str | None = None) -> LanguageModel:
        """Open what `save_to_dir` wrote, ours or pyctcdecode's."""
        names = cls.parse_directory_contents(filepath)
        try:
            attributes = json.loads(Path(names["json_attrs"]).read_text("utf-8"))
            if not isinstance(attributes, dict) or set(attributes) != set(cls.JSON_ATTRS):
                raise ValueError
        except ValueError:
            raise ModelFileError(f"{names['json_attrs']}: expected JSON with {', '.join(cls.JSON_ATTRS)}") from None
        unigrams = Path(names["unigrams"]).read_text(unigram_encoding or "utf-8").splitlines()
        return cls(names["kenlm"], unigrams, **attributes)


class BeamSearchDecoderCTC:
    """pyctcdecode's decoder."""

    _ALPHABET_SERIALIZED_FILENAME, _LANGUAGE_MODEL_SERIALIZED_DIRECTORY = _ALPHABET, _FOLDER
    model_container: ClassVar[MutableMapping[bytes, LanguageModel | None]] = WeakValueDictionary()

    def __init__(self, alphabet: Alphabet, language_model: LanguageModel | None = None) -> None:
        if not isinstance(language_model, LanguageModel | None):
            found = type(language_model).__name__
            raise UsageError(f"language_model: expected a LanguageModel of gapgram.adapters.pyctcdecode, found {found}")
        self._alphabet, self._model_key, self._language_model = alphabet, os.urandom(16), language_model
        if language_model is not None:
            self.model_container[self._model_key] = language_model
        labels = LabelAlphabet(tuple(alphabet.labels), alphabet.is_bpe)
        model = None if language_model is None else language_model.model
        words = None if language_model is None else language_model.unigrams
        self._decoder = Decoder(labels, model, words=words, unit="word", empty_word=True)

    def __deepcopy__(self, memo: object) -> BeamSearchDecoderCTC:
        """Itself, as transformers copies what it saves."""
        return self

    def reset_params(
        self,
        alpha: float | None = None,
        beta: float | None = None,
        unk_score_offset: float | None = None,
        lm_score_boundary: bool | None = None,
    ) -> None:
        """Set some of the weights of the model."""
        if self._language_model is not None:
            self._language_model.reset_params(
                alpha=alpha, beta=beta, unk_score_offset=unk_score_offset, score_boundary=lm_score_boundary
            )

    @classmethod
    def clear_class_models(cls) -> None:
        """Name no models any more; each is gone with its decoders, anyway."""
        cls.model_container.clear()

    def cleanup(self) -> None:
        """Do not name the model any more; it is gone with the decoder, anyway."""
        self.model_container.pop(self._model_key, None)

    def _state(self, given: kenlm.State | None) -> State | None:
        if given is None or self._language_model is None:
            return None
        return State(getattr(given, "key", b"") or self._language_model.model._stepper.null)

    def _options(self, **given: Any) -> dict[str, Any]:
        lm = self._language_model
        if lm is not None:
            given |= {"alpha": lm.alpha, "beta": lm.beta, "unknown": lm.unk_score_offset, "boundary": lm.score_boundary}
        return given

    def decode_beams(
        self,
        logits: Any,
        beam_width: int = DEFAULT_BEAM_WIDTH,
        beam_prune_logp: float = DEFAULT_PRUNE_LOGP,
        token_min_logp: float = DEFAULT_MIN_TOKEN_LOGP,
        prune_history: bool = DEFAULT_PRUNE_BEAMS,
        hotwords: Iterable[str] | None = None,
        hotword_weight: float = DEFAULT_HOTWORD_WEIGHT,
        lm_start_state: kenlm.State | None = None,
    ) -> list[OutputBeam]:
        """(text, state, words with their frames, score of the logits, score) of each beam, best first."""
        options = self._options(beam_width=beam_width, beam_prune=beam_prune_logp, token_prune=token_min_logp)
        hot = hot_words_of(hotwords, hotword_weight, self._decoder.letters, skip=True)
        state = self._state(lm_start_state)
        found = self._decoder.decode_beams(logits, hot, state=state, distinct=prune_history, **options)
        return [_beam(one) for one in found]

    def decode(
        self,
        logits: Any,
        beam_width: int = DEFAULT_BEAM_WIDTH,
        beam_prune_logp: float = DEFAULT_PRUNE_LOGP,
        token_min_logp: float = DEFAULT_MIN_TOKEN_LOGP,
        hotwords: Iterable[str] | None = None,
        hotword_weight: float = DEFAULT_HOTWORD_WEIGHT,
        lm_start_state: kenlm.State | None = None,
    ) -> str:
        """The text of the best beam."""
        options = self._options(beam_width=beam_width, beam_prune=beam_prune_logp, token_prune=token_min_logp)
        hot = hot_words_of(hotwords, hotword_weight, self._decoder.letters, skip=True)
        state = self._state(lm_start_state)
        return self._decoder.decode(logits, hot, state=state, **options)

    def decode_beams_batch(
        self,
        pool: Any,
        logits_list: Any,
        beam_width: int = DEFAULT_BEAM_WIDTH,
        beam_prune_logp: float = DEFAULT_PRUNE_LOGP,
        token_min_logp: float = DEFAULT_MIN_TOKEN_LOGP,
        prune_history: bool = DEFAULT_PRUNE_BEAMS,
        hotwords: Iterable[str] | None = None,
        hotword_weight: float = DEFAULT_HOTWORD_WEIGHT,
    ) -> list[list[tuple[str, list[WordFrames], float, float]]]:
        """As `decode_beams` for many, without states; a pool says that all cores may be used."""
        options = self._options(beam_width=beam_width, beam_prune=beam_prune_logp, token_prune=token_min_logp)
        hot = hot_words_of(hotwords, hotword_weight, self._decoder.letters, skip=True)
        lists = self._decoder.decode_beams_many(
            list(logits_list), hot, threads=1 if pool is None else None, distinct=prune_history, **options
        )
        return [[(beam[0], *beam[2:]) for beam in map(_beam, found)] for found in lists]

    def decode_batch(
        self,
        pool: Any,
        logits_list: Any,
        beam_width: int = DEFAULT_BEAM_WIDTH,
        beam_prune_logp: float = DEFAULT_PRUNE_LOGP,
        token_min_logp: float = DEFAULT_MIN_TOKEN_LOGP,
        hotwords: Iterable[str] | None = None,
        hotword_weight: float = DEFAULT_HOTWORD_WEIGHT,
    ) -> list[str]:
        """As `decode` for many; a pool says that all cores may be used."""
        options = self._options(beam_width=beam_width, beam_prune=beam_prune_logp, token_prune=token_min_logp)
        hot = hot_words_of(hotwords, hotword_weight, self._decoder.letters, skip=True)
        return self._decoder.decode_many(list(logits_list), hot, threads=1 if pool is None else None, **options)

    def save_to_dir(self, filepath: str) -> None:
        """Write the alphabet, the weights, the known words and the model into a folder."""
        with written_aside(Path(filepath) / _ALPHABET) as file:
            file.write(self._alphabet.dumps().encode())
        if self._language_model is not None:
            folder = Path(filepath) / _FOLDER
            folder.mkdir(exist_ok=True)
            self._language_model.save_to_dir(str(folder))

    @staticmethod
    def parse_directory_contents(filepath: str) -> dict[str, str | None]:
        """The paths of what `save_to_dir` wrote."""
        names = _files_in(filepath)
        if _ALPHABET not in names:
            raise UsageError(f"{filepath}: no {_ALPHABET} in it, found {', '.join(sorted(names)) or 'nothing'}")
        others = sorted(set(names) - {_ALPHABET})
        if others and _FOLDER not in others:
            raise UsageError(f"{filepath}: no folder {_FOLDER} in it, found {', '.join(others)}")
        folder = os.path.join(filepath, _FOLDER) if others else None
        return {"alphabet": os.path.join(filepath, _ALPHABET), "language_model": folder}

    @classmethod
    def load_from_dir(cls, filepath: str, unigram_encoding: str | None = None) -> BeamSearchDecoderCTC:
        """Open what `save_to_dir` wrote, ours or pyctcdecode's."""
        names = cls.parse_directory_contents(filepath)
        alphabet = Alphabet.loads(Path(str(names["alphabet"])).read_text("utf-8"))
        folder = names["language_model"]
        return cls(alphabet, None if folder is None else LanguageModel.load_from_dir(folder, unigram_encoding))

    @classmethod
    def load_from_hf_hub(cls, model_id: str, cache_dir: str | None = None, **kwargs: Any) -> BeamSearchDecoderCTC:
        """Open a decoder that was saved at a hub; needs huggingface_hub."""
        from huggingface_hub import snapshot_download

        return cls.load_from_dir(snapshot_download(model_id, cache_dir=cache_dir, **kwargs))


def _files_in(folder: str | Path) -> list[str]:
    return sorted(name for name in os.listdir(folder) if not name.startswith((".", "__")))


def _beam(found: Hypothesis) -> OutputBeam:
    state = None
    if found.state is not None:
        state = kenlm.State()
        state.key = found.state.key
    words = [(one.word, (one.first, one.after)) for one in found.words]
    return OutputBeam(found.text, state, words, found.acoustic, found.total)


def build_ctcdecoder(
    labels: Sequence[str],
    kenlm_model_path: AnyLanguageModel | kenlm.Model | str | os.PathLike[str] | None = None,
    unigrams: Collection[str] | None = None,
    alpha: float = DEFAULT_ALPHA,
    beta: float = DEFAULT_BETA,
    unk_score_offset: float = DEFAULT_UNK_LOGP_OFFSET,
    lm_score_boundary: bool = DEFAULT_SCORE_LM_BOUNDARY,
) -> BeamSearchDecoderCTC:
    """A decoder for labels; kenlm_model_path: the path of a model of any kind, or a model."""
    language_model = None
    if kenlm_model_path is not None:
        language_model = LanguageModel(kenlm_model_path, unigrams, alpha, beta, unk_score_offset, lm_score_boundary)
    return BeamSearchDecoderCTC(Alphabet.build_alphabet(labels), language_model)


def stand_in() -> None:
    """Let later imports of pyctcdecode find this module, and those of kenlm `gapgram.kenlm` if there is none."""
    from gapgram.ctc import alphabet as labels

    own = sys.modules[__name__]
    rooms: dict[str, dict[str, Any]] = {
        "": {name: getattr(own, name) for name in __all__},
        ".decoder": {name: getattr(own, name) for name in ("BeamSearchDecoderCTC", "build_ctcdecoder")},
        ".language_model": {"LanguageModel": LanguageModel},
        ".constants": {name: value for name, value in vars(own).items() if name.startswith("DEFAULT_")},
        ".alphabet": {
            "Alphabet": Alphabet, "BPE_TOKEN": BPE_TOKEN, "UNK_TOKEN": UNK_TOKEN, "UNK_BPE_TOKEN": UNK_BPE_TOKEN,
            "BLANK_TOKEN_PTN": labels.BLANK_PATTERN, "UNK_TOKEN_PTN": labels.UNKNOWN_PATTERN,
        },
    }  # fmt: skip
    for room, names in rooms.items():
        name = f"pyctcdecode{room}"
        module = ModuleType(name, __doc__)
        module.__spec__ = ModuleSpec(name, None, is_package=not room)
        vars(module).update(names)
        sys.modules[name] = module
        if room:
            setattr(sys.modules["pyctcdecode"], room[1:], module)
    vars(sys.modules["pyctcdecode"]).update(__version__="0.5.0", __path__=[])
    if find_spec("kenlm") is None:
        sys.modules["kenlm"] = kenlm
