"""One small file of every kind, made once, for inputs to be changed from."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import random
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import zstandard

import gapgram
from gapgram.errors import DiscountWarning
from gapgram.models.arpa.writing import as_backoff, write_arpa
from gapgram.models.backoff import write_backoff
from gapgram.models.mixture import Mixture

WORDS = 14
TOKENISED = ("sentencepiece", "sentencepiece-bytes", "tokenizers", "tokenizers-bytes")
LOGITS = ("logits.npy", "logits.npz", "logits-packed.npz")
PARQUET = ("parquet-plain", "parquet-zstd", "parquet-snappy")


def made_lines(n: int, *, seed: int = 7, words: int = WORDS) -> list[str]:
    """Sentences of words w1, w2, … in which a word hints at the next."""
    draw = random.Random(seed).random
    lines = []
    for _ in range(n):
        sentence = [0]
        for _ in range(1 + int(8 * draw())):
            sentence.append(int(words ** draw()) if draw() < 0.5 else (3 * sentence[-1] + int(2 * draw())) % words + 1)
        lines.append(" ".join(f"w{word}" for word in sentence[1:]))
    return lines


def made_files(folder: Path) -> dict[str, Path]:
    """A file of every kind in a folder, by its name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscountWarning)
        return {**_model_files(folder), **_tokenised_files(folder), **_other_files(folder)}


def _model_files(folder: Path) -> dict[str, Path]:
    """Models of all kinds: fast and compact, words and classes, whole, pruned and quantised."""
    lines = made_lines(60)
    kinds: dict[str, Callable[[Path], object]] = {
        "mkn": lambda path: gapgram.train(sentences=lines, order=3, model="mkn", output=path),
        "uniform": lambda path: gapgram.train(sentences=lines, order=3, weights="uniform", output=path),
        "counts": lambda path: gapgram.train(sentences=lines, order=4, weights="counts", output=path),
        "learned": lambda path: gapgram.train(sentences=lines, order=3, classes="none", output=path),
        "classes": lambda path: gapgram.train(sentences=lines, order=3, classes=4, output=path),
        "clusterings": lambda path: gapgram.train(sentences=lines, order=3, classes=[3, 5], output=path),
        "open": lambda path: gapgram.train(sentences=lines, order=3, model="mkn", open_vocabulary=True, output=path),
        "unbounded": lambda path: gapgram.train(sentences=lines, order=3, unbounded=True, output=path),
        "custom": lambda path: gapgram.train(
            sentences=lines, order=4, weights="uniform", lattice="11,1001,1011", output=path
        ),
    }
    made = {}
    for name, make in kinds.items():
        made[name] = folder / f"{name}.model"
        make(made[name])
        whole = gapgram.Model.load(made[name])
        for suffix in ("compact", "pruned", "quantised"):
            made[f"{name}-{suffix}"] = folder / f"{name}-{suffix}.model"
        whole.with_layout("compact", output=made[f"{name}-compact"])
        whole.pruned(counts="0,1,1", output=made[f"{name}-pruned"])
        whole.quantised(2, output=made[f"{name}-quantised"])
    return made


def _tokenised_files(folder: Path) -> dict[str, Path]:
    """Models that hold a tokeniser of a library, where both are installed."""
    if not all(find_spec(name) for name in ("sentencepiece", "tokenizers")):
        return {}
    lines, made = made_lines(60), {}
    for name in TOKENISED:
        tokenizer = folder / f"{name}.tokenizer"
        make = _pieces if name.startswith("sentencepiece") else _json_tokens
        make(tokenizer, lines, of_bytes=name.endswith("bytes"))
        made[name] = folder / f"{name}.model"
        gapgram.train(sentences=lines, order=3, model="mkn", tokenizer=tokenizer, output=made[name])
    return made


def _pieces(path: Path, lines: list[str], *, of_bytes: bool) -> None:
    """A SentencePiece model: unigrams with rules for characters, or pairs with bytes to fall back on."""
    import sentencepiece

    made, kind = io.BytesIO(), "bpe" if of_bytes else "unigram"
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=made, vocab_size=300 if of_bytes else 40, model_type=kind,
        byte_fallback=of_bytes, hard_vocab_limit=False, minloglevel=2,
    )  # fmt: skip
    path.write_bytes(made.getvalue())


def _json_tokens(path: Path, lines: list[str], *, of_bytes: bool) -> None:
    """A tokenizer.json: pairs of characters or of bytes."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE(unk_token=None if of_bytes else "<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel() if of_bytes else pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.ByteLevel() if of_bytes else decoders.Metaspace()
    alphabet = pre_tokenizers.ByteLevel.alphabet() if of_bytes else []
    trainer = trainers.BpeTrainer(
        vocab_size=300 if of_bytes else 60, special_tokens=["<unk>", "<s>"], initial_alphabet=alphabet,
        show_progress=False,
    )  # fmt: skip
    tokenizer.train_from_iterator(lines, trainer)
    tokenizer.save(str(path))


def _saved_by_library(model: Path) -> bytes:
    """A session that the library for C has saved."""
    from tests.support.c_library import Library, built_library

    with Library(built_library()).open(model) as opened, opened.session(50) as session:
        for line in ("w1 w2 new", "w3 new w1"):
            session.score(line, learn=True)
        session.forget(0.5)
        session.score("w5 other w1", learn=True)
        saved: bytes = session.save()
    return saved


def _other_files(folder: Path) -> dict[str, Path]:
    """All that is no model of gapgram's own."""
    models = {name: gapgram.Model.load(folder / f"{name}.model") for name in ("mkn", "learned")}
    names = "counts-file session library-session arpa backoff mixture whole-mixture class-list toml"
    made = {name: folder / name for name in names.split()}
    models["mkn"].counts.save(made["counts-file"])
    session = models["mkn"].session()
    session.read(["w1 w2 new", "w3 new w1"])
    session.forget(0.5)
    session.read(["w5 other w1"])
    session.save(made["session"])
    made["library-session"].write_bytes(_saved_by_library(folder / "classes.model"))
    backoff = as_backoff(models["mkn"])
    write_arpa(backoff, made["arpa"])
    write_backoff(gapgram.load(made["arpa"]), made["backoff"])  # type: ignore[arg-type]
    Mixture(list(models.values()), [0.25, 0.75]).save(made["mixture"])
    inner = Mixture([gapgram.load(made["backoff"]), gapgram.load(folder / "classes-compact.model")], [0.5, 0.5])
    Mixture([models["learned"], inner], [0.25, 0.75]).save(made["whole-mixture"], whole=True)
    made["class-list"].write_text("".join(f"w{i}\tgroup{i % 3}\n" for i in range(1, WORDS)), "utf-8")
    text = "\n".join(made_lines(40)).encode() + b"\n"
    for suffix, pack in (("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress),
                         ("zst", zstandard.ZstdCompressor().compress)):  # fmt: skip
        made[f"text.{suffix}"] = folder / f"text.{suffix}"
        made[f"text.{suffix}"].write_bytes(pack(text[: len(text) // 2]) + pack(text[len(text) // 2 :]))
    made["toml"].write_text(_STUDY, "utf-8")
    made["wiki"], made["acquis"] = folder / "wiki.xml", folder / "acquis.xml"
    made["wiki"].write_text(_WIKI, "utf-8")
    made["acquis"].write_text(_ACQUIS, "utf-8")
    made["records"] = folder / "records.jsonl"
    lines = [json.dumps({"text": line, "id": i, "more": [i]}) for i, line in enumerate(made_lines(12))]
    made["records"].write_text("\n".join([*lines, ""]), "utf-8")
    made |= _parquet_files(folder)
    made |= _files_of_recognisers(folder)
    made["requests"] = folder / "requests.json"
    made["requests"].write_text(json.dumps(_REQUESTS), "utf-8")
    return made


def _files_of_recognisers(folder: Path) -> dict[str, Path]:
    """Logits, labels and hot words."""
    names = (*LOGITS, "logits.jsonl", "labels.json", "labels.txt", "hot-words")
    made = {name: folder / name for name in names}
    logits = np.random.default_rng(1).normal(size=(2, 7, 14))
    np.save(made["logits.npy"], logits[0])
    for name, save in (("logits.npz", np.savez), ("logits-packed.npz", np.savez_compressed)):
        save(made[name], one=logits[0], two=logits[1].astype(np.float32))
    lines = [json.dumps({"id": f"u{i}", "logits": one.round(3).tolist()}) for i, one in enumerate(logits)]
    made["logits.jsonl"].write_text("\n".join([*lines, ""]), "utf-8")
    labels = ["", " ", *"wn0123456789"]
    made["labels.json"].write_text(json.dumps({label: i for i, label in enumerate(labels)}), "utf-8")
    made["labels.txt"].write_text("\n".join([*labels, ""]), "utf-8")
    made["hot-words"].write_text("w1\nw2 w3\t4.5\nn12\t-1e3\n", "utf-8")
    return made


def _parquet_files(folder: Path) -> dict[str, Path]:
    """Records in Parquet files, plain and packed, where pyarrow is installed."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        return {}
    lines = made_lines(12)
    table = pyarrow.table({"text": lines, "id": list(range(12)), "more": [[i, None] for i in range(12)]})
    made = {name: folder / f"{name}.parquet" for name in PARQUET}
    for packing, path in zip(("none", "zstd", "snappy"), made.values(), strict=True):
        packed = packing != "none"
        pyarrow.parquet.write_table(table, path, compression=packing, row_group_size=5, use_dictionary=packed)
    return made


_STUDY = """title = "Toy"
output = "report"
orders = [2, 3]
models = ["mkn", "glm uniform"]
protocols = ["sequences", "running"]
seed = 7

[sequences]
length = 5
number = 100

[[corpus]]
name = "toy"
language = "en"
text = "text.txt"
max_lines = 50

[[sizes]]
corpus = "toy"
shares = [1.0, 0.1]
"""

_WIKI = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/" version="0.10" xml:lang="en">
  <siteinfo><namespaces><namespace key="0" case="first-letter" /><namespace key="4">Project</namespace></namespaces>
  </siteinfo>
  <page><title>One</title><ns>0</ns><id>1</id><revision><model>wikitext</model><text>A '''word''' in a [[link|text]] and
{{a template|x={{y}}}}. &lt;ref name="n"&gt;A note.&lt;/ref&gt; * Lists {| class="x" |- | cell |} of [http://a.b words].
&lt;nowiki&gt;[[no]]&lt;/nowiki&gt; &lt;!-- hidden --&gt; Dr. Smith came. He left &amp;amp; slept.</text></revision>
  </page>
  <page><title>Two</title><ns>0</ns><id>2</id><redirect title="One" />
  <revision><text>#REDIRECT [[One]]</text></revision></page>
</mediawiki>
"""

_ACQUIS = """<TEI.2 id="jrc1-en" n="1" lang="en"><teiHeader lang="en"><fileDesc><titleStmt><title>A</title></titleStmt>
</fileDesc></teiHeader><text><body><head n="1">Decision 1</head><div type="body">
<p n="2">The Council has decided. It is so.</p>
<p n="3">Article 1 &amp; 2 of the Treaty.</p></div><div type="signature"><p n="9">Done at Brussels.</p></div></body>
</text></TEI.2>
"""

_REQUESTS = [
    {"context": "w1 w2", "k": 5, "prefix": "w"},
    {"context": "w1", "word": "w2"},
    {"begin": "w1", "n": 2, "max_words": 5, "temperature": 1.0, "top_k": 3, "seed": 1},
]
