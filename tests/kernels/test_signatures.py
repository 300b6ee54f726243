"""The table of signatures: it names the kernels that Python calls, with the kinds that they are called with."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
from compiler.signatures import BUNDLES, SIGNATURES, Array, Bundle, Kind, kinds_named, signatures, text_of
from tests.support.sample_kernels import ROOT, run_apart

import gapgram
from gapgram.kernels import compiled

SOURCES = Path(gapgram.__file__).parent
FOLDER = SOURCES / "kernels"
KERNELS = {
    ".".join(path.relative_to(FOLDER).with_suffix("").parts): ast.parse(path.read_text("utf-8"))
    for path in FOLDER.rglob("*.py")
}
DECORATORS = {"kernel", "inlined", "noinline", "brief"}
NAMED = {name.removeprefix("!") for name in SIGNATURES}


def kernels_in(tree: ast.Module) -> dict[str, set[str]]:
    """The kernels of a module, each with its decorators."""
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    found = {each.name: {name.id for name in each.decorator_list if isinstance(name, ast.Name)} for each in functions}
    return {name: decorators & DECORATORS for name, decorators in found.items() if decorators & DECORATORS}


ALL_KERNELS = {f"{module}.{name}": how for module, tree in KERNELS.items() for name, how in kernels_in(tree).items()}


def named_in(path: Path) -> set[str]:
    """All that a source names of modules of kernels, as folder.module.name."""
    nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    modules, found = {}, set()
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("gapgram.kernels"):
            within = (node.module or "").split(".")[2:]
            for each in node.names:
                modules[each.asname or each.name] = ".".join((*within, each.name))
                found.add(".".join((*within, each.name)))
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
            found.add(f"{modules[node.value.id]}.{node.attr}")
    return found


def test_the_table_names_kernels_that_exist() -> None:
    assert {*NAMED} - {*ALL_KERNELS} == set()


def test_the_table_knows_which_kernels_are_brief() -> None:
    marked = {name.removeprefix("!") for name in SIGNATURES if name.startswith("!")}
    assert marked == {name for name, decorators in ALL_KERNELS.items() if "brief" in decorators}


def test_each_kernel_that_other_modules_name_is_in_the_table() -> None:
    """But for those of graphics cards, where kernels are compiled from their sources."""
    paths = [path for path in SOURCES.rglob("*.py") if not {"kernels", "cuda"} & {*path.relative_to(SOURCES).parts}]
    named = set().union(*map(named_in, paths)) & {*ALL_KERNELS}
    assert len(named) > 100
    assert named - NAMED == set()


def test_each_kernel_of_the_table_is_called_by_other_modules_or_tests() -> None:
    folders = SOURCES, ROOT / "tests", ROOT / "benchmarks", ROOT / "fuzz", ROOT / "studies"
    paths = [path for folder in folders for path in folder.rglob("*.py") if FOLDER not in path.parents]
    assert NAMED - set().union(*map(named_in, paths)) == set()


def test_each_row_can_be_read_and_stands_for_its_own_kinds() -> None:
    found = signatures()
    assert len({each.symbol for each in found}) == len(found)
    assert len({(each.kernel, each.kinds) for each in found}) == len(found)
    assert {each.kernel for each in found} == NAMED
    for each in found:
        assert ", ".join(map(text_of, each.kinds)) == each.text


@pytest.mark.parametrize("word", ["integer", "int32", "int32[", "int32[]x", "float16[]", "none|", "Table"])
def test_a_word_that_is_no_kind_is_an_error(word: str) -> None:
    with pytest.raises(KeyError):
        kinds_named(word)


def test_words_of_the_table() -> None:
    assert kinds_named("int32[]|int64[:,:]|none") == (Array("int32", 1, False), Array("int64", 2, True), "none")
    fast, compact = kinds_named("Tables")
    assert isinstance(fast, Bundle)
    assert isinstance(compact, Bundle)
    packed = fast.fields.index("packed")
    assert (fast.kinds[packed], compact.kinds[packed]) == ("none", Array("uint64", 1, False))


def bundles_in(kinds: tuple[Kind, ...]) -> set[str]:
    """The names of all bundles in some kinds."""
    bundles = [kind for kind in kinds if isinstance(kind, Bundle)]
    return set().union({each.name for each in bundles}, *(bundles_in(each.kinds) for each in bundles))


def test_bundles_have_the_fields_of_their_classes() -> None:
    found = [node for tree in KERNELS.values() for node in tree.body if isinstance(node, ast.ClassDef)]
    classes = {
        node.name: [ast.unparse(item.target) for item in node.body if isinstance(item, ast.AnnAssign)]
        for node in found if "NamedTuple" in map(ast.unparse, node.bases)
    }  # fmt: skip
    fields = {name: [word.split(":", 1)[0] for word in words.split()] for name, words in BUNDLES.items()}
    assert {name: classes.get(name) for name in fields} == fields
    assert bundles_in(tuple(kind for each in signatures() for kind in each.kinds)) == {*BUNDLES}


@pytest.mark.skipif(compiled.MODE != "built", reason="Numba or Python calls the kernels")
def test_the_library_has_the_kernels_of_the_table() -> None:
    from gapgram import _kernels

    assert {*_kernels.kernels} == NAMED
    forms: dict[str, list[str]] = {name: [] for name in NAMED}
    for each in signatures():
        forms[each.kernel].append(each.text)
    assert {name: kernel.__doc__ for name, kernel in _kernels.kernels.items()} == {
        name: texts[0] for name, texts in forms.items()
    }


USES = """
import json, sys, warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from tests.support.corpora import toy_text
from tests.support.met_kinds import called, missing, note_calls
note_calls()
import gapgram
from gapgram.models.arpa.writing import as_backoff, write_arpa

warnings.simplefilter("ignore")
lines = toy_text(60, vocabulary=30)
with TemporaryDirectory() as folder:
    folder = Path(folder)
    for options in ({"model": "mkn"}, {"weights": "uniform", "layout": "compact"}, {"classes": 2}):
        model = gapgram.train(sentences=lines, order=3, threads=1, output=folder / "model", **options)
        model.score("w1 w2 w3")
        model.score_many(["w1 w2", "w2 w9"])
        model.predict(["w1"], 3)
        model.predict(["w1"], 3, prefix="w")
        model.explain("w2", ["w1"])
        state = model.begin_sentence()
        model.extend(state, "w1")
        session = model.session()
        session.read(lines[:3])
        session.score("w3 w4")
        session.predict(["w1"], 2)
        gapgram.load(folder / "model", verify=True)
    pruned = gapgram.train(sentences=lines, order=3, threads=1, model="mkn").pruned(keep=0.95)
    write_arpa(as_backoff(pruned), folder / "arpa")
    backoff = gapgram.load(folder / "arpa")
    backoff.score("w1 w2 w3")
    backoff.predict(["w1"], 2)
print(json.dumps([sorted(called), sorted(missing)]))
"""


def test_what_python_calls_kernels_with_is_in_the_table() -> None:
    called, missing = json.loads(run_apart(USES))
    assert missing == []
    assert len(called) > 60
