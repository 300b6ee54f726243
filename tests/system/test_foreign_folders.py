"""Folders that somebody else has filled: nothing in them is opened, loaded or run, and no pipe there is waited for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.running import HANGING_SECONDS

import gapgram

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pipes that have names and links are of POSIX")

PACKAGE = Path(gapgram.__file__).parent
# Where caches of machine code, bytecode, modules and settings usually lie, within any folder.
FOLDERS = (
    ".", "__pycache__", "gapgram", "gapgram/__pycache__", "gapgram/kernels", "gapgram/kernels/__pycache__",
    "gapgram/kernels-0123", ".cache", ".cache/gapgram/kernels-0123", ".cache/numba", "numba",
)  # fmt: skip
CODE = "import os\nopen(os.environ['EXECUTED'], 'a').write(__file__)\n"
NAMES = (
    "_kernels.abi3.so", "__init__.py", "kernels.py", "numpy.py", "click.py", "json.py", "sitecustomize.py",
    "usercustomize.py", "scoring.score_many-1.py311.nbi", "scoring.score_many-1.py311.1.nbc", "score_many.so",
    "score_many.o", "_kernels.cpython-311.pyc", "shipped.bin",
)  # fmt: skip
KINDS = ("files", "links", "pipes", "devices")
# What a command runs in: it notes what is opened and loaded, and at its end which machine code is mapped.
WATCHED = """
import json, os, sys

def watch(event, arguments, seen=set()):
    if event in ("open", "ctypes.dlopen", "import"):
        for value in arguments[:2]:
            if isinstance(value, (str, bytes)):
                seen.add(os.path.abspath(os.fsdecode(value)))
    return seen

sys.path[:1] = json.loads(os.environ["FIRST_ON_THE_PATH"])
sys.addaudithook(watch)
try:
    from gapgram.cli.main import main
    main()
finally:
    seen = watch("", ())
    loaded = [module.__file__ for module in list(sys.modules.values()) if getattr(module, "__file__", None)]
    if os.path.exists("/proc/self/maps"):
        lines = [line.split(maxsplit=5) for line in open("/proc/self/maps")]
        loaded += [line[5].strip() for line in lines if len(line) == 6 and "x" in line[1]]
    with open(os.environ["NOTED"], "w") as file:
        json.dump({"opened": sorted(seen), "loaded": sorted(loaded)}, file)
"""


def fill(folder: Path, kind: str, aim: Path) -> None:
    """Put what another user might into a folder: files, links to code, pipes that nobody writes, endless devices."""
    for within in FOLDERS:
        (folder / within).mkdir(parents=True, exist_ok=True)
        (folder / within).chmod(0o777)
        for name in NAMES:
            path = folder / within / name
            if kind == "files":
                path.write_text(CODE)
            elif kind == "links":
                path.symlink_to(aim)
            elif kind == "pipes":
                os.mkfifo(path)
            else:
                path.symlink_to("/dev/zero")


class Watched:
    """Commands in folders of another user's, and what they opened and loaded."""

    def __init__(self, own: Path, foreign: Path) -> None:
        self.own, self.foreign = own, foreign
        self.program = own / "bin" / "gapgram"
        self.program.parent.mkdir(parents=True)
        self.program.write_text(WATCHED)

    def run(self, *arguments: str, first_on_the_path: tuple[Path, ...] = ()) -> dict[str, list[str]]:
        """Run a command there; what it noted."""
        names = ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "NUMBA_CACHE_DIR", "TMPDIR")
        environment = {**os.environ, **dict.fromkeys(names, str(self.foreign))}
        path = [str(PACKAGE.parent), *filter(os.path.isabs, sys.path)]
        environment |= {
            "PYTHONPATH": os.pathsep.join(path),
            "PYTHONNOUSERSITE": "1",  # Python's own too: modules in the home
            "FIRST_ON_THE_PATH": json.dumps([str(folder) for folder in first_on_the_path]),
            "NOTED": str(self.own / "noted"),
            "EXECUTED": str(self.own / "executed"),
        }
        done = subprocess.run(
            [sys.executable, str(self.program), *arguments],
            env=environment, cwd=self.foreign, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=HANGING_SECONDS, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        noted: dict[str, list[str]] = json.loads((self.own / "noted").read_text())
        return noted


@pytest.mark.parametrize("kind", KINDS)
def test_commands_load_nothing_but_what_is_installed(tmp_path: Path, kind: str) -> None:
    own, foreign = tmp_path / "own", tmp_path / "foreign"
    watched = Watched(own, foreign)
    (own / "aim.py").write_text(CODE)
    fill(foreign, kind, own / "aim.py")
    (own / "text").write_text("the cat sat\nthe dog sat\n" * 9)
    planted = {str(path) for path in foreign.rglob("*") if not path.is_dir() or path.is_symlink()}
    assert len(planted) == len(FOLDERS) * len(NAMES)
    model, text = str(own / "m.model"), str(own / "text")
    for arguments in (["train", text, "-o", model, "-n", "3", "-q"], ["score", model, text], ["predict", model, "the"]):
        noted = watched.run(*arguments)
        assert any(path.startswith(str(PACKAGE / "cli")) for path in noted["loaded"])
        assert planted.isdisjoint(noted["opened"]), sorted(planted & set(noted["opened"]))
        assert not [path for path in noted["loaded"] if path.startswith((str(foreign), str(own / "aim")))]
    assert not (own / "executed").exists()
    assert {str(path) for path in foreign.rglob("*") if not path.is_dir() or path.is_symlink()} == planted


def test_the_watch_sees_what_is_loaded_from_there(tmp_path: Path) -> None:
    own, foreign = tmp_path / "own", tmp_path / "foreign"
    watched = Watched(own, foreign)
    foreign.mkdir()
    (foreign / "click.py").write_text(f"{CODE}raise SystemExit(0)\n")
    noted = watched.run("--version", first_on_the_path=(foreign,))
    assert str(foreign / "click.py") in noted["opened"]
    assert (own / "executed").exists()
