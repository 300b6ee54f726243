"""Check a wheel for one platform: its code is used, nothing is compiled, and results are those of the pure one.

    python wheels/check_wheel.py PURE_PYTHON PLATFORM_PYTHON

are Pythons into which the one and the other wheel were installed. With each the demo is run, and the models that it
leaves are asked in every way that `gapgram warmup` knows.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from gapgram.cli.warmup import write_kenlm_files

QUESTIONS = (
    "score GLM TEXT --words --json", "score MKN TEXT --json", "perplexity GLM TEXT --json",
    "predict GLM the value of --json", "predict GLM the value --prefix o --json", "explain GLM value the --json",
    "generate GLM -n 20 --seed 3", "info GLM --json", "verify GLM --json", "score GLM TEXT --learn --json",
    "convert GLM -o SMALL --layout compact", "score SMALL TEXT --json", "predict SMALL the value of --json",
    "arpa MKN -o ARPA", "score ARPA TEXT --json", "mix MKN GLM --tune TEXT -o MIX", "score MIX TEXT --json",
    "prune GLM -o PRUNED --keep 0.7", "score PRUNED TEXT --json", "score PROBING TEXT --json", "predict TRIE a --json",
    "convert TRIE -o CONVERTED", "score CONVERTED TEXT --json",
)  # fmt: skip


def ask(python: str, folder: Path, command: str, kernels: Path) -> bytes:
    """What a command prints; files are those of the folder."""
    names = {"GLM": "glm.model", "MKN": "mkn.model", "TEXT": "text"}
    words = [names.get(word, word.lower() if word.isupper() else word) for word in command.split()]
    done = subprocess.run(
        [python, "-m", "gapgram", *words], cwd=folder, capture_output=True, check=False,
        env={**os.environ, "NUMBA_CACHE_DIR": str(kernels)},
    )  # fmt: skip
    if done.returncode:
        sys.exit(f"{command}: {done.stderr.decode()}")
    return done.stdout


def answers(python: str, folder: Path) -> dict[str, bytes]:
    """What the demo and all questions print, and the bytes of all models."""
    folder.mkdir()
    kernels, begin = folder / "kernels", time.perf_counter()
    printed = {"demo": ask(python, folder, "demo -o .", kernels)}
    seconds = time.perf_counter() - begin
    lines = (folder / "python.txt").read_text("utf-8").splitlines()[:200]
    (folder / "text").write_text("\n".join([*lines, ""]), "utf-8")
    write_kenlm_files(folder)
    printed |= {question: ask(python, folder, question, kernels) for question in QUESTIONS}
    made = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    n_compiled = sum(path.is_file() for path in kernels.rglob("*"))
    print(f"{python}: the demo took {seconds:.1f} s by the clock; {n_compiled} kernels were compiled")
    return {**printed, **made, "compiled": b"%d" % n_compiled}


def main() -> None:
    """Compare."""
    with TemporaryDirectory() as room:
        pythons = map(os.path.abspath, sys.argv[1:])
        pure, with_code = (answers(python, Path(room) / name) for python, name in zip(pythons, "ab", strict=True))
    if with_code.pop("compiled") != b"0":
        sys.exit("kernels were compiled that the wheel should have had: name a use of them in gapgram.cli.warmup")
    del pure["compiled"]
    different = [name for name in pure if pure[name] != with_code.get(name)]
    if different:
        sys.exit(f"other results than those of the pure wheel: {', '.join(different)}")
    print(f"{len(pure)} results are the same, bit for bit")


if __name__ == "__main__":
    main()
