"""A frozen model: probabilities, scores, distributions, perplexity; in memory or mapped from one file."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gapgram.arguments import checked_path, checked_whole, wrong_type
from gapgram.arrays import Begins, Floats, Ids, Integers
from gapgram.counts.about import checked_about
from gapgram.counts.counts import Counts
from gapgram.counts.layouts import COMPACT, FAST, layout_of
from gapgram.errors import ModelFileError, UsageError
from gapgram.estimation.history_weights import HistoryWeights
from gapgram.estimation.parts import ModelParts
from gapgram.kernels.compiled import bind
from gapgram.kernels.probability.query import locate_all, score_last, score_line, score_lines, score_sequences
from gapgram.kernels.probability.successors import distribution
from gapgram.kernels.tables.arrays import N_GRAMS
from gapgram.kernels.tables.model_arrays import ModelArrays
from gapgram.kernels.text.special_words import END, END_ID, SPECIAL, START, START_ID, UNKNOWN, UNKNOWN_ID
from gapgram.kernels.text.words import NOT_UTF8, SPECIAL_FOUND
from gapgram.kernels.topk.continuing import continue_words
from gapgram.models import file as model_file
from gapgram.queries.continuations import Continuation
from gapgram.queries.language_model import LanguageModel, Sentence
from gapgram.queries.line_scores import LineKernel, ScoredLines
from gapgram.queries.predict import ByModel, Prediction, Predictor
from gapgram.queries.states import TableStepper
from gapgram.signature import Signature
from gapgram.system.atomic_file import temporary_folder
from gapgram.text.corpus import QUERY_RULES, SPECIAL_RULES, TextRules, checked_text
from gapgram.text.files import Block
from gapgram.text.rules import special_word
from gapgram.text.splitting import MARKS

if TYPE_CHECKING:
    from gapgram.queries.drawing import Drawer
    from gapgram.queries.evidence import Evidence
    from gapgram.queries.explain import Explanation


class Model(LanguageModel):
    """An n-gram model that may skip words. Made by `gapgram.train` or `gapgram.load`; never changed.

    counts: what the model was made from. parts: everything that its file holds.

    >>> import gapgram
    >>> model = gapgram.train(sentences=["the cat sat", "the dog sat", "a cat ran"] * 9, order=3, model="mkn")
    >>> model.order, "cat" in model.vocabulary
    (3, True)
    >>> float(model.distribution(["the"]).sum().round(9))
    1.0
    >>> model.score("the cat sat") > model.score("sat cat the")
    True
    """

    def __new__(cls, parts: ModelParts, path: Path | None = None) -> Model:
        if cls is Model and isinstance(parts, ModelParts) and parts.unbounded is not None:
            from gapgram.models.unbounded import UnboundedModel

            return object.__new__(UnboundedModel)
        return object.__new__(cls)

    def __init__(self, parts: ModelParts, path: Path | None = None) -> None:
        if not isinstance(parts, ModelParts):
            raise wrong_type("Model", parts, "what a model is made of; gapgram.load opens a model's file")
        self.parts: Final = parts
        self.counts: Final = parts.counts
        self._path, self._vocabulary = path, parts.counts.vocabulary
        self._tokeniser, self._splitting = parts.counts.tokeniser, parts.counts.splitting
        self._spelling = parts.spelling

    @classmethod
    def load(cls, path: str | Path, *, verify: bool | None = None, most_resident: int | None = None) -> Model:
        """Map a model file. Large files are checked in full only if `verify`.

        most_resident: what is read of the file from end to end is given back when the process holds more bytes.
        """
        return cls(model_file.read(path, verify=verify, most_resident=most_resident), Path(path).resolve())

    def save(self, path: str | Path) -> None:
        """Write the model as it is to one file, aside and renamed; that is its file then, if it had none."""
        model_file.write(checked_path("file to write", path), self.parts)
        if self._path is None:
            self._path = Path(path).resolve()

    def __reduce__(self) -> tuple[Any, ...]:
        if self._path is None:
            raise ModelFileError("a model is pickled by the path of its file: save it first")
        return type(self).load, (str(self._path),)

    @property
    def layout(self) -> str:
        """How its tables lie: `fast` or `compact`."""
        return layout_of(self.counts.tables)

    def with_layout(self, layout: str, *, output: str | Path | None = None) -> Model:
        """The same model in the layout `fast` or `compact`; it gives the same probabilities, bit for bit.

        output: as for `train`, where to write the model; without it, the model stays in memory. It is made in the file
            itself: memory holds no second model.
        """
        if output is None:
            return self if layout == self.layout else Model(self.parts.in_layout(layout))
        model_file.write(output, self.parts, layout)
        return self._reopened(output)

    def _on_card(self) -> LanguageModel:
        from gapgram.cuda.model import CardModel

        return CardModel(self, self.with_layout(FAST)._arrays)

    def quantised(self, bits: int, *, output: str | Path | None = None) -> Model:
        """A compact model whose patterns have at most 2**bits different counts each; it is only nearly this one.

        output: as for `with_layout`.
        """
        from gapgram.compression.quantise import quantised

        if output is None:
            return Model(quantised(self.parts, bits))
        model_file.write_made(output, self.parts, COMPACT, lambda store: quantised(self.parts, bits, store))
        return self._reopened(output)

    def _reopened(self, path: str | Path) -> Model:
        """The model of a file that was made from this one, with the same limit of memory."""
        pages = self.counts.pages
        return Model.load(path, most_resident=None if pages is None else pages.most_resident)

    @property
    def order(self) -> int:
        return self.counts.lattice.order

    @property
    def name(self) -> str:
        """The estimator: `mkn` or `glm`."""
        return self.parts.name

    @property
    def signature(self) -> Signature:
        lattice, info = self.counts.lattice, self.counts.text
        return Signature(
            order=self.order,
            model=self.name,
            lattice=str(lattice).replace(" ", ",") if lattice.name == "custom" else lattice.name,
            classes=self.counts.classes_digest,
            weights=self.parts.weights.name,
            discounts=str(self.parts.discounts),
            vocabulary=info.rule,
            tokenizer=str(self.tokeniser or ""),
            splitting=self.splitting,
            unbounded="" if self.parts.unbounded is None else "text",
            pruned=self.counts.pruned,
            unknown="uniform" if self.spelling is None else "spelled",
            corpus=info.digest,
            counts=f"quantised={self.counts.quantised}" if self.counts.quantised else "",
        )

    @property
    def about(self) -> dict[str, str]:
        """What its maker says of it: name, language, licence, and the like."""
        return dict(self.counts.about)

    def with_about(self, about: Mapping[str, str], *, output: str | Path | None = None) -> Model:
        """The same model with other words about it, such as {"language": "en", "licence": "CC BY-SA 4.0"}.

        output: as for `with_layout`.
        """
        return self._with_counts(replace(self.counts, about=checked_about(about)), output)

    def with_splitting(self, splitting: str, *, output: str | Path | None = None) -> Model:
        """The same model with what it says of its text: that marks were words of their own (`marks`), or nothing ("").

        output: as for `with_layout`.
        """
        if splitting not in ("", MARKS) or (splitting and self.tokeniser is not None):
            raise UsageError(f"splitting {splitting!r}: expected {MARKS!r}, of a model without a tokeniser, or ''")
        return self._with_counts(replace(self.counts, splitting=splitting), output)

    def _with_counts(self, counts: Counts, output: str | Path | None) -> Model:
        """The same model with counts of which something else is said."""
        parts = replace(self.parts, counts=counts)
        if output is None:
            return Model(parts)
        model_file.write(output, parts)
        return self._reopened(output)

    def facts(self) -> dict[str, object]:
        """What the model is, for people: by name, in the order in which it is told."""
        counts, n_classes = self.counts, len(self.counts.class_names)
        return {
            **self.about,
            "estimator": f"{self.name}, {len(counts.lattice.stored)} patterns",
            **({"classes": f"{n_classes - len(SPECIAL):,}"} if n_classes else {}),
            **({"tokenizer": str(self.tokeniser)} if self.tokeniser else {}),
            **({"splitting": self.splitting} if self.splitting else {}),
            **super().facts(),
            **({"unknown words": "spelled"} if self.spelling is not None else {}),
            "grams": f"{int(counts.tables.places[:, N_GRAMS].sum()):,}",
            "trained on": f"{counts.text.words:,} {'words' if self.tokeniser is None else 'tokens'}",
            "layout": self.layout,
        }

    @property
    def _arrays(self) -> ModelArrays:
        """What kernels take."""
        return self.parts.arrays

    def distribution(self, context: Sentence = ()) -> Floats:
        return self.distribution_of(self._context_ids(context))

    def distribution_of(self, ids: Ids) -> Floats:
        """The distribution after some ids."""
        out: Floats = distribution(ids[max(0, ids.size - self.order + 1) :], self._arrays)
        return out

    @cached_property
    def _predictor(self) -> Predictor:
        return Predictor(self._arrays, self.vocabulary)

    def _by_model(self, ids: Ids) -> ByModel | None:
        return ByModel(self._predictor, ids[max(0, ids.size - self.order + 1) :])

    def predict(
        self, context: Sentence = (), k: int = 10, *, prefix: str = "", special: bool = False
    ) -> list[Prediction]:
        """The k most probable next words, exactly; only those that start with `prefix`.

        special: `<unk>` and `</s>` may be among them.
        """
        return self._predictor.predict(self._context_ids(context), k, prefix=prefix, special=special)

    def _continued(self, before: Ids, n: int, k: int, *, ends: bool) -> list[Continuation]:
        words, logs = np.empty((k, n), np.int32), np.empty(k)
        found = continue_words(before, self._arrays, self._predictor.block_counts, n, k, ends, words, logs)
        return [
            Continuation([word for word in row if word >= 0], log / math.log(10.0))
            for row, log in zip(words[:found].tolist(), logs[:found].tolist(), strict=True)
        ]

    def draw_ids(
        self, n: int, begin: Sequence[str] = (), *, max_words: int = 100, seed: int = 1, threads: int | None = None
    ) -> Iterator[Ids]:
        """The ids of the words of n sentences that are drawn from the model, each beginning with some words.

        `gapgram.generate` gives their words, and has more options.
        """
        n, max_words = checked_whole("n", n), checked_whole("max_words", max_words)
        if n < 0 or max_words < 1:
            raise UsageError(f"{n} sentences of at most {max_words} words: expected 0 or more, of 1 word or more")
        ids = self.vocabulary.ids(begin).astype(np.int32)
        if ((ids == START_ID) | (ids == END_ID)).any():
            raise UsageError(f"a sentence that begins with {' '.join(begin)!r}: {START} and {END} are not words of it")
        return self._drawer.draw(n, ids, max_words=max_words, seed=seed, threads=threads)

    @cached_property
    def _drawer(self) -> Drawer:
        from gapgram.queries.drawing import Drawer

        return Drawer(self._arrays)

    def explain(self, word: str, context: Sentence = ()) -> Explanation:
        """Where P(word | context) comes from: what each pattern of the lattice contributes."""
        from gapgram.queries.explain import explain

        ids = np.append(self._context_ids(context), np.int32(self._word_id(word)))
        explained = explain(self.counts, self._arrays, ids, word, str(self.signature))
        if self.spelling is None or ids[-1] != UNKNOWN_ID or word == UNKNOWN:
            return explained
        return replace(explained, log10_spelled=self.spelling.log10_prob(word))

    def evidence(self, word: str, context: Sentence = (), *, most: int = 3) -> list[Evidence]:
        """The training sentences that P(word | context) comes from, `most` for each pattern, of a model that keeps its
        text (`train(unbounded=True)`)."""
        raise UsageError("the model keeps no text to name sentences of: train it with unbounded=True (--unbounded)")

    def pruned(
        self,
        *,
        counts: str | None = None,
        size: str | int | None = None,
        keep: float | None = None,
        layout: str | None = None,
        output: str | Path | None = None,
    ) -> Model:
        """A model with fewer grams, whose distributions still sum to one; this one where it is small enough already.

        counts: drop n-grams with this count or less: 0,0,1 for n-grams of 1, 2, 3 and more words (gaps do not count as
            words, and single words stay), or by pattern, such as 111=1,1011=2.
        size: size of the file at most, such as 10MB (10,000,000 bytes) or 10MiB (10,485,760); n-grams that matter least
            are dropped.
        keep: size of the file at most, as a part of the model's size in the layout, such as 0.3.
        layout: layout of the file, in which its size is counted; by default that of the model.
        output: as for `with_layout`; a model that was opened with a limit of memory is pruned through temporary files
            beside the new one.

        >>> import gapgram
        >>> model = gapgram.train(sentences=["the cat sat", "the dog sat", "a cat ran"] * 9, order=3, model="mkn")
        >>> small = model.pruned(counts="0,0,9")
        >>> small.counts.size(gapgram.Pattern.parse("111")), small.signature.pruned
        (0, 'counts=0,0,9')
        """
        from gapgram.compression.pruning.prune import prune, store_for

        if output is None:
            parts = prune(self.parts, counts=counts, size=size, keep=keep, layout=layout)
            smaller = self if parts is self.parts else Model(parts)
            return smaller.with_layout(layout or self.layout)
        with temporary_folder(output) as folder:
            store = store_for(self.counts, folder)
            parts = prune(self.parts, counts=counts, size=size, keep=keep, layout=layout, store=store)
            model_file.write(output, parts, layout or self.layout)
        return self._reopened(output)

    @cached_property
    def _stepper(self) -> TableStepper:
        return TableStepper(self._arrays)

    def _history_weights(self) -> HistoryWeights | None:
        return self.parts.history

    def _classes_of_words(self) -> Ids | None:
        tables = self.counts.tables
        class_of: Ids = tables.class_of[: tables.word_counts.size]  # of the first clustering
        return class_of if class_of.size else None

    def gram_lengths(self, ids: Ids) -> Integers:
        entries = locate_all(ids, self.order, self._arrays.tables).entries
        spans = np.maximum(self._stepper.plan.spans, 1)
        longest: Integers = np.where(entries >= 0, spans[:, None], 1).max(axis=0)
        return longest

    def _score_after(self, ids: Ids) -> float:
        return float(score_last(ids, self._arrays))

    @cached_property
    def _score_line(self) -> LineKernel:
        words = self.vocabulary
        return bind(score_line, (self._arrays, words.slots, words.pool, words.offsets))

    def score_block(
        self, block: Block, rules: TextRules = QUERY_RULES, *, bos: bool = True, eos: bool = True
    ) -> ScoredLines:
        """Score lines as they are read from a text, from bytes to sums in one kernel."""
        if self.cuts_text:
            block = self.tokenised(block, rules)
        asked, data = (SPECIAL_RULES[rules.special], bool(bos), bool(eos), *self._text_arguments), block.text
        status, stopped, ids, scores, begins, sums = score_lines(data, *asked)
        if status == NOT_UTF8:
            data = checked_text(block, rules)  # refused, or bytes replaced
            status, stopped, ids, scores, begins, sums = score_lines(data, *asked)
        if status == SPECIAL_FOUND:
            raise special_word(block, data, stopped, rules)
        return ScoredLines(ids, scores, begins, sums, block)

    @cached_property
    def _text_arguments(self) -> tuple[Any, ...]:
        words = self.vocabulary
        return words.slots, words.pool, words.offsets, self._arrays

    def score_checked_ids(self, ids: Ids, begins: Begins, out: Floats | None = None) -> Floats:
        out = np.empty(ids.size) if out is None else out
        score_sequences(ids, begins, self._arrays, out)
        return out
