"""SHA-256 of model files of all kinds and layouts, to compare two versions of the program.

    python benchmarks/model_hashes.py TEXT > hashes

trains through the command line (GAPGRAM names the program, by default `gapgram`) in a temporary folder. Run it with
each version and compare the output: files whose bytes did not change say that the change was only of form.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

PROGRAM = shlex.split(os.environ.get("GAPGRAM", "gapgram"))

# name: a command line, in which names stand for the files of earlier ones and TEXT for the text.
RECIPES = {
    "mkn": "train TEXT -o mkn --model mkn",
    "mkn-3": "train TEXT -o mkn-3 --model mkn -n 3 --min-count 2",
    "mkn-limit": "train TEXT -o mkn-limit --model mkn -n 4 --vocab-limit 2000",
    "uniform": "train TEXT -o uniform --weights uniform",
    "counts": "train TEXT -o counts --weights counts -n 4",
    "learned": "train TEXT -o learned --classes none",
    "glm": "train TEXT -o glm",
    "glm-50": "train TEXT -o glm-50 --classes 50 -n 4 --seed 7",
    "glm-one-thread": "train TEXT -o glm-one-thread --threads 1",
    "held-out": "train TEXT -o held-out --held-out TEXT -n 3",
    "custom": "train TEXT -o custom --lattice 11,1001,1011 -n 4",
    "glm-in-files": "train TEXT -o glm-in-files --memory 20M",
    "mkn-in-files": "train TEXT -o mkn-in-files --model mkn --memory 4M",
    "glm-compact": "train TEXT -o glm-compact --layout compact",
    "mkn-compact": "convert mkn -o mkn-compact --layout compact",
    "glm-fast-again": "convert glm-compact -o glm-fast-again --layout fast",
    "glm-3-bits": "convert glm -o glm-3-bits --quantise 3",
    "glm-by-count": "prune glm -o glm-by-count --counts 0,0,1",
    "glm-half": "prune glm -o glm-half --keep 0.5",
    "mkn-size": "prune mkn -o mkn-size --size 2M",
    "glm-trained-small": "train TEXT -o glm-trained-small --prune 0,0,1 --size 8M",
    "arpa": "arpa mkn -o arpa",
    "mixture": "mix mkn glm --tune TEXT -o mixture",
}


def main() -> None:
    """Make all files, and print a hash and a name for each."""
    text = Path(sys.argv[1]).resolve()
    with TemporaryDirectory() as folder:
        for name, recipe in RECIPES.items():
            arguments = [str(text) if word == "TEXT" else word for word in recipe.split()]
            done = subprocess.run([*PROGRAM, *arguments], cwd=folder, capture_output=True, text=True)
            path = Path(folder) / name
            made = hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else f"none: {done.stderr[-200:]}"
            print(made, name, flush=True)


if __name__ == "__main__":
    main()
