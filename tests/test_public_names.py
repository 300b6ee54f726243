"""What `gapgram` exports: every name is there, is described, and is hidden by no module."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import gapgram

NAMES = [name for name in gapgram.__all__ if not name.startswith("_")]
FOLDER = Path(gapgram.__file__).parent


@pytest.mark.parametrize("name", gapgram.__all__)
def test_a_name_is_there(name: str) -> None:
    assert getattr(gapgram, name) is not None


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_described_in_the_docstring(name: str) -> None:
    lines = [line.strip() for line in str(gapgram.__doc__).splitlines()]
    assert any(line.startswith(f"{name} ") or f"{name}, " in line or f", {name} " in line for line in lines)


def test_type_checkers_see_the_same_names() -> None:
    tree = ast.parse((FOLDER / "__init__.pyi").read_text("utf-8"))
    seen = [str(alias.asname) for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    assert sorted(seen) == gapgram.__all__


def test_no_module_has_the_name_of_a_function() -> None:
    modules = {path.stem for path in FOLDER.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert not modules & set(NAMES)
    commands = {path.stem for path in (FOLDER / "cli").glob("*.py")} - {"classes"}  # a noun
    assert not modules & commands - {"__init__"}


def test_importing_the_package_imports_nothing_else() -> None:
    heavy = "('gapgram.', 'numpy', 'numba', 'click')"
    code = f"import sys, gapgram; dir(gapgram); print([m for m in sys.modules if m.startswith({heavy})])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'gapgram' has no attribute 'Predictor'"):
        gapgram.Predictor  # type: ignore[attr-defined] # noqa: B018


def test_a_release_has_one_version() -> None:
    root = FOLDER.parents[1]
    cited = re.search(r"^version: (\S+)$", (root / "CITATION.cff").read_text("utf-8"), re.MULTILINE)
    changed = re.search(r"^## (\S+)", (root / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert cited and changed
    assert cited[1] == changed[1] == gapgram.__version__
