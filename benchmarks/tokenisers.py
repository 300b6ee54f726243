"""Models of words, of SentencePiece's and of Hugging Face's tokens, and of characters, on raw text in some languages.

    python benchmarks/tokenisers.py FOLDER_OF_WIKI --languages en,de,fr,it --lines 20000 -o /tmp/out

The tokenisers are trained on the training text. Each model is written, opened again, and asked about raw test text, and
its score is compared with that of its tokens. The folder holds LANGUAGE.train.txt.xz and LANGUAGE.test.txt.xz.
A model of words gives unknown words the probability of <unk>, and so says nothing of their letters: in the row "with
letters" a model of characters, of words met once, spells them, so that all rows are models of the same bytes.
"""

from __future__ import annotations

import io
import lzma
import math
import time
import warnings
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

import click

import gapgram
from gapgram.errors import DiscountWarning

PIECES = 8000  # tokens of the tokenisers of libraries


def lines_of(path: Path, n: int) -> list[str]:
    """The first lines of a packed text that have words."""
    with lzma.open(path, "rt", encoding="utf-8") as file:
        return list(islice((line.rstrip("\n") for line in file if line.strip()), n))


def sentencepiece_file(path: Path, lines: list[str]) -> Path:
    """A unigram model of SentencePiece, with its usual options."""
    import sentencepiece

    made = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=made, vocab_size=PIECES, num_threads=1, minloglevel=2
    )
    path.write_bytes(made.getvalue())
    return path


def tokenizer_json(path: Path, lines: list[str]) -> Path:
    """A BPE model of bytes, as neural models have."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=PIECES, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(lines, trainer)
    tokenizer.save(str(path))
    return path


def measured(path: Path, training: list[str], test: list[str], **options: Any) -> tuple[gapgram.Model, dict[str, Any]]:
    """A model that was trained, written and opened again, and its figures."""
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscountWarning)
        gapgram.train(sentences=training, output=path, **options)
    trained = time.process_time() - began
    model = gapgram.Model.load(path)
    assert model.score(test[0]) == model.score(model.tokens(test[0]))
    model.perplexity(sentences=test[:50], threads=1)
    began = time.process_time()
    found = model.perplexity(sentences=test, threads=1)
    scored = time.process_time() - began
    speed = (found.text_words or 0) / scored
    return model, {"found": found, "bytes": path.stat().st_size, "train": trained, "speed": speed}


def letters_of_unknown(model: gapgram.Model, training: list[str], test: list[str]) -> float:
    """log10 of the probability of the letters of the words that a model does not know, by words met once."""
    counts = Counter(word for line in training for word in line.split())
    once = [word for word, n in counts.items() if n == 1]
    unknown = [word for line in test for word in line.split() if word not in model.vocabulary]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscountWarning)
        speller = gapgram.train(sentences=once, order=6, model="mkn", tokenizer="chars")
    return math.fsum(speller.score_many(unknown, threads=1).tolist())


def row(language: str, name: str, figures: dict[str, Any], more: float = 0.0) -> str:
    """A row of the table."""
    found: gapgram.Perplexity = figures["found"]
    bits = found.bits_per_byte - more * math.log2(10) / (found.text_bytes or 1)
    per_word = 10 ** (-(found.log10_prob + more) / ((found.text_words or 0) + found.sentences))
    unknown = 100 * found.unknown_words / found.words
    return (
        f"| {language} | {name} | {found.words / (found.text_words or 1):.2f} | {unknown:.2f} % "
        f"| {found.perplexity:.1f} | {per_word:,.0f} | {bits:.3f} "
        f"| {figures['bytes'] / 1e6:.1f} | {figures['train']:.1f} | {figures['speed'] / 1e6:.2f} |"
    )


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--languages", default="en,de,fr,it", show_default=True)
@click.option("--lines", default=20_000, show_default=True)
@click.option("--test-lines", default=2_000, show_default=True)
@click.option("--glm/--no-glm", default=True, help="Default glms of words and of SentencePiece's tokens too.")
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="Folder for the models.")
def main(folder: Path, languages: str, lines: int, test_lines: int, glm: bool, output: Path) -> None:
    """Print a table of all models."""
    output.mkdir(parents=True, exist_ok=True)
    print("| | model | tokens a word | unknown | per token | per word | bits per byte | MB | CPU s | M words a CPU s |")
    print("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    for language in languages.split(","):
        training = lines_of(folder / f"{language}.train.txt.xz", lines)
        test = lines_of(folder / f"{language}.test.txt.xz", test_lines)
        pieces = sentencepiece_file(output / f"{language}.spm", training)
        pairs = tokenizer_json(output / f"{language}.json", training)
        words, figures = measured(output / f"{language}.words", training, test, model="mkn", order=5)
        letters = letters_of_unknown(words, training, test)
        print(row(language, "words, mkn, order 5", figures), flush=True)
        print(row(language, "… with letters", figures, letters), flush=True)
        runs: dict[str, dict[str, Any]] = {
            "SentencePiece, mkn, 6": {"model": "mkn", "order": 6, "tokenizer": pieces},
            "tokenizers, mkn, 6": {"model": "mkn", "order": 6, "tokenizer": pairs},
            "characters, mkn, 10": {"model": "mkn", "order": 10, "tokenizer": "chars"},
        }
        if glm:
            runs["SentencePiece, glm, 5"] = {"order": 5, "tokenizer": pieces}
        for name, options in runs.items():
            print(row(language, name, measured(output / f"{language}.model", training, test, **options)[1]), flush=True)
        if glm:
            figures = measured(output / f"{language}.model", training, test, order=5)[1]
            print(row(language, "words, glm, 5, with letters", figures, letters), flush=True)


if __name__ == "__main__":
    main()
