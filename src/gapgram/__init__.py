"""n-gram language models that may skip words.

    >>> import gapgram
    >>> model = gapgram.train(sentences=["the cat sat", "the dog sat"] * 9, order=3, model="mkn")
    >>> model.log10_prob("sat", ["the", "cat"]) > model.log10_prob("the", ["the", "cat"])
    True

Making and opening models

    train           text to a model
    SparkOptions    where and how train counts with Spark
    load            a model of any kind from its file, by its name or from an address
    push            a model and its card to a hub
    LanguageModel   what every kind of model can be asked
    Model           a model of gapgram's own: explanations, and smaller versions of itself, too
    BackoffModel    probabilities and backoff weights, as ARPA files have them
    KenlmModel      a model in a binary file of KenLM
    Mixture         several models mixed
    tune            the mixture that suits a text best
    read_arpa       an ARPA file as a BackoffModel
    write_arpa      a model as an ARPA file
    grow_arpa       an ARPA file of a given size that is near to a model with gaps

Asking them

    score_lines     the score of every line of a text
    generate        sentences drawn from a model
    LineScore       what score_lines gives for a line
    Perplexity      what model.perplexity gives
    Prediction      a word and its probability, as model.predict gives them
    WholeWords      whole words predicted by a model of tokens
    TypedWords      words for who types: no marks, found from small letters, with one letter wrong
    Explanation     what each pattern contributes, as model.explain gives it
    Session         a reader that learns what it reads, as model.session gives it
    State           what is known before the next word, for model.extend
    compare         mkn beside each kind of glm on one text: Comparisons
    Comparisons     what compare gives, as a table
    best_places     places of held-out text where gaps and classes, or the context, save most bits
    TellingPlace    a word of a sentence, and what its probability gains
    as_svg          an Explanation as a picture
    as_dot          an Explanation for Graphviz

From text to counts

    TextRules       which words are kept, what to do with special words and invalid bytes
    read_corpus     a text with its vocabulary, as ids: a Corpus
    count           a Corpus to the Counts of all patterns
    find_classes    classes of words that have the same neighbours
    read_classes    classes of words from a file
    write_classes   classes of words to a file
    Corpus, Counts, Lattice, Pattern, Vocabulary    what the theory speaks of

Using them

    surprisal       what each word of a text costs a reader: a SurprisalTable
    Measures        what surprisal is to measure beside it
    StimulusColumns which columns of a table of stimuli mean what
    SurprisalTable  what surprisal gives
    filter_records  records of a file kept, dropped, split or marked by their perplexity: a FilterSummary
    Choice          which records filter_records keeps
    FilterOptions   how filter_records reads and writes
    DocumentScorer  scores of documents, for pipelines of one's own: a DocumentScore each
    FilterSummary, DocumentScore    what these give
    train_classifier    one model for each label of labelled text: a Classifier
    load_classifier     a Classifier from its folder
    Classifier          posterior probabilities of classes: a Classification for each text
    evaluate        accuracy and confusion of a Classifier: an Evaluation
    Classification, Evaluation      what these give
    Corrector       spelling corrected in context: a Correction for each line, Suggestions for its words
    CorrectionOptions   how much a Corrector changes
    Correction, Suggestion  what it gives
    Rescorer        n-best lists ranked anew, with weights that can be tuned: Rescored
    read_nbest, read_references     lists and references from files
    gain            word error rates before and after: a Gain
    NBest, Rescored, Gain   what these take and give

What may go wrong, each also the built-in error that a program would catch

    GapgramError    all of these
    UsageError      an argument that makes no sense; a ValueError
    TextError       text that cannot be read; a ValueError
    ModelFileError  a file that is no whole model; an OSError, and a FileNotFoundError where it is not there
    DiscountWarning discounts could not be estimated from so small a text

Names are loaded when they are first used, so that importing the package costs nothing. `gapgram.kenlm` is KenLM's
Python module with models of gapgram behind it. The packages below this one are the program's own rooms; their names
are nouns, so that none hides a function.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any

# The names and where they live are told once, where type checkers look for them.
_TOLD = Path(__file__).with_suffix(".pyi").read_text("utf-8")
_HOMES = {name: home for home, name in re.findall(r"^from (\S+) import (\w+) as", _TOLD, re.MULTILINE)}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    nearest = get_close_matches(name, __all__, n=1)
    meant = f"; did you mean {nearest[0]!r}?" if nearest else ""
    raise AttributeError(f"module 'gapgram' has no attribute {name!r}{meant}")


def __dir__() -> list[str]:
    return __all__
