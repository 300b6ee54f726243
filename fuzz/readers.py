"""Every reader: the files that its inputs are made from, how they are changed, and what is done with one."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import gapgram
from fuzz.mutations import (
    mutated_bytes,
    mutated_file,
    mutated_lines,
    mutated_mixture,
    mutated_session,
    mutated_text,
    mutated_tokeniser,
    mutated_value,
)
from fuzz.questions import ask, ask_library, expect
from fuzz.seeds import LOGITS, PARQUET, TOKENISED
from gapgram.classes.classes import read_classes
from gapgram.errors import ModelFileError
from gapgram.models.unbounded import UnboundedModel
from gapgram.queries.whole_words import WholeWords
from gapgram.reporting.model_info import model_info
from gapgram.reporting.tracing import Tracer
from gapgram.text.corpus import blocks_of_sentences, read_corpus
from gapgram.text.files import read_blocks

Mutate = Callable[[bytes, random.Random], bytes]


@dataclass(frozen=True)
class Reader:
    """A reader: the names of its seeds, how inputs are made from them, and how one, in a file, is read and asked."""

    name: str
    seeds: tuple[str, ...]
    mutate: Mutate
    read: Callable[[Path], object]

    def input(self, files: dict[str, Path], number: int, seed: int) -> bytes:
        """The input of a number; the same for ever."""
        draw = random.Random(f"{seed} {self.name} {number}")
        return self.mutate(_bytes_of(files[draw.choice(self.seeds)]), draw)


@cache
def _bytes_of(path: Path) -> bytes:
    return path.read_bytes()


def _model(path: Path) -> None:
    model = gapgram.Model.load(path)
    ask(model)
    model_info(model)


def _tokeniser(path: Path) -> None:
    """Raw text is cut, scored and put together again."""
    model = gapgram.Model.load(path)
    for text in ("w1 w2", "never ☃ é ½ <s> \\ \u3000x", ""):
        tokens = model.tokens(text)
        model.text_of(tokens)
        score = model.score(text)
        expect(-1e6 < score <= 0, f"a score of {score}")
        expect(score == model.score(tokens), f"a score of {score}, and another of its tokens")
    WholeWords(model).predict("w1", 2, prefix="w")


def _tables(path: Path) -> None:
    """As if all tables were too large to be checked: kernels are on their own."""
    ask(gapgram.Model.load(path, verify=False), sums_to_one=False)


def _unbounded(path: Path, *, verify: bool = True) -> None:
    """A model that keeps its text: whatever is asked of it, its evidence, and where another text has copied it."""
    model = gapgram.Model.load(path, verify=verify)
    ask(model, sums_to_one=verify)
    if isinstance(model, UnboundedModel):
        model.evidence("w3", ("w1", "w2"))
        model.explain("w3", ("w1", "w2", "w3", "w1"))
        model.continue_ids([4, 5, 6], n=3, k=2)
        tracer = Tracer(model, least=2)
        for document in tracer.documents(blocks_of_sentences(["w1 w2 w3 w4 w5", "never w1", "", "w3 w1 w2"])):
            expect(0 <= document.score <= 1, f"traced {document}")


def _counts(path: Path) -> None:
    counts = gapgram.Counts.open(path)
    for pattern in counts.lattice.stored:
        counts.counts_of_counts(pattern)
        counts.most_frequent(pattern, 3)


def _other_model(path: Path, **options: Any) -> None:
    ask(gapgram.load(path, **options), sums_to_one=False, most=1e5)


def _session(path: Path) -> None:
    session = gapgram.Model.load(path.parent / "mkn.model").session()
    session.load(path)
    for context in ((), ("w1", "w2"), ("new",)):
        whole = session.distribution(context)
        expect(abs(float(whole.sum()) - 1) < 1e-6 and bool((whole >= 0).all()), f"a distribution of {whole.sum()}")
    score = session.score("w1 new w2 other")
    expect(-1e6 < score <= 0, f"a score of {score}")
    session.predict("w1", 3)


def _library(path: Path) -> None:
    """As the library for C reads it: `GAPGRAM_LIBRARY` may name one with a sanitizer."""
    from tests.support.c_library import Library, LibraryError, built_library

    try:
        with Library(built_library()).open(path) as model:
            ask_library(model)
    except LibraryError as error:
        expect(str(error).startswith(f"{path}: "), f"a sentence without the file: {error}")
        expect("not enough memory" not in str(error), "no memory, or a kernel that read outside of an array")
        raise ModelFileError(str(error)) from None


def _saved_session(path: Path) -> None:
    """What the library for C saves of a session, read back."""
    from tests.support.c_library import Library, LibraryError, built_library

    with Library(built_library()).open(path.parent / "classes.model") as model, model.session(50) as session:
        try:
            session.restore(path.read_bytes())
        except LibraryError as error:
            raise ModelFileError(str(error)) from None
        expect(-1e6 < session.score("w1 w2 new", learn=True) <= 0, "a score")
        session.predict([1], 3)
        session.restore(session.save())


def _class_list(path: Path) -> None:
    read_classes(path, gapgram.Model.load(path.parent / "mkn.model").vocabulary)


def _text(path: Path) -> None:
    read_corpus(read_blocks(path))


def _study(path: Path) -> None:
    from studies.config import read_config

    read_config(path)


def _wiki(path: Path) -> None:
    from gapgram.preparation.conversion import Options
    from gapgram.preparation.wikipedia import prepare_wikipedia

    prepare_wikipedia([path], path.with_suffix(".out"), "en", Options(processes=1, malformed="skip"))


def _acquis(path: Path) -> None:
    from gapgram.preparation.acquis import prepare_acquis
    from gapgram.preparation.conversion import Options

    prepare_acquis([path], path.with_suffix(".out"), "en", Options(processes=1, malformed="skip"))


def _plain(path: Path) -> None:
    from gapgram.preparation.conversion import Options
    from gapgram.preparation.plain import prepare_text

    prepare_text([path], path.with_suffix(".out"), "en", Options(processes=1, malformed="skip"))


def _records(path: Path, ending: str = ".out") -> None:
    from gapgram.applications.filtering.run import filter_records

    filter_records(gapgram.Model.load(path.parent / "mkn.model"), path, path.with_suffix(ending), threads=1)


_HEADERS = ("content-length", "transfer-encoding", "content-type", "host", "expect", "origin", "upgrade")
_HEADER_VALUES = ("0", "5", "-1", "1e9", "9" * 30, "chunked", "text/xml", "100-continue", "")


def _requests(data: bytes, draw: random.Random) -> bytes:
    """A request: its place, headers and body, with one of them changed."""
    body = draw.choice(json.loads(data))
    names = ("predict", "explain", "generate", "score", "models", "health", "openapi.json", "", "..", "\ud800")
    request = {"path": f"/api/{draw.choice(names)}", "method": draw.choice(("POST", "POST", "GET", "PUT", "\x00"))}
    if draw.random() < 0.7:
        body = mutated_value({"model": "m", **body}, draw)
    text = json.dumps(body)
    if draw.random() < 0.3:
        text = mutated_text(text, draw)
    headers = [["host", draw.choice(("localhost", "127.0.0.1:80", "evil", "", "[::1]", "\xff"))]]
    for _ in range(draw.randrange(3)):
        headers.append([draw.choice(_HEADERS), draw.choice(_HEADER_VALUES)])
    kind = draw.choice(("http", "http", "http", "http", "http", "websocket", "lifespan?", ""))
    return json.dumps({**request, "headers": headers, "body": text, "type": kind}).encode()


@cache
def _application(folder: Path) -> Any:
    from gapgram.web.app import make_app
    from gapgram.web.served import ServedModel

    return make_app([ServedModel("m", gapgram.Model.load(folder / "learned.model"))])


def _request(path: Path) -> None:
    request, sent = json.loads(path.read_bytes()), list[dict[str, Any]]()
    scope = {
        "type": request["type"], "asgi": {"version": "3.0"}, "http_version": "1.1", "method": request["method"],
        "path": request["path"], "raw_path": request["path"].encode("utf-8", "replace"), "query_string": b"",
        "root_path": "", "scheme": "http", "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80),
        "headers": [(name.encode(), value.encode("latin-1", "replace")) for name, value in request["headers"]],
    }  # fmt: skip
    waiting = [{"type": "http.request", "body": request["body"].encode("utf-8", "surrogatepass"), "more_body": False}]

    async def receive() -> dict[str, Any]:
        return waiting.pop() if waiting else {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    asyncio.run(_application(path.parent)(scope, receive, send))
    statuses = [message["status"] for message in sent if message["type"] == "http.response.start"]
    expect(request["type"] != "http" or (len(statuses) == 1 and statuses[0] < 500), f"answered {statuses}")
    if statuses == [200]:
        body = b"".join(message.get("body", b"") for message in sent)
        expect(b"NaN" not in body and b"Infinity" not in body, f"answered {body[:200]!r}")


LABELS = ["", " ", *"wn0123456789"]


@cache
def _decoder(folder: Path) -> Any:
    from gapgram.ctc import Decoder

    return Decoder(LABELS, gapgram.Model.load(folder / "mkn.model"), beam_width=6)


def _logits(path: Path) -> None:
    """Whatever a file holds is decoded, or refused."""
    from gapgram.ctc.files import read_logits

    for _, logits in read_logits(path):
        for found in _decoder(path.parent).decode_beams(logits):
            expect(not np.isnan(found.total) and set(found.text) <= set("".join(LABELS)), f"decoded {found}")


def _labels(path: Path) -> None:
    from gapgram.ctc import Decoder
    from gapgram.ctc.files import read_labels

    decoder = Decoder(read_labels(path))
    n = len(decoder.alphabet.texts)
    decoder.decode(np.log(np.random.default_rng(1).dirichlet(np.ones(n), 5)))


def _hot_words(path: Path) -> None:
    from gapgram.ctc.files import read_hot_words

    logits = np.random.default_rng(1).normal(size=(9, len(LABELS)))
    for found in _decoder(path.parent).decode_beams(logits, hot_words=read_hot_words(path, 10.0)):
        expect(not np.isnan(found.total), f"decoded {found}")


_KINDS = ("mkn", "uniform", "counts", "learned", "classes", "open", "custom")
_MODELS = tuple(f"{kind}{suffix}" for kind in _KINDS for suffix in ("", "-compact", "-pruned", "-quantised"))
_CLUSTERINGS = tuple(f"clusterings{suffix}" for suffix in ("", "-compact", "-pruned", "-quantised"))
_UNBOUNDED = ("unbounded", "unbounded-compact", "unbounded-quantised")
_TEXTS = ("text.gz", "text.bz2", "text.xz", "text.zst")


def _mutated_json(data: bytes, draw: random.Random) -> bytes:
    if draw.random() < 0.3:
        return mutated_lines(data, draw)
    text = json.dumps(mutated_value(json.loads(data), draw))
    return text.encode("utf-8", "surrogatepass")


READERS = {
    reader.name: reader
    for reader in (
        Reader("model", _MODELS, mutated_file, _model),
        Reader("tables", _MODELS, mutated_file, _tables),
        Reader("tokeniser", TOKENISED, mutated_tokeniser, _tokeniser),
        Reader("clusterings", _CLUSTERINGS, mutated_file, _model),
        Reader("clusterings-tables", _CLUSTERINGS, mutated_file, _tables),
        Reader("unbounded", _UNBOUNDED, mutated_file, _unbounded),
        Reader("unbounded-tables", _UNBOUNDED, mutated_file, partial(_unbounded, verify=False)),
        Reader("counts", ("counts-file",), mutated_file, _counts),
        Reader("backoff", ("backoff",), mutated_file, _other_model),
        Reader("backoff-tables", ("backoff",), mutated_file, partial(_other_model, verify=False)),
        Reader("session", ("session",), mutated_file, _session),
        Reader("library", (*_MODELS, *_CLUSTERINGS, "backoff"), mutated_file, _library),
        Reader("library-mixture", ("whole-mixture",), mutated_mixture, _library),
        Reader("library-session", ("library-session",), mutated_session, _saved_session),
        Reader("mixture", ("mixture",), _mutated_json, _other_model),
        Reader("whole-mixture", ("whole-mixture",), mutated_mixture, _other_model),
        Reader("whole-mixture-tables", ("whole-mixture",), mutated_mixture, partial(_other_model, verify=False)),
        Reader("arpa", ("arpa",), mutated_lines, _other_model),
        Reader("class-list", ("class-list",), mutated_lines, _class_list),
        Reader("text", _TEXTS, mutated_bytes, _text),
        Reader("study", ("toml",), mutated_lines, _study),
        Reader("wiki", ("wiki",), mutated_lines, _wiki),
        Reader("acquis", ("acquis",), mutated_lines, _acquis),
        Reader("plain", ("wiki",), mutated_lines, _plain),
        Reader("records", ("records",), mutated_lines, _records),
        Reader("parquet", PARQUET, mutated_bytes, partial(_records, ending=".out.parquet")),
        Reader("logits", LOGITS, mutated_bytes, _logits),
        Reader("logits-lines", ("logits.jsonl",), mutated_lines, _logits),
        Reader("labels", ("labels.json", "labels.txt"), mutated_lines, _labels),
        Reader("labels-json", ("labels.json",), _mutated_json, _labels),
        Reader("hot-words", ("hot-words",), mutated_lines, _hot_words),
        Reader("http", ("requests",), _requests, _request),
    )
}
