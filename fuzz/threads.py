"""Objects that change, used by many threads at once: no crash, no error, and what they answer is possible.

    python -m fuzz.threads --seconds 60
"""

from __future__ import annotations

import gc
import pickle
import random
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import numpy as np

import gapgram
from fuzz.seeds import made_lines
from gapgram.ctc import Decoder, Hypothesis
from gapgram.errors import UsageError
from gapgram.models.arpa.growing.files import grow_arpa
from gapgram.models.unbounded import UnboundedModel
from gapgram.queries.session import Session
from gapgram.queries.typing_words import TypedWords
from gapgram.queries.whole_words import WholeWords
from gapgram.reporting.tracing import Tracer
from gapgram.text.corpus import blocks_of_sentences
from gapgram.web.readers import Readers

THREADS = 16
Call = Callable[[random.Random], object]
_SWITCH = 1e-6  # seconds after which Python may let another thread go on


class Odd(Exception):
    """An answer that cannot be."""


def _sums_to_one(given: Any) -> None:
    if abs(float(given.sum()) - 1) > 1e-6:
        raise Odd(f"a distribution that sums to {given.sum()}")


def _probable(predictions: list[Any]) -> None:
    if not all(0 <= one.probability <= 1 + 1e-9 for one in predictions):
        raise Odd(f"predicted {predictions}")


def _finite(scores: Any) -> None:
    if not np.isfinite(scores).all() or np.max(scores, initial=0.0) > 1e-9:
        raise Odd(f"scores {scores}")


def _decoded(found: list[Hypothesis]) -> None:
    _finite(np.array([one.language for one in found]))


def session_calls(session: Session, folder: Path) -> list[Call]:
    """What may be asked of a session, reading and forgetting among it."""
    lines = made_lines(70)

    def save(draw: random.Random) -> None:
        path = folder / f"session-{draw.randrange(10**9)}"
        session.save(path)
        session.model.session().load(path)
        path.unlink()

    return [
        lambda draw: session.read([f"n{draw.randrange(10**6)} w1 n{draw.randrange(9)}"] * draw.randrange(50)),
        lambda draw: _finite(session.score("w1 n3 w5", learn=True)),
        lambda draw: _finite(session.scores("new w1 w5")),
        lambda draw: _probable(session.predict("w1 n3", 5)),
        lambda draw: _probable(session.predict("w1", 3, prefix="n")),
        lambda draw: _sums_to_one(session.distribution("w1")),
        lambda draw: session.forget(draw.choice((0.1, 0.5, 1.0))),
        lambda draw: _finite(session.score_many(lines)),
        lambda draw: session.copy().read(["a b c"]),
        lambda draw: session.explain("w1", ["w2"]),
        lambda draw: list(session.generate(1, seed=3)),
        lambda draw: session.perplexity(sentences=lines[:5]),
        lambda draw: session.read_ids([1, 5, 6, draw.randrange(3, 9)]),
        lambda draw: _unless_refused(lambda: session.take_back(1), "take back"),
        lambda draw: session.continue_ids([1, 5], n=2),
        lambda draw: _sums_to_one(session.distribution_of([1, 5])),
        lambda draw: pickle.loads(pickle.dumps(session)),
        save,
    ]


def changes_of(session: Session) -> list[Call]:
    """A session that reads, with words of its own, and forgets."""
    return [
        lambda draw: session.read([f"own{draw.randrange(10**6)} w1 own{draw.randrange(9)}"] * draw.randrange(9)),
        lambda draw: session.forget(draw.choice((0.5, 1.0))),
    ]


def _unless_refused(call: Callable[[], object], said: str) -> None:
    """What is asked of an object that another thread may have ended, or emptied."""
    try:
        call()
    except UsageError as error:
        if said not in str(error):
            raise


def decoder_calls(model: gapgram.LanguageModel) -> list[Call]:
    """What may be asked of a decoder, and of one stream of it: texts, and the end of an utterance while others push."""
    decoder = Decoder(["", " ", *"wn0123456789"], model, beam_width=8)
    logits = [np.random.default_rng(seed).normal(0, 3, (20, 14)) for seed in range(4)]
    expected, streams = [decoder.decode_beams(one, distinct=True) for one in logits], [decoder.stream()]

    def same(number: int, found: object) -> None:
        if found != expected[number]:
            raise Odd(f"decoded {found}")

    def decode(draw: random.Random) -> None:
        number = draw.randrange(4)
        same(number, decoder.decode_beams(logits[number], distinct=True))

    def own_stream(draw: random.Random) -> None:
        number, stream = draw.randrange(4), decoder.stream()
        stream.push(logits[number][:9])
        stream.push(logits[number][9:])
        same(number, stream.finish_beams())

    def push(draw: random.Random) -> None:
        _unless_refused(lambda: streams[0].push(logits[draw.randrange(4)]), "the stream is finished")

    def finish(draw: random.Random) -> None:
        ended, streams[0] = streams[0], decoder.stream()
        _unless_refused(
            lambda: _finite(np.array([one.language for one in ended.finish_beams()])), "the stream is finished"
        )

    return [decode, own_stream, push, push, push, lambda draw: streams[0].text, finish]


def _same(make: Callable[[random.Random], object]) -> Call:
    """What gives the same whoever asks beside it."""
    expected = make(random.Random(0))

    def ask(draw: random.Random) -> None:
        if (found := make(draw)) != expected:
            raise Odd(f"{str(found)[:99]}, not {str(expected)[:99]}")

    return ask


def making_calls(folder: Path) -> list[Call]:
    """Models and files made at the same time, some of them under one name."""
    lines = made_lines(40)
    whole = gapgram.train(sentences=lines, order=3, classes="none")

    def trained(draw: random.Random) -> object:
        return gapgram.train(sentences=lines, order=3, model="mkn", threads=2).score_many(lines).tolist()

    def written(draw: random.Random) -> object:
        path = folder / f"trained-{draw.randrange(10**9)}"
        gapgram.train(sentences=lines, order=2, classes=3, output=path, memory="60M")
        return path.read_bytes()

    def grown(draw: random.Random) -> object:
        path = folder / f"grown-{draw.randrange(10**9)}"
        grow_arpa(whole, path, grams=60, threads=2)
        return path.read_bytes()

    return [_same(trained), _same(written), _same(grown), lambda draw: whole.save(folder / "one-name")]


def unbounded_calls() -> list[Call]:
    """What may be asked of a model that keeps its text."""
    lines = made_lines(60)
    model = gapgram.train(sentences=lines, order=3, unbounded=True)
    assert isinstance(model, UnboundedModel)
    tracer = Tracer(model, least=2)
    return [
        _same(lambda draw: model.score_many(lines).tolist()),
        _same(lambda draw: model.predict("w1 w2", 5)),
        _same(lambda draw: model.evidence("w3", "w1 w2")),
        _same(lambda draw: [one.score for one in tracer.documents(blocks_of_sentences(lines[:9]))]),
    ]


def used_by_threads(calls: list[Call], seconds: float, *, threads: int = THREADS) -> Counter[str]:
    """How often threads called, and which errors came of it."""
    end, outcome, lock = time.monotonic() + seconds, Counter[str](), threading.Lock()

    def work(number: int) -> None:
        draw, own = random.Random(number), Counter[str]()
        while time.monotonic() < end:
            own["calls"] += 1
            try:
                draw.choice(calls)(draw)
            except Exception as error:
                own[f"{type(error).__name__}: {error!s:.100}"] += 1
        with lock:
            outcome.update(own)

    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH)
    try:
        workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
        for worker in workers:
            worker.start()
        while any(worker.is_alive() for worker in workers):
            gc.collect()
            time.sleep(0.005)
    finally:
        sys.setswitchinterval(before)
    return outcome


def objects(folder: Path) -> dict[str, list[Call]]:
    """What is used, by its name."""
    lines = made_lines(400, words=50)
    words = gapgram.train(sentences=lines, order=3, model="mkn", output=folder / "words.model")
    letters = gapgram.train(sentences=lines[:100], order=4, model="mkn", tokenizer="chars")
    spelled = letters.session()
    whole, readers, history = WholeWords(spelled), Readers(words, most=3), "w1 w2\nnew w3\nw4 new\n"
    typing, heard = words.session(), words.session()
    typed, hearing = TypedWords(typing), Decoder(["", " ", *"wn0123456789"], session=heard, beam_width=8)
    logits = np.random.default_rng(9).normal(0, 3, (20, 14))

    def ask_reader(draw: random.Random) -> None:
        with readers.after(history[: history.index("\n", draw.randrange(16)) + 1]) as session:
            _probable(session.predict("w1", 3))

    return {
        "session": session_calls(words.session(), folder),
        "whole words": [
            lambda draw: _probable(whole.predict("w", 2)),
            lambda draw: spelled.read([f"é{chr(945 + draw.randrange(20))}"]),
            lambda draw: spelled.forget(1.0),
        ],
        "typed words": [
            lambda draw: _probable(typed.predict("w1", 3, prefix=draw.choice(("w1", "own", "")))),
            *changes_of(typing),
        ],
        "readers": [ask_reader],
        "decoder": decoder_calls(words),
        "decoder of a session": [
            lambda draw: _decoded(hearing.decode_beams(logits)),
            *changes_of(heard),
        ],
        "what keeps its text": unbounded_calls(),
        "training and growing": making_calls(folder),
        "model": [
            lambda draw: _finite(words.score_many(lines[:100])),
            lambda draw: _probable(words.predict(f"w{draw.randrange(60)}", 3)),
            lambda draw: _sums_to_one(words.distribution(["w1", f"x{draw.randrange(10**6)}"])),
            lambda draw: words.session().read(lines[:3]),
        ],
    }


@click.command()
@click.option("--seconds", default=60.0, show_default=True)
def main(seconds: float) -> None:
    """Use objects that change from many threads."""
    warnings.simplefilter("ignore")
    failed = False
    with TemporaryDirectory() as folder:
        made = objects(Path(folder))
        for name, calls in made.items():
            outcome = used_by_threads(calls, seconds / len(made))
            errors = {what: n for what, n in outcome.items() if what != "calls"}
            failed = failed or bool(errors)
            print(f"{name}: {outcome['calls']:,} calls of {THREADS} threads, errors {errors or 'none'}", flush=True)
    raise SystemExit(int(failed))


if __name__ == "__main__":
    main()
