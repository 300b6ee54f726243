"""The tool that builds the library of kernels: what it builds anew, and what it says where it cannot."""

from __future__ import annotations

import json
import os
import platform
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from compiler.build import build_here
from compiler.platforms import PLATFORMS, BuildError, Platform, checked_platform, compiler_for, this_platform
from tests.support.sample_kernels import LIBRARY, ROOT, Samples, build_apart, loaded, run_apart

from gapgram.kernels import compiled

only_built = pytest.mark.skipif(compiled.MODE != "built", reason="Numba or Python calls the kernels")
needs_script = pytest.mark.skipif(sys.platform == "win32", reason="a compiler that is a script of the shell")


@only_built
def test_what_has_not_changed_is_not_built_again(samples: Samples) -> None:
    before = LIBRARY.stat()
    assert samples.divided(1.0, 2.0) == 0.5
    assert not build_apart()
    assert (LIBRARY.stat().st_ino, LIBRARY.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@only_built
def test_a_library_that_was_changed_is_built_again(samples: Samples, tmp_path: Path) -> None:
    os.utime(LIBRARY)
    assert build_apart()
    assert not build_apart()
    copy = shutil.copy(LIBRARY, tmp_path)  # a library is loaded once
    assert loaded(Path(copy)).kernels["samples.halved"](4) == (2, 4)


# What depends on what

DIGESTS = """
import json
from compiler.groups import groups
print(json.dumps({group.name: group.digest("numba 1") for group in groups()}))
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources."""
    folder = tmp_path_factory.mktemp("tree")
    without = shutil.ignore_patterns("__pycache__", "*.so")
    for name in ("src", "compiler"):
        shutil.copytree(ROOT / name, folder / name, ignore=without)
    return folder


def changed_by(tree: Path, path: str, *, old: str = "", new: str = "\n# changed\n") -> set[str]:
    """The groups of kernels that a change of a source makes out of date."""
    source = tree / path
    before, text = json.loads(run_apart(DIGESTS, tree)), source.read_text("utf-8")
    assert old in text
    source.write_text(text.replace(old, new) if old else text + new, "utf-8")
    after = json.loads(run_apart(DIGESTS, tree))
    source.write_text(text, "utf-8")
    return {name for name in before if before[name] != after[name]}


def test_all_is_one_group_or_another(tree: Path) -> None:
    assert len(json.loads(run_apart(DIGESTS, tree))) > 10


@pytest.mark.parametrize(
    ("path", "changed", "unchanged"),
    [
        ("src/gapgram/kernels/classes/moving.py", {"classes"}, {"queries", "fitting", "sessions", "counting"}),
        ("src/gapgram/kernels/kenlm/lookup.py", {"kenlm"}, {"queries", "text", "counting"}),
        ("src/gapgram/kernels/tables/arrays.py", {"queries", "queries_compact", "fitting"}, {"kenlm", "classes"}),
        ("src/gapgram/queries/session.py", set(), {"sessions", "queries"}),
    ],
)
def test_a_change_makes_what_depends_on_it_out_of_date(
    tree: Path, path: str, changed: set[str], unchanged: set[str]
) -> None:
    found = changed_by(tree, path)
    assert changed <= found
    assert not found & unchanged


def test_a_change_of_the_compiler_makes_all_out_of_date(tree: Path) -> None:
    assert changed_by(tree, "compiler/kinds.py") == {*json.loads(run_apart(DIGESTS, tree))}


def test_a_change_of_a_signature_makes_its_own_group_out_of_date(tree: Path) -> None:
    path, row = "compiler/signatures.py", '"classes.exchange.objective": "ClassCounts"'
    assert changed_by(tree, path, old=row, new='"classes.exchange.objective": "int"') == {"classes"}


# What cannot be built

REFUSED = """
import json
import compiler.target
from compiler.groups import groups, translate

for table in json.loads({tables!r}):
    try:
        translate(groups("tests.kernels", table)[0])
    except TypeError as error:
        print(error)
"""


@only_built
def test_what_has_no_form_in_python_is_refused() -> None:
    tables = [
        {"samples.listed": "int"}, {"samples.with_gaps": "int"}, {"!samples.large": "int"}, {"samples.Inner": "int"},
        {"samples.N_BITS": "int"},
    ]  # fmt: skip
    program = "import os; os.environ['GAPGRAM_KERNELS'] = 'numba'" + REFUSED.format(tables=json.dumps(tables))
    assert run_apart(program).splitlines() == [
        "gapgram_samples_listed: kernels return numbers, arrays and tuples of these: found list(int64)<iv=None>",
        "gapgram_samples_with_gaps: kernels return arrays without gaps: found array(int64, 1d, A)",
        "gapgram_samples_large: brief kernels return no arrays but of int8: found array(uint8, 1d, C)",
        "samples.Inner is in the table of signatures and no kernel",
        "samples.N_BITS is in the table of signatures and no kernel",
    ]


def test_a_platform_that_nothing_is_built_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "sunos5")
    monkeypatch.setattr(platform, "machine", lambda: "sparc")
    with pytest.raises(BuildError) as caught:
        this_platform()
    assert str(caught.value).startswith("kernels cannot be built for sunos5 on sparc, only for manylinux_2_17_x86_64, ")
    assert str(caught.value).endswith("without them kernels run as plain Python (GAPGRAM_KERNELS=python)")


@pytest.mark.parametrize(
    ("system", "machine", "tag"),
    [
        ("linux", "x86_64", "manylinux_2_17_x86_64"),
        ("linux", "aarch64", "manylinux_2_17_aarch64"),
        ("darwin", "arm64", "macosx_11_0_arm64"),
        ("darwin", "x86_64", "macosx_11_0_x86_64"),
        ("win32", "AMD64", "win_amd64"),
    ],
)
def test_platforms(monkeypatch: pytest.MonkeyPatch, system: str, machine: str, tag: str) -> None:
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    assert this_platform().tag == tag


@pytest.fixture
def no_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)


@pytest.mark.usefixtures("no_compiler")
def test_without_a_compiler_one_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("compiler.platforms.find_spec", lambda name: None)
    with pytest.raises(BuildError) as caught:
        compiler_for(PLATFORMS["manylinux_2_17_x86_64"], native=True)
    assert str(caught.value) == (
        "no C compiler was found to link the kernels with: install one (gcc or clang), or name it in CC, or "
        "pip install ziglang"
    )


@pytest.mark.usefixtures("no_compiler")
@pytest.mark.parametrize("target", PLATFORMS.values(), ids=lambda target: target.tag)
def test_the_package_ziglang_is_taken_without_a_compiler(monkeypatch: pytest.MonkeyPatch, target: Platform) -> None:
    monkeypatch.setattr("compiler.platforms.find_spec", lambda name: name)
    command = compiler_for(target, native=True)
    assert command == [sys.executable, "-m", "ziglang", "cc", "-target", target.zig]


@needs_script
def test_a_sanitizer_needs_the_tools_of_its_llvm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(BuildError, match=r"a sanitizer needs clang-\d+, of the same LLVM as llvmlite"):
        checked_platform("address")


def test_a_compiler_may_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "sh -e")
    assert compiler_for(this_platform(), native=True) == ["sh", "-e"]


EMPTY = """
from pathlib import Path
from compiler.build import build
from compiler.platforms import BuildError, this_platform
try:
    print(build(this_platform(), Path({out!r}), native=True, kernels=[]))
except BuildError as error:
    print(error)
"""


@needs_script
def test_a_compiler_that_fails_leaves_the_older_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken, out = tmp_path / "broken-cc", tmp_path / "_kernels.abi3.so"
    broken.write_text("#!/bin/sh\necho 'module.c:1: error: no such header' >&2\nexit 1\n")
    broken.chmod(broken.stat().st_mode | stat.S_IEXEC)
    out.write_bytes(b"the older one")
    monkeypatch.setenv("CC", str(broken))
    said = run_apart(EMPTY.format(out=str(out)))
    assert said == f"{broken} failed, and the kernels were not linked:\nmodule.c:1: error: no such header\n"
    assert out.read_bytes() == b"the older one"
    assert sorted(path.name for path in tmp_path.iterdir()) == [out.name, broken.name]


@needs_script
def test_the_command_says_in_one_sentence_why_it_failed(tree: Path) -> None:
    program = "import sys; sys.platform = 'sunos5'; import runpy; runpy.run_module('compiler', run_name='__main__')"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tree, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": f"{tree}{os.pathsep}{tree / 'src'}", "GAPGRAM_KERNELS": "python"},
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.startswith("error: kernels cannot be built for sunos5 on ")
    assert len(done.stderr.splitlines()) == 1


def test_a_library_of_no_kernels_is_one(tmp_path: Path) -> None:
    out = tmp_path / "_kernels.abi3.so"
    assert run_apart(EMPTY.format(out=str(out))) == "True\n"
    assert run_apart(EMPTY.format(out=str(out))) == "False\n"
    assert loaded(out).kernels == {}


def test_what_is_no_library_is_not_loaded(tmp_path: Path) -> None:
    out = tmp_path / "_kernels.abi3.so"
    out.write_bytes(b"no library")
    with pytest.raises(ImportError):
        loaded(out)


# Wheels for other systems

MEANT_FOR_ONE = """
from importlib.metadata import version
from llvmlite import binding as llvm
from compiler.build import OBJECTS
from compiler.groups import groups
versions = " ".join(f"{name} {version(name)}" for name in ("numba", "llvmlite"))
for group in groups():
    module = llvm.parse_bitcode((OBJECTS / f"{group.name}-{group.digest(versions)}.bc").read_bytes())
    print(*(each.name for each in module.functions if each.is_declaration), sep="\\n")
"""


@only_built
def test_kernels_are_translated_for_all_systems_alike() -> None:
    called = set(run_apart(MEANT_FOR_ONE).split())
    assert {"NRT_incref", "llvm.log.f64", "gapgram_rest"} <= called
    assert not [name for name in called if name.startswith(("llvm.x86", "llvm.aarch64"))]


LINKED = """
from pathlib import Path
from compiler.build import build
from compiler.platforms import PLATFORMS
build(PLATFORMS[{tag!r}], Path({out!r}), native=False, kernels=[])
"""


@pytest.mark.parametrize(
    ("tag", "begins"),
    [
        ("manylinux_2_17_x86_64", b"\x7fELF"), ("manylinux_2_17_aarch64", b"\x7fELF"),
        ("macosx_11_0_arm64", b"\xcf\xfa\xed\xfe"), ("macosx_11_0_x86_64", b"\xcf\xfa\xed\xfe"), ("win_amd64", b"MZ"),
    ],
)  # fmt: skip
def test_a_library_for_any_system_is_linked_here(tag: str, begins: bytes, tmp_path: Path) -> None:
    pytest.importorskip("ziglang")
    out = tmp_path / PLATFORMS[tag].library
    run_apart(LINKED.format(tag=tag, out=str(out)))
    library = out.read_bytes()
    assert library.startswith(begins)
    assert b"PyInit__kernels" in library
    assert str(tmp_path).encode() not in library  # no name of this machine


def test_another_numba_is_refused_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("compiler.build.version", lambda package: "0.1.0")
    with pytest.raises(BuildError, match=r"^Numba 0\.1\.0 is not the version that kernels are compiled with: pip "):
        build_here()


@only_built
def test_a_kernel_that_catches_errors_is_refused() -> None:
    program = """
import os; os.environ["GAPGRAM_KERNELS"] = "numba"
import compiler.target
from compiler.groups import groups, translate
try:
    translate(groups("tests.kernels", {"samples.catching": "int"})[0])
except Exception as error:
    print("kernels do not catch errors" in str(error))
"""
    assert run_apart(program) == "True\n"
