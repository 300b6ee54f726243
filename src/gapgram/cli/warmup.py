"""gapgram warmup: compiles all kernels for this machine.

Kernels are compiled where something uses them: so small models of every kind are used in every way, by a process on
each core. The models themselves are made by kernels that run as plain Python, which takes a second.
"""

from __future__ import annotations

import base64
import contextlib
import os
import random
import subprocess
import sys
import time
import warnings
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from gapgram.cli.options import print_json, shared, talk

if TYPE_CHECKING:
    from gapgram import Model

# What is done with TEXT and the models in a folder: a process does all lines of a group, most work first.
# `ask` stands for what is done with a model in Python alone.
MODELS = (
    "train TEXT -o GLM -n 3 --classes 3", "convert GLM -o SMALL --layout compact", "train TEXT -o MKN -n 3 --model mkn",
    "arpa MKN -o ARPA", "train TEXT -o LATTICE -n 3 --weights uniform",
)  # fmt: skip
USES = (
    ("train TEXT -o NEW -n 3 --classes 3 --threads 2", "train TEXT -o NEW -n 3 --memory 30000B",
     "classes TEXT -o NEW -k 3",
     "train TEXT TEXT TEXT TEXT TEXT TEXT TEXT TEXT TEXT TEXT -o NEW -n 2 --model mkn --documents"),
    ("predict GLM w1", "predict GLM w1 --prefix w", "explain GLM w1 w2", "verify GLM --complete", "generate GLM -n 1",
     "info GLM", "predict GLM --evaluate TEXT --limit 1", "ask GLM"),
    ("score GLM TEXT", "score LATTICE TEXT", "ask LATTICE", "perplexity GLM TEXT", "score GLM TEXT --learn",
     "predict GLM w1 --history TEXT", "ask GLM session"),
    ("score SMALL TEXT", "predict SMALL w1", "predict SMALL w1 --prefix w", "explain SMALL w1 w2", "verify SMALL",
     "ask SMALL"),
    ("train TEXT -o NEW -n 3 --classes 3 --threads 3 --layout compact", "convert SMALL -o NEW --layout fast",
     "convert GLM -o NEW --layout compact --quantise 4"),
    ("prune GLM -o NEW --counts 0,1", "prune MKN -o NEW --keep 0.7", "mix MKN GLM --tune TEXT -o NEW",
     "score NEW TEXT", "predict NEW w1"),
    ("score ARPA TEXT", "predict ARPA w1", "ask ARPA", "arpa MKN -o NEW",
     "arpa GLM -o NEW --grow --grams 60"),
    ("score PROBING TEXT", "ask PROBING", "convert PROBING -o NEW", "ask TRIE", "convert TRIE -o NEW",
     "score NEW TEXT"),
)  # fmt: skip

# Binary files of KenLM, of two words, three pairs and two triples; packed.
KENLM = {
    "PROBING": (
        b"c-qU&O)OBz$yLZGDJihh*U!#KO-##7%}LQq&d=3P&QD2INXswEO)OC;OD!tS%+FIW<zhg9274f}pAks>2Lg}?BUFYNOdhaD7Gp(`V_;xnK"
        b"m{QAf;z>$mTjeAJ%ZWUmoJHnvokZ`23$GcKh_pM$Of5ZuBA1p_D}aK77SGf_JbVDz;Nu)teG?S0Wrv34aUaC_Gi!d>`O~a1JY;q!c=p7V#"
        b";XQXe<nrvjd4Y7QOvYTV2x%VuSQ+wwYhpbEsJX$hU)-iwe}fwDbM3otTGgCI|#xnW~TyuUrJO)21{p+m6Ae7>M<OL?S~H0|1a1V#@"
    ),
    "TRIE": (
        b"c-qU&O)OBz$yLZGDJihh*U!#KO-##7%}LQq&d=3P&QD2INXswEO)OC;OD!tS%+FIW<zhg9274f}pAks>2Lg}?BUFYNOdhajf{KAKD~cQg0"
        b"~3--EKs_jPI0egTPcHJcJ}2<;^ORFIp06l7C*=~*V39)`=|RALdSvqAO|4$#}3V!IddP3XKZY||LhqbI3FknRu6MuT3Q-V{>)xvHz2zW9b"
        b"~4Zy#wN3hkzR8fqaFmw6ssA#>U^-U_k*>36fYkbLLKVWbHPkdD(UhHpO-fi3~RSKq`p=0JJPkTm"
    ),
}


@click.command()
@shared("threads", "json", "quiet")
def command(threads: int | None, as_json: bool, quiet: bool) -> None:
    """Compile all kernels for this machine now, so that no command has to.

    For container images and machines that many use. Says how long it took and where kernels are kept.
    """
    from gapgram.errors import UsageError
    from gapgram.kernels import jit
    from gapgram.native import on_first_compilation, store
    from gapgram.system.parallel import checked_threads
    from gapgram.system.progress import progress_bar

    if jit.AS_PYTHON:
        raise UsageError("warmup: NUMBA_DISABLE_JIT is set, and kernels run as plain Python; unset it to compile them")
    on_first_compilation.clear()  # that it is compiling is what the command says anyway
    began, compiled, loaded = time.monotonic(), 0, set[str]()
    folder = store.folder_to_write()
    with TemporaryDirectory() as place:
        make_models(Path(place))
        with progress_bar("compiling kernels", total=len(USES), progress=not quiet) as advance:
            for names, n_compiled in each_use(Path(place), checked_threads(threads)):
                loaded |= names
                compiled += n_compiled
                advance(1)
    seconds = time.monotonic() - began
    if as_json:
        about = {"kernels": len(loaded), "compiled": compiled, "seconds": seconds}
        print_json({**about, "folder": str(folder) if folder else None})
        return
    what = f"{compiled} kernels compiled" if compiled else f"all {len(loaded)} kernels are there"
    talk(f"{what} in {seconds:.0f} s; they are kept in {folder or 'no folder'}", quiet)


def files_in(folder: Path) -> dict[str, str]:
    """What the words of the tables above stand for."""
    return {name: str(folder / name.lower()) for name in ("TEXT", "GLM", "SMALL", "MKN", "ARPA", "LATTICE", *KENLM)}


def make_models(folder: Path) -> None:
    """A text of a few frequent words, and models of it."""
    chance, files = random.Random(1), files_in(folder)
    lines = ("".join(f"w{min(int(chance.random() ** -1.2), 40)} " for _ in range(8)) for _ in range(60))
    Path(files["TEXT"]).write_text("\n".join([*lines, "", "w1 w2", ""]))
    write_kenlm_files(folder)
    program = "import sys; from gapgram.cli.warmup import do; do(sys.stdin.read().splitlines(), sys.argv[1])"
    subprocess.run(
        [sys.executable, "-c", program, str(folder)], input="\n".join(MODELS), text=True, check=True,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
    )  # fmt: skip


def write_kenlm_files(folder: Path) -> None:
    """Files of each kind of KenLM's."""
    for name, packed in KENLM.items():
        Path(files_in(folder)[name]).write_bytes(zlib.decompress(base64.b85decode(packed)))


def each_use(
    folder: Path, processes: int, uses: Sequence[Sequence[str]] = USES
) -> Iterator[tuple[set[str], int]]:
    """Do all uses, several at a time; of each which kernels it called, and how many it compiled."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor, as_completed

    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        waiting = [pool.submit(do, lines, str(folder)) for lines in uses]
        for done in as_completed(waiting):
            yield done.result()


def compile_ahead(uses: Sequence[Sequence[str]]) -> None:
    """Compile all that some uses need, each in a process of its own, where there are cores and a folder for that."""
    from gapgram.native import store
    from gapgram.system.parallel import checked_threads

    processes = min(checked_threads(None), len(uses))
    if processes > 1 and store.folder_to_write() is not None:
        with TemporaryDirectory() as place:
            make_models(Path(place))
            for _ in each_use(Path(place), processes, uses):
                pass


def do(lines: Sequence[str], folder: str) -> tuple[set[str], int]:
    """Run commands without a word; which kernels they called, and how many they compiled."""
    from gapgram.cli.main import group
    from gapgram.kernels import jit

    files = {**files_in(Path(folder)), "NEW": str(Path(folder) / f"new{os.getpid()}")}
    warnings.simplefilter("ignore")
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
        for line in lines:
            arguments = [files.get(word, word) for word in line.split()]
            if arguments[0] == "ask":
                _ask(*arguments[1:])
            else:
                group(arguments, standalone_mode=False)
    compiled = len(jit.compiled)
    jit.compiled.clear()  # the process may be given other commands
    return set(jit.loaded), compiled


def _ask(path: str, what: str = "all") -> None:
    """Ask a model what commands do not ask, or not of so small a one; what: "line", "session" or "all"."""
    import numpy as np

    from gapgram import Model, load
    from gapgram.counts.check_meaning import is_sound
    from gapgram.models.open import load_own
    from gapgram.text.files import Block

    model = load(path)
    model.score("w1 w2")
    if what == "session":
        _read(load_own(path, wanted_by="warmup"))
    if what != "all":
        return
    if isinstance(model, Model):
        is_sound(model.counts, 1, [np.zeros(0, np.int64)])
        model.gram_lengths(np.zeros(1, np.int32))
    model.score_many(["w1 w2", "w3"], threads=1)
    model.score_many(["w1 w2"] * 100, threads=1)  # many strings are made into lines by a kernel
    model.score_ids(np.zeros(1, np.int32), np.array([0, 1]), threads=1)
    Block("text", 1, b"w1\nw2\n").cut(3)
    model.log10_prob("w1", ["w2"])
    _, state = model.extend(model.begin_sentence(), "w1")
    model.extend_many([state, state], ["w2", "w3"], threads=1)
    model.distribution(["w1"])


def _read(model: Model) -> None:
    """Let sessions read more than a copy copies, and more than they remember."""
    words = [f"new{i}" for i in range(1500)]
    reader, forgetful = model.session(), model.session(max_words=10)
    reader.read([" ".join(words)])
    reader.copy()
    forgetful.read([" ".join(words[:20])])
