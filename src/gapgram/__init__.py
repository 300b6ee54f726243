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

from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gapgram.applications.classification.classifier import Classification, Classifier, load_classifier
    from gapgram.applications.classification.evaluation import Evaluation, evaluate
    from gapgram.applications.classification.training import train_classifier
    from gapgram.applications.correction.corrector import Correction, CorrectionOptions, Corrector, Suggestion
    from gapgram.applications.filtering.choice import Choice
    from gapgram.applications.filtering.documents import DocumentScore, DocumentScorer
    from gapgram.applications.filtering.run import FilterOptions, filter_records
    from gapgram.applications.filtering.summary import FilterSummary
    from gapgram.applications.rescoring.nbest import NBest, read_nbest, read_references
    from gapgram.applications.rescoring.rescorer import Gain, Rescored, Rescorer, gain
    from gapgram.applications.surprisal.measures import Measures
    from gapgram.applications.surprisal.stimuli import StimulusColumns
    from gapgram.applications.surprisal.table import SurprisalTable, surprisal
    from gapgram.classes.classes import read_classes, write_classes
    from gapgram.classes.exchange import find_classes
    from gapgram.counting.in_memory import count
    from gapgram.counts.counts import Counts
    from gapgram.errors import DiscountWarning, GapgramError, ModelFileError, TextError, UsageError
    from gapgram.experiments.compare import Comparisons, compare
    from gapgram.lattice import Lattice
    from gapgram.models.arpa import grow_arpa, read_arpa, write_arpa
    from gapgram.models.backoff import BackoffModel
    from gapgram.models.kenlm_binary import KenlmModel
    from gapgram.models.mixture import Mixture, tune
    from gapgram.models.model import Model
    from gapgram.models.open import load
    from gapgram.pattern import Pattern
    from gapgram.queries.explain import Explanation
    from gapgram.queries.generate import generate
    from gapgram.queries.language_model import LanguageModel
    from gapgram.queries.lattice_picture import as_dot, as_svg
    from gapgram.queries.line_scores import LineScore, score_lines
    from gapgram.queries.perplexity import Perplexity
    from gapgram.queries.predict import Prediction
    from gapgram.queries.session import Session
    from gapgram.queries.states import State
    from gapgram.queries.typing_words import TypedWords
    from gapgram.queries.whole_words import WholeWords
    from gapgram.reporting.sharing import push
    from gapgram.reporting.showcase import TellingPlace, best_places
    from gapgram.signature import __version__
    from gapgram.text.corpus import Corpus, TextRules, read_corpus
    from gapgram.text.vocabulary import Vocabulary
    from gapgram.training.spark_options import SparkOptions
    from gapgram.training.train import train

_HOMES = {
    "applications.classification.classifier": ("Classification", "Classifier", "load_classifier"),
    "applications.classification.evaluation": ("Evaluation", "evaluate"),
    "applications.classification.training": ("train_classifier",),
    "applications.correction.corrector": ("Correction", "CorrectionOptions", "Corrector", "Suggestion"),
    "applications.filtering.choice": ("Choice",),
    "applications.filtering.documents": ("DocumentScore", "DocumentScorer"),
    "applications.filtering.run": ("FilterOptions", "filter_records"),
    "applications.filtering.summary": ("FilterSummary",),
    "applications.rescoring.nbest": ("NBest", "read_nbest", "read_references"),
    "applications.rescoring.rescorer": ("Gain", "Rescored", "Rescorer", "gain"),
    "applications.surprisal.measures": ("Measures",),
    "applications.surprisal.stimuli": ("StimulusColumns",),
    "applications.surprisal.table": ("SurprisalTable", "surprisal"),
    "classes.classes": ("read_classes", "write_classes"),
    "classes.exchange": ("find_classes",),
    "counting.in_memory": ("count",),
    "counts.counts": ("Counts",),
    "experiments.compare": ("Comparisons", "compare"),
    "errors": ("DiscountWarning", "GapgramError", "ModelFileError", "TextError", "UsageError"),
    "lattice": ("Lattice",),
    "models.arpa": ("grow_arpa", "read_arpa", "write_arpa"),
    "models.backoff": ("BackoffModel",),
    "models.kenlm_binary": ("KenlmModel",),
    "models.mixture": ("Mixture", "tune"),
    "models.model": ("Model",),
    "models.open": ("load",),
    "pattern": ("Pattern",),
    "queries.explain": ("Explanation",),
    "queries.generate": ("generate",),
    "queries.language_model": ("LanguageModel",),
    "queries.lattice_picture": ("as_dot", "as_svg"),
    "queries.line_scores": ("LineScore", "score_lines"),
    "queries.perplexity": ("Perplexity",),
    "queries.predict": ("Prediction",),
    "queries.session": ("Session",),
    "queries.states": ("State",),
    "queries.typing_words": ("TypedWords",),
    "queries.whole_words": ("WholeWords",),
    "reporting.sharing": ("push",),
    "reporting.showcase": ("TellingPlace", "best_places"),
    "signature": ("__version__",),
    "text.corpus": ("Corpus", "TextRules", "read_corpus"),
    "text.vocabulary": ("Vocabulary",),
    "training.spark_options": ("SparkOptions",),
    "training.train": ("train",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "BackoffModel",
    "Choice",
    "Classification",
    "Classifier",
    "Comparisons",
    "Corpus",
    "Correction",
    "CorrectionOptions",
    "Corrector",
    "Counts",
    "DiscountWarning",
    "DocumentScore",
    "DocumentScorer",
    "Evaluation",
    "Explanation",
    "FilterOptions",
    "FilterSummary",
    "Gain",
    "GapgramError",
    "KenlmModel",
    "LanguageModel",
    "Lattice",
    "LineScore",
    "Measures",
    "Mixture",
    "Model",
    "ModelFileError",
    "NBest",
    "Pattern",
    "Perplexity",
    "Prediction",
    "Rescored",
    "Rescorer",
    "Session",
    "SparkOptions",
    "State",
    "StimulusColumns",
    "Suggestion",
    "SurprisalTable",
    "TellingPlace",
    "TextError",
    "TextRules",
    "TypedWords",
    "UsageError",
    "Vocabulary",
    "WholeWords",
    "__version__",
    "as_dot",
    "as_svg",
    "best_places",
    "compare",
    "count",
    "evaluate",
    "filter_records",
    "find_classes",
    "gain",
    "generate",
    "grow_arpa",
    "load",
    "load_classifier",
    "push",
    "read_arpa",
    "read_classes",
    "read_corpus",
    "read_nbest",
    "read_references",
    "score_lines",
    "surprisal",
    "train",
    "train_classifier",
    "tune",
    "write_arpa",
    "write_classes",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(import_module(f"gapgram.{_HOME_OF[name]}"), name)
    nearest = get_close_matches(name, __all__, n=1)
    meant = f"; did you mean {nearest[0]!r}?" if nearest else ""
    raise AttributeError(f"module 'gapgram' has no attribute {name!r}{meant}")


def __dir__() -> list[str]:
    return sorted(__all__)
