"""What can be asked: the bodies of requests. Numbers are numbers, and fields that nobody knows are refused."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from gapgram.web import limits


def _whole(value: Any) -> Any:
    """JSON does not tell 5.0 from 5."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


_WHOLE = BeforeValidator(_whole)  # last in an annotation, or the limits are lost from the description
Name = Annotated[str, Field(max_length=limits.WORD_CHARACTERS, description="A model's name, as /api/models lists it.")]
Text = Annotated[str, Field(max_length=limits.TEXT_CHARACTERS)]
Word = Annotated[str, Field(max_length=limits.WORD_CHARACTERS, pattern=r"^[^ \t\n\v\f\r]*$")]


class Question(BaseModel):
    """A question to one model."""

    model_config = ConfigDict(extra="forbid", strict=True)

    model: Name


class InContext(Question):
    """A question about what follows some words."""

    context: Text = Field(default="", description="The words before; only the last few are seen.")
    start: bool = Field(default=True, description="Whether the context begins a sentence.")


class PredictQuestion(InContext):
    """Which words come next?"""

    k: Annotated[int, Field(ge=1, le=limits.PREDICTIONS), _WHOLE] = Field(default=10, description="How many words.")
    prefix: Word = Field(default="", description="Only words that start so: the letters typed of a word.")
    words_only: bool = Field(
        default=False, description="Words alone, found without regard to case, accents and one wrong letter."
    )
    history: Annotated[str, Field(max_length=limits.HISTORY_CHARACTERS)] = Field(
        default="", description="A text that the prediction learns from first, one sentence a line."
    )


class ExplainQuestion(InContext):
    """Where does the probability of a word come from?"""

    word: Word = Field(min_length=1, description="The word; `</s>` is the end of the sentence.")


class ScoreQuestion(Question):
    """How surprising is a text, word by word?"""

    text: Text = Field(description="One sentence a line, words separated by white space.")


class CorrectQuestion(Question):
    """Which words of a text are misspelt?"""

    text: str = Field(
        max_length=limits.CORRECTED_CHARACTERS, description="One sentence a line, words separated by white space."
    )


class GenerateQuestion(Question):
    """Which sentences does the model write?"""

    begin: Text = Field(default="", description="Words that every sentence begins with.")
    sentences: Annotated[int, Field(ge=1, le=limits.SENTENCES), _WHOLE] = Field(default=1)
    max_words: Annotated[int, Field(ge=1, le=limits.SENTENCE_WORDS), _WHOLE] = Field(
        default=50, description="Longer sentences are cut off."
    )
    temperature: float = Field(default=1.0, ge=0.05, le=10.0, description="Low is ordinary, high is surprising.")
    top_k: Annotated[int, Field(ge=1, le=1000), _WHOLE] | None = Field(
        default=None, description="Draw from the k most probable words only."
    )
    seed: Annotated[int, Field(ge=0, lt=limits.SEEDS), _WHOLE] = Field(
        default=1, description="The same seed gives the same sentences."
    )
