"""How long the queries of one open model take, for `benchmarks/speed.py`: CPU and wall seconds, the best of three.

    python benchmarks/query_times.py gapgram|kenlm MODEL TEST [KENLM_BINARY]

prints JSON. What is measured, `speed.py` says; `some` sentences and their `steps` are those of one sentence and step.
With a file of KenLM's, single calls are also measured beside KenLM's own, in turn (`beside_kenlm.py`): of how many
times KenLM's speed they are.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

SOME = 1000  # sentences that are scored one by one
BEAM = 256  # states that are extended at a time
AGAIN = 3
IN_TURN, ROUNDS = 500, 7  # sentences that are scored in turn with KenLM, and how often

Times = dict[str, Any]


def measured(work: Callable[[], object]) -> list[float]:
    """[CPU, wall] seconds of some work, which is done once before."""
    work()
    runs = []
    for _ in range(AGAIN):
        cpu, wall = time.process_time(), time.perf_counter()
        work()
        runs.append((time.process_time() - cpu, time.perf_counter() - wall))
    return [min(each) for each in zip(*runs, strict=True)]


def base_scores(module: Any, model: Any, some: list[list[str]]) -> None:
    """`BaseScore` word by word, with the interface of KenLM's module."""
    for words in some:
        state = module.State()
        model.BeginSentenceWrite(state)
        for word in words:
            after = module.State()
            model.BaseScore(state, word, after)
            state = after


def of_gapgram(path: str, test: str, lines: list[str], some: list[list[str]]) -> Times:
    """The times of a model that gapgram opens."""
    from gapgram import kenlm, load

    begin = time.perf_counter()
    model = load(path)
    times: Times = {"opening": time.perf_counter() - begin}
    result = model.perplexity(test, threads=1)
    times |= {"predictions": result.predictions, "known": result.perplexity_known}
    times["batch"] = measured(lambda: model.perplexity(test, threads=1))
    times["list"] = measured(lambda: model.score_many(lines))
    times["one"] = measured(lambda: [model.score(line) for line in lines[:SOME]])

    def step() -> None:
        for words in some:
            state = model.begin_sentence()
            for word in words:
                _, state = model.extend(state, word)

    times["step"] = measured(step)
    asked = kenlm.Model(model)
    times["base"] = measured(lambda: base_scores(kenlm, asked, some))
    times["kenlm"] = measured(lambda: [asked.score(line) for line in lines[:SOME]])

    def pairs() -> Iterator[tuple[Any, str]]:
        for words in some:
            state = model.begin_sentence()
            for word in words:
                yield state, word
                _, state = model.extend(state, word)

    states, words = zip(*pairs(), strict=True)

    def beam() -> None:
        for begin in range(0, len(words), BEAM):
            model.extend_many(states[begin : begin + BEAM], words[begin : begin + BEAM], threads=1)

    times["beam"] = measured(beam)
    return times


def in_turn_with_kenlm(path: str, lines: list[str], kenlm_binary: str) -> dict[str, float]:
    """KenLM's time for single calls divided by ours, where the two take turns."""
    import kenlm

    from gapgram import kenlm as own_kenlm
    from gapgram import load

    beside, model, peer = import_module("beside_kenlm"), load(path), kenlm.Model(kenlm_binary)
    asked, turns = own_kenlm.Model(model), lines[:IN_TURN]
    works = {
        "one": (beside.scored_by(model), beside.scored_by(peer)),
        "kenlm": (beside.scored_by(asked), beside.scored_by(peer)),
        "base": (beside.stepped_by(own_kenlm, asked), beside.stepped_by(kenlm, peer)),
        "step": (beside.extended_by(model), beside.stepped_by(kenlm, peer)),
    }
    taken = {name: beside.in_turn(own, theirs, turns, ROUNDS) for name, (own, theirs) in works.items()}
    return {name: theirs / own for name, (own, theirs) in taken.items()}


def of_kenlm(path: str, test: str, lines: list[str], some: list[list[str]]) -> Times:
    """The times of a binary that KenLM's own module opens."""
    import kenlm

    begin = time.perf_counter()
    model = kenlm.Model(path)
    times: Times = {"opening": time.perf_counter() - begin}
    times["list"] = measured(lambda: [model.score(line) for line in lines])
    times["one"] = times["kenlm"] = measured(lambda: [model.score(line) for line in lines[:SOME]])
    times["step"] = times["beam"] = times["base"] = measured(lambda: base_scores(kenlm, model, some))
    return times


def main() -> None:
    """Measure, and print what came of it."""
    program, path, test, *beside = sys.argv[1:]
    lines = [line for line in Path(test).read_text("utf-8").split("\n") if line.strip()]
    some = [line.split() for line in lines[:SOME]]
    times = {"gapgram": of_gapgram, "kenlm": of_kenlm}[program](path, test, lines, some)
    if beside:
        times["turns"] = in_turn_with_kenlm(path, lines, beside[0])
    print(json.dumps({"steps": sum(map(len, some)), "some": len(some), **times}))


if __name__ == "__main__":
    main()
