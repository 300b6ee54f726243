"""The house rules that a machine can check: maps are complete, names are single, functions short, docs run."""

from __future__ import annotations

import ast
import doctest
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import gapgram
from gapgram.cli.commands import COMMANDS
from gapgram.experiments.demo import reference_sentences

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
SOURCE, TESTS = ROOT / "src" / "gapgram", ROOT / "tests"
BESIDE = {Path("studies"), Path("reference")}  # the package
GENERATED = {ROOT / "docs" / "reference" / name for name in ("python.md", "commands.md")}  # by `make docs`
MAP = ROOT / "docs" / "ideas" / "architecture.md"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md"))]
MOST_LINES = 60  # of a function
MOST_LINES_OF_A_FILE = 400
MOST_LAYERS = 20

# Files that are longer, each one idea.
LONG_FILES = {
    "src/gapgram/kernels/probability/query.py": "a query, top to bottom",
    "src/gapgram/queries/language_model.py": "one class: all that a model of any kind can be asked",
    "src/gapgram/models/mixture.py": "a mixture, its weights, its states and its file",
    "src/gapgram/adapters/pyctcdecode.py": "one module, as that of the package it stands in for",
}

# Public classes that are called as other programs call them, or as what they are the twins of.
SAME_NAMES = {
    "Model": "KenLM's, in `adapters.kenlm`",
    "State": "KenLM's, in `adapters.kenlm`",
    "LanguageModel": "KenLM's, in `adapters.kenlm`",
    "Prediction": "the twin, in `reference.counts`",
}
# Blocks that need what no test machine has.
NOT_RUN = {"hdfs://": "a cluster's file system"}


def names_in(folder: Path) -> list[str]:
    """The modules and packages of a folder."""
    modules = [path.stem for path in folder.glob("*.py") if not path.name.startswith("__")]
    return sorted(modules + [path.parent.name for path in folder.glob("*/__init__.py")])


def trees(folder: Path) -> Iterator[tuple[str, ast.Module]]:
    """The files of a folder, parsed, by the path that a reader knows them by."""
    for path in sorted(folder.rglob("*.py")):
        yield str(path.relative_to(ROOT)), ast.parse(path.read_text(encoding="utf-8"))


def mentions(text: str, name: str) -> bool:
    return re.search(rf"(?<![\w-]){name}(?![\w-])", text) is not None


@pytest.mark.parametrize("package", sorted(str(p.parent.relative_to(SOURCE)) for p in SOURCE.glob("*/**/__init__.py")))
def test_a_package_says_what_lives_in_it(package: str) -> None:
    said = ast.get_docstring(ast.parse((SOURCE / package / "__init__.py").read_text(encoding="utf-8"))) or ""
    if package == "cli":
        said = " ".join([said, *COMMANDS])  # which have a summary each
    assert [name for name in names_in(SOURCE / package) if not mentions(said, name)] == []


def test_the_map_names_every_package() -> None:
    text = MAP.read_text(encoding="utf-8")
    assert [name for name in names_in(SOURCE) if not mentions(text, name)] == []


def test_names_of_modules_in_backticks_exist() -> None:
    known = {*names_in(SOURCE), "gapgram"}
    wrong = []
    for path in [*PAGES, *SOURCE.rglob("*.py")]:
        for name in re.findall(r"`([a-z_]\w*(?:\.\w+)+)(?:\(.*?\))?`", path.read_text(encoding="utf-8")):
            if name.split(".")[0] in known and not name.endswith(".py") and not exists(name):
                wrong.append(f"{path.relative_to(ROOT)}: {name}")
    assert wrong == []


def exists(name: str) -> bool:
    """Whether something of the package has this dotted name, seen from inside it or from outside."""
    parts = name.removeprefix("gapgram.").split(".")
    found: Any = gapgram
    for i, part in enumerate(parts):
        try:
            found = getattr(found, part)
        except AttributeError:
            try:
                found = import_module(".".join(["gapgram", *parts[: i + 1]]))
            except ImportError as error:
                return not str(error.name).startswith("gapgram")  # what it needs is not installed
    return True


def test_no_public_class_name_is_given_twice() -> None:
    homes = defaultdict(list)
    for path, tree in trees(SOURCE):
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(path)
    single = {*gapgram.__all__} - {*SAME_NAMES}
    assert {name: paths for name, paths in homes.items() if len(paths) > 1 and name in single} == {}


def test_functions_are_short() -> None:
    long = {}
    for path, tree in trees(SOURCE):
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and "/kernels/" not in path:
                body = node.body[int(ast.get_docstring(node) is not None) :] or node.body
                lines = int(node.end_lineno or 0) - body[0].lineno + 1  # without the arguments and the docstring
                if lines > MOST_LINES:
                    long[f"{path}: {node.name}"] = lines
    assert long == {}


@pytest.mark.parametrize("folder", ["src", "reference", "tests", "studies", "benchmarks", "examples", "fuzz"])
def test_a_long_file_has_a_reason(folder: str) -> None:
    lengths = {str(p.relative_to(ROOT)): len(p.read_text("utf-8").splitlines()) for p in (ROOT / folder).rglob("*.py")}
    assert {path: n for path, n in lengths.items() if n > MOST_LINES_OF_A_FILE and path not in LONG_FILES} == {}


def test_the_contract_of_imports_has_few_layers_and_is_told_as_it_is() -> None:
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    layers = [layer.split(" | ") for layer in tools["importlinter"]["contracts"][0]["layers"]]
    assert len(layers) <= MOST_LAYERS
    assert not any("ignore_imports" in contract for contract in tools["importlinter"]["contracts"])
    page = MAP.read_text(encoding="utf-8")
    told = re.findall(r"^    (\w+(?:  \w+)*)(?:   .*)?$", page.partition("`reference` stands beside")[0], re.MULTILINE)
    assert [names.split("  ") for names in told] == layers


def test_no_test_changes_a_constant() -> None:
    """A constant that is read when a function is defined, or no longer read at all, would not be noticed."""
    changed = [
        f"{path}:{node.lineno}: {name}"
        for path, tree in trees(TESTS)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign | ast.Call)
        for name in changed_names(node)
        if re.fullmatch(r"_?[A-Z][A-Z0-9_]*", name)
    ]
    assert changed == []


def changed_names(node: ast.Assign | ast.Call) -> list[str]:
    """The names of attributes that a statement or a patch sets."""
    if isinstance(node, ast.Assign):
        return [target.attr for target in node.targets if isinstance(target, ast.Attribute)]
    if isinstance(node.func, ast.Attribute) and node.func.attr == "setattr":
        texts = [a.value for a in node.args[:2] if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        return [text.rpartition(".")[2] for text in texts[:1]]
    return []


def test_folders_of_tests_are_those_of_the_source() -> None:
    folders = {path.parent.relative_to(TESTS) for path in TESTS.rglob("test_*.py")}
    assert [str(folder) for folder in sorted(folders) if folder not in BESIDE and not (SOURCE / folder).is_dir()] == []


# The documentation


def blocks_of(page: Path) -> list[tuple[int, str]]:
    """The blocks of Python on a page, and the line that each begins in."""
    text = page.read_text(encoding="utf-8")
    found = re.finditer(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [(text.count("\n", 0, block.start(1)), block[1]) for block in found]


def lacking(block: str) -> list[str]:
    """What a block needs and this machine does not have."""
    imported = [node for node in ast.walk(ast.parse(code_of(block))) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {alias.name for node in imported if isinstance(node, ast.Import) for alias in node.names}
    names |= {str(node.module) for node in imported if isinstance(node, ast.ImportFrom)}
    missing = [name for name in names if find_spec(name.split(".")[0]) is None]
    return [*missing, *(reason for sign, reason in NOT_RUN.items() if sign in block)]


def code_of(block: str) -> str:
    return "".join(e.source for e in doctest.DocTestParser().get_examples(block)) if ">>>" in block else block


@pytest.fixture(scope="module")
def readers_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the pages take for granted in the current folder: a text, another, and models of the first."""
    folder = tmp_path_factory.mktemp("reader")
    lines = reference_sentences()[:3000]
    (folder / "train.txt").write_text("\n".join([*lines[::2], ""]))
    (folder / "test.txt").write_text("\n".join([*lines[1::2], ""]))
    gapgram.train(folder / "train.txt", order=4, output=folder / "glm.model")
    gapgram.train(folder / "train.txt", order=4, model="mkn", output=folder / "mkn.model")
    return folder


@pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning")
@pytest.mark.parametrize("page", [p for p in PAGES if blocks_of(p)], ids=lambda p: str(p.relative_to(ROOT)))
def test_the_python_of_a_page_runs(page: Path, readers_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(readers_folder)
    names: dict[str, Any] = {}
    for line, block in blocks_of(page):
        if lacking(block):
            continue
        if ">>>" in block:
            example = doctest.DocTestParser().get_doctest(block, names, page.name, str(page), line)
            doctest.DebugRunner(optionflags=doctest.ELLIPSIS).run(example, clear_globs=False)
            names = example.globs
        else:
            exec(compile("\n" * line + block, str(page), "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_inside_the_repository_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    targets = [t for t in re.findall(r"\]\(([^)\s]+)\)", text) if not re.match(r"[a-z]+:", t)]
    assert [t for t in targets if not leads_somewhere(page, t)] == []


def leads_somewhere(page: Path, target: str) -> bool:
    """Whether a file is there, and a heading in it where one is named."""
    name, _, heading = target.partition("#")
    path = (page.parent / name).resolve() if name else page
    if not path.exists() or not heading:
        return path.exists() or path in GENERATED
    lines = path.read_text(encoding="utf-8").splitlines()
    slugs = [re.sub(r"[^\w\- ]", "", line.lstrip("# ").lower()).replace(" ", "-") for line in lines if line[:1] == "#"]
    return heading in slugs
