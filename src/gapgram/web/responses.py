"""What is answered. Probabilities are plain; `log10` stands in the name of what is a logarithm."""

from __future__ import annotations

from pydantic import BaseModel


class Mistake(BaseModel):
    """Why there is no answer, in a sentence."""

    error: str


class Health(BaseModel):
    """The service answers."""

    status: str
    version: str
    models: int


class PatternFigures(BaseModel):
    """A pattern of a model's lattice; `discounts` are D1, D2, D3+."""

    pattern: str
    words: str
    grams: int
    discounts: list[float]
    mean_weight: float | None


class ModelDescription(BaseModel):
    """A model that is served."""

    name: str
    estimator: str
    order: int
    lattice: str
    weights: str
    vocabulary: int
    trained_words: int | None
    trained_sentences: int | None
    punctuation_apart: bool
    skips: bool
    patterns: list[PatternFigures]
    signature: str


class Examples(BaseModel):
    """Texts to begin with, and where they are from."""

    beginning: str
    next_word: str
    text: str
    told: str


class ServiceLimits(BaseModel):
    """What a request may ask for."""

    body_bytes: int
    text_characters: int
    history_characters: int
    word_characters: int
    corrected_characters: int
    predictions: int
    sentences: int
    sentence_words: int
    seconds: float


class Models(BaseModel):
    """All models, in the order they were named when the service was started."""

    models: list[ModelDescription]
    examples: Examples
    limits: ServiceLimits


class Predicted(BaseModel):
    """A word and its probability; `learned` is the part of it that comes from the history of the question."""

    word: str
    probability: float
    learned: float = 0.0


class Predictions(BaseModel):
    """The most probable words first. `unknown` are words of the context that neither model nor history knows.

    words_learned: of the history, ends of sentences among them.
    """

    model: str
    predictions: list[Predicted]
    unknown: list[str]
    words_learned: int = 0
    signature: str


class ScoredSentence(BaseModel):
    """The words of a line and the end, `</s>`: log10 of the probability of each, and whether it is known."""

    words: list[str]
    log10_probs: list[float]
    known: list[bool]


class Scores(BaseModel):
    """A text, word by word and as a whole; a perplexity of nothing is null."""

    model: str
    sentences: list[ScoredSentence]
    words: int
    unknown_words: int
    log10_prob: float
    perplexity: float | None
    perplexity_known: float | None
    signature: str


class ChangedWords(BaseModel):
    """Words that were changed: the first token of the line, counted from 0, what it was and what it has become.

    `before` has a blank where two tokens became one, `after` where one became two.
    """

    token: int
    before: str
    after: str


class CorrectedSentence(BaseModel):
    """A line with its spelling corrected, and what was changed."""

    text: str
    changes: list[ChangedWords]


class Corrected(BaseModel):
    """A text with its spelling corrected, line by line."""

    model: str
    sentences: list[CorrectedSentence]
    signature: str


class ExplainedPattern(BaseModel):
    """What one pattern says about a word.

    `kept` are its words, null for a gap, the oldest first. `total` counts what followed them, `count` how much of it
    was the word, null where the file has no counts; of a pattern of `classes` it is the word's class that is counted,
    and `given_class` is the probability of the word in it. `discount` is what is taken off the count, `backoff` the
    backoff weight, `share` the weight the pattern received, `contribution` what it adds to the probability and `part`
    which part of the probability that is.
    """

    pattern: str
    kept: list[str | None]
    chain: bool
    classes: bool
    given_class: float
    total: int | None
    count: int | None
    discount: float
    discounts: list[float]
    discounted: float
    backoff: float
    share: float
    contribution: float
    part: float
    below: list[str]


class WordClass(BaseModel):
    """The class of a word in a clustering, numbered from 1: how many words it has, and its most frequent ones."""

    word: str
    clustering: int
    words: int
    members: list[str]


class ExplainedWord(BaseModel):
    """The probability of a word taken apart: the contributions and `uniform_contribution` add up to it.

    `classes` are those of the words of the context that the model looks at, and of the word; none without classes.
    """

    model: str
    word: str
    known: bool
    context: list[str]
    unknown: list[str]
    probability: float
    log10_prob: float
    patterns: list[ExplainedPattern]
    classes: list[WordClass]
    uniform_share: float
    uniform_contribution: float
    signature: str


class Generated(BaseModel):
    """Sentences, words separated by spaces."""

    model: str
    sentences: list[str]
    signature: str
