"""Raw text, and small tokenisers that are trained on it."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

RAW = [
    "The cat sat on the mat, didn't it?",
    "A dog saw the cat; the cat ran.",
    "Zwölf Boxkämpfer jagen Viktor quer über den Sylter Deich.",
    "the mat (the old one) sat there, on the dog's box",
    "Ça va? Où est la gare -- là-bas!",
    "cats and dogs and mats and boxes",
] * 6
OTHER = ["The dog sat on the old box.", "un chat ☃ est là", "<s> and </s> are <unk> \\ here"]


def sentencepiece_file(path: Path, **options: Any) -> Path:
    """A SentencePiece model of the raw text."""
    package = pytest.importorskip("sentencepiece", reason="needs the extra gapgram[sentencepiece]")
    made = io.BytesIO()
    choices = {"vocab_size": 90, "hard_vocab_limit": False, "minloglevel": 2, **options}
    package.SentencePieceTrainer.train(sentence_iterator=iter(RAW), model_writer=made, **choices)
    path.write_bytes(made.getvalue())
    return path


def tokenizer_json(path: Path, *, byte_level: bool = False) -> Path:
    """A BPE model of the raw text as a tokenizer.json, with parts that training must do without."""
    package = pytest.importorskip("tokenizers", reason="needs the extra gapgram[tokenizers]")
    tokenizer = package.Tokenizer(package.models.BPE(unk_token=None if byte_level else "<unk>"))
    special = ["<s>", "</s>"] if byte_level else ["<unk>", "<s>", "</s>"]
    alphabet = []
    if byte_level:
        tokenizer.pre_tokenizer = package.pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = package.decoders.ByteLevel()
        alphabet = package.pre_tokenizers.ByteLevel.alphabet()
    else:
        tokenizer.pre_tokenizer = package.pre_tokenizers.Metaspace()
        tokenizer.decoder = package.decoders.Metaspace()
    trainer = package.trainers.BpeTrainer(
        vocab_size=330 if byte_level else 120, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(RAW, trainer)
    tokenizer.post_processor = package.processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[(name, tokenizer.token_to_id(name)) for name in ("<s>", "</s>")]
    )
    tokenizer.enable_truncation(3)
    tokenizer.enable_padding(pad_token="</s>", pad_id=tokenizer.token_to_id("</s>"), length=40)
    tokenizer.save(str(path))
    return path
