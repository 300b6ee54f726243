"""A stranger's walk: the commands of a page, run one after the other, and their output beside what the page shows.

    python -m tests.support.walk docs/guide/tutorial.md --bin .venv/bin

Commands are the lines with `$` of `console` blocks. Shown output must be what is printed, numbers within a percent; `…`
stands for anything. A comment `<!-- differs: figures -->` before a block lets numbers differ, `<!-- differs: words -->`
all but the number of lines.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(r"(?:^<!-- differs: (\w+)[^\n]*-->\n)?^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?")
_NOT_COMPARED = re.compile(r"^compiling kernels")  # said once on each machine


@dataclass(frozen=True)
class Step:
    """A command, the output that the page shows, and how it may differ."""

    command: str
    shown: str
    differs: str


def steps(page: str) -> list[Step]:
    """The commands of a page, with the lines of a here-document.

    >>> steps("```console\\n$ cat <<'END'\\nx\\nEND\\nx\\n$ true\\n```")
    [Step(command="cat <<'END'\\nx\\nEND", shown='x', differs=''), Step(command='true', shown='', differs='')]
    """
    found = []
    for differs, block in _BLOCK.findall(page):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            first, _, rest = part.partition("\n")
            if here := re.search(r"<<'(\w+)'", first):
                document, _, rest = rest.partition(f"\n{here[1]}\n")
                first = f"{first}\n{document}\n{here[1]}"
            found.append(Step(first, rest.strip("\n"), differs))
    return found


def agree(shown: str, printed: str, differs: str = "") -> bool:
    """Whether what was printed is what the page shows.

    >>> agree("a 1.00\\n…", "a 1.001\\nmore\\n"), agree("a 1.00", "a 1.1"), agree("a 1", "a 27", "figures")
    (True, False, True)
    """
    kept = "\n".join(line.rstrip() for line in printed.splitlines() if not _NOT_COMPARED.match(line)).strip("\n")
    if differs == "words":
        return len(shown.splitlines()) == len(kept.splitlines())
    pattern = r"\s+".join(re.escape(word).replace("…", ".*") for word in _marked(shown).split())
    if not re.fullmatch(pattern, _marked(kept), re.DOTALL):
        return False
    return differs == "figures" or _are_near(shown.partition("…")[0], kept)


def _marked(text: str) -> str:
    """A text with a sign in the place of each number."""
    return _NUMBER.sub("#", text)


def _are_near(shown: str, printed: str) -> bool:
    """Whether the numbers shown are those printed first, within a percent."""
    pairs = zip(_NUMBER.findall(shown), _NUMBER.findall(printed), strict=False)
    return all(abs(_value(a) - _value(b)) <= 0.01 * abs(_value(a)) for a, b in pairs)


def _value(number: str) -> float:
    return float(number.replace(",", ""))


def walk(page: Path, folder: Path, programs: Path) -> list[str]:
    """Run the commands of a page in a folder; what differs from it."""
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "100"}
    wrong = []
    for step in steps(page.read_text(encoding="utf-8")):
        done = subprocess.run(
            ["bash", "-c", step.command], cwd=folder, env=environment, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, check=False,
        )  # fmt: skip
        if done.returncode or not agree(step.shown, done.stdout, step.differs):
            printed = f"printed (exit code {done.returncode}):\n{done.stdout}"
            wrong.append(f"$ {step.command}\nshown:\n{step.shown}\n{printed}")
    return wrong


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Run the commands of a page and compare their output with it.")
    parser.add_argument("page", type=Path)
    parser.add_argument("--bin", type=Path, default=Path(sys.executable).parent, help="Folder of gapgram and python.")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        differences = walk(options.page, Path(place), options.bin.resolve())
    sys.exit("\n\n".join(differences) or None)
