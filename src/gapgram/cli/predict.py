"""gapgram predict: the most probable next words, and how good such predictions are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from gapgram.cli.options import open_reader, opened, option, print_json, shared, talk

if TYPE_CHECKING:
    from gapgram.queries.language_model import LanguageModel
    from gapgram.queries.predict import Prediction
    from gapgram.queries.session import Session
    from gapgram.reporting.prediction_quality import PredictionQuality

    Asked = LanguageModel | Session


@click.command()
@click.argument("model")
@click.argument("context", nargs=-1)
@option("-k", "--top", "k", default=10, metavar="K", help="Number of words to print.")
@option("--prefix", default="", metavar="LETTERS", help="Print only words that start with these letters.")
@option("--start", is_flag=True, help="Put the beginning of a sentence before the context.")
@option("--words", is_flag=True, help="Predict whole words, of a model that holds a tokeniser, not tokens.")
@option(
    "--words-only", is_flag=True,
    help="Predict words alone, no marks or numbers; LETTERS then find words in any case, with any accents, and with "
    "one letter wrong.",
)
@option("--with-special", is_flag=True, help="Predict <unk> and </s> too.")
@option("-i", "--interactive", is_flag=True, help="Type and see what is predicted.")
@option("--evaluate", metavar="TEXT", help="Predict the words of TEXT; further arguments are models.")
@option("--limit", type=click.IntRange(min=1), metavar="N", help="Evaluate the first N sentences only.")
@shared("learn", "history", "special", "invalid", "tokens", "threads", "json", "quiet")
def command(
    model: str, context: tuple[str, ...], k: int, prefix: str, start: bool, words: bool, words_only: bool,
    with_special: bool, interactive: bool, evaluate: str | None, limit: int | None, learn: bool,
    history: tuple[str, ...], special: str, invalid: str, tokens: bool, threads: int | None, as_json: bool, quiet: bool,
) -> None:  # fmt: skip
    """Predict the next word after CONTEXT, exactly: the K most probable words.

    \b
        gapgram predict MODEL "once upon a" -k 3
        gapgram predict MODEL "once upon a" --prefix ti
        gapgram predict en "he went to" --prefix lodn --words-only
        gapgram predict MODEL_OF_TOKENS "once upon a" --words
        gapgram predict MODEL --interactive --learn --history MY_TEXT
        gapgram predict MKN_MODEL GLM_MODEL --evaluate TEXT
    """
    from gapgram.errors import UsageError
    from gapgram.text.corpus import TextRules

    if learn and not interactive:
        raise UsageError("predict: --learn is for --interactive; --history learns a text first")
    if evaluate is not None:
        if history:
            raise UsageError("predict: --history is not for --evaluate, which asks models as they are")
        rules = TextRules(special=special, invalid=invalid)
        _evaluate([model, *context], evaluate, limit, rules, threads, as_json, quiet)
        return
    whole = opened(model, tokens=tokens, quiet=quiet)
    rules = TextRules(special=special, invalid=invalid, tokenised=tokens)
    asked = open_reader(whole, learn=learn, history=history, rules=rules) or whole
    if interactive:
        _interact(asked, k, learn=learn)
        return
    before = " ".join(context).split() if tokens else asked.tokens(" ".join(context))
    before = [*(["<s>"] if start else []), *before]
    if words:
        from gapgram.queries.whole_words import WholeWords

        predictions = WholeWords(asked).predict(before, k, prefix=prefix)
    elif words_only:
        from gapgram.queries.typing_words import TypedWords

        predictions = TypedWords(asked).predict(before, k, prefix=prefix)
    else:
        predictions = asked.predict(before, k, prefix=prefix, special=with_special)
    _tell_unknown(asked, before, prefix, predictions, quiet)
    if as_json:
        print_json(_as_dict(asked, before, prefix, predictions))
    else:
        _print_predictions(predictions)


def _as_dict(
    model: Asked, words: Sequence[str], prefix: str, predictions: Sequence[Prediction]
) -> dict[str, Any]:
    named = [{"word": p.word, "probability": p.probability} for p in predictions]
    return {"context": list(words), "prefix": prefix, "predictions": named, "signature": str(model.signature)}


def _print_predictions(predictions: Sequence[Prediction]) -> None:
    from gapgram.reporting.tables import table

    if predictions:
        print(table(["word", "probability"], [[p.word, f"{p.probability:.6f}"] for p in predictions]))


def _tell_unknown(
    model: Asked, words: Sequence[str], prefix: str, predictions: Sequence[Prediction], quiet: bool
) -> None:
    unknown = [w for w in words[max(0, len(words) - model.order + 1) :] if w not in model.vocabulary]
    if unknown:
        talk(f"not in the model's vocabulary: {' '.join(unknown)}", quiet)
    if prefix and not predictions:
        forgiving = "--words-only forgives case, accents and a wrong letter"
        talk(f"no word of the model starts with {prefix!r}; {forgiving}", quiet)


def _interact(model: Asked, k: int, *, learn: bool) -> None:
    """Read lines until the end of input; each is the beginning of a sentence."""
    import contextlib

    with contextlib.suppress(ImportError):
        import readline  # noqa: F401 - input() then knows arrow keys and earlier lines

    talk("type the beginning of a sentence; a space at its end asks for the next word, no space for the word")
    talk("to be completed; end with Ctrl-D")
    if learn:
        talk("an empty line learns the line before it")
    last = ""
    while True:
        try:
            line = input("> ")
        except EOFError:
            print()
            return
        if learn and not line.strip():
            _learn(model, last)
            last = ""
            continue
        last = line
        _answer(model, line, k)


def _learn(session: Any, line: str) -> None:
    """Learn a line that was typed."""
    from gapgram.errors import GapgramError

    if not line.strip():
        talk("nothing to learn: type a sentence first")
        return
    try:
        session.read([line])
    except GapgramError as mistake:
        talk(str(mistake))
        return
    talk(f"learned; {session.words_read:,} words and ends of sentences so far")


def _answer(model: Asked, line: str, k: int) -> None:
    from gapgram.errors import UsageError

    words = line.split()
    prefix = words.pop() if words and not line[-1].isspace() else ""
    try:
        predictions = _next_words(model, words, k, prefix)
    except UsageError as mistake:
        talk(str(mistake))
        return
    if predictions:
        _print_predictions(predictions)
    else:
        talk(f"no word of the model starts with {prefix!r}")


def _next_words(model: Asked, words: list[str], k: int, prefix: str) -> list[Prediction]:
    """Words that may follow others at the beginning of a sentence; of a model of tokens whole words too."""
    from gapgram.queries.session import Session
    from gapgram.queries.whole_words import WholeWords

    has_tokeniser = (model.model if isinstance(model, Session) else model).tokeniser is not None
    asked = WholeWords(model) if has_tokeniser else model
    return asked.predict(["<s>", *model.tokens(" ".join(words))], k, prefix=prefix)


def _evaluate(
    models: Sequence[str], text: str, limit: int | None, rules: Any, threads: int | None, as_json: bool, quiet: bool
) -> None:
    from gapgram.models.open import load_own
    from gapgram.reporting.prediction_quality import judge

    opened = [load_own(path, wanted_by="predict --evaluate") for path in models]
    results = [judge(m, text, limit=limit, rules=rules, threads=threads, progress=not quiet) for m in opened]
    if as_json:
        named = [{"model": path, **result.as_dict()} for path, result in zip(models, results, strict=True)]
        print_json({"text": text, "limit": limit, "results": named})
        return
    print(_quality_table(models, results))
    for result in results:
        talk(f"signature  {result.signature}", quiet)


def _quality_table(names: Sequence[str], results: Sequence[PredictionQuality]) -> str:
    """The models beside each other, a column each."""
    from gapgram.reporting.tables import table

    rows = [
        ["words", *[f"{r.words:,}" for r in results]],
        ["unknown words", *[f"{r.unknown_words:,}" for r in results]],
        *[
            [f"among the first {k.removeprefix('top_')}", *[f"{100 * r.accuracy[k]:.2f} %" for r in results]]
            for k in results[0].accuracy
        ],
        ["mean reciprocal rank", *[f"{r.mean_reciprocal_rank:.4f}" for r in results]],
        ["keystrokes saved", *[f"{100 * r.keystrokes_saved:.2f} %" for r in results]],
    ]
    return table(["", *names], rows)
