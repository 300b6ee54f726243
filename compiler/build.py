"""The library built: object files of what changed, by all cores, then the table of kernels, then one library."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import re
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TextIO

from compiler import NUMBA
from compiler.groups import HOT, ROOT, Form, Group, groups
from compiler.optimise import Processor
from compiler.platforms import (
    BuildError,
    Platform,
    checked_platform,
    compiler_for,
    include_folders,
    library_of,
    this_platform,
)

HERE = Path(__file__).parent
OBJECTS = ROOT / "build" / "kernels"
PACKAGE = ROOT / "src" / "gapgram"
_FLAGS = ("-O3", "-g0", "-fPIC", "-std=c11", "-fvisibility=hidden", "-Wall", "-Werror=implicit-function-declaration")


def build(
    target: Platform, out: Path, *, native: bool, progress: TextIO | None = None, kernels: Sequence[Group] | None = None
) -> bool:
    """Build the library of a platform where it is out of date; whether it was.

    native: for this machine, with its own compiler and the headers of this Python.
    kernels: all of `gapgram.kernels`, or others.
    """
    OBJECTS.mkdir(parents=True, exist_ok=True)
    with _alone(OBJECTS / "lock"):
        wanted = _named(groups() if kernels is None else kernels, _versions(target))
        parts = [*(name for _, name in wanted), *_sources_of_c(), repr((target, native)), _digest_of_kernels()]
        digest = _digest_of(parts)
        stamp = OBJECTS / f"{target.tag}.{_digest_of([str(out)])}.built"
        if out.exists() and stamp.exists() and stamp.read_text() == f"{digest} {out.stat().st_mtime_ns}":
            return False
        _make_objects(_missing(wanted, target), target, progress)
        _link(wanted, target, out, digest, native=native)
        stamp.write_text(f"{digest} {out.stat().st_mtime_ns}")
        _forget_old({name for _, name in wanted})
    return True


def ensure_objects(target: Platform, some: Sequence[Group], progress: TextIO | None) -> list[tuple[Group, str]]:
    """Make the object files of some groups that are out of date; returns the groups and the names of their files."""
    OBJECTS.mkdir(parents=True, exist_ok=True)
    with _alone(OBJECTS / "lock"):
        wanted = _named(some, _versions(target))
        _make_objects(_missing(wanted, target), target, progress)
    return wanted


def _named(all_groups: Sequence[Group], versions: str) -> list[tuple[Group, str]]:
    """Groups and the names of their files, other ones where anything that these are made of is another one."""
    return [(group, f"{group.name}-{group.digest(versions)}") for group in all_groups]


def _missing(wanted: Sequence[tuple[Group, str]], target: Platform) -> list[tuple[Group, str]]:
    return [
        (group, name) for group, name in wanted
        if not all(_object_path(name, each).exists() for each in processors_of(group, target))
    ]  # fmt: skip


def _versions(target: Platform) -> str:
    versions = " ".join(f"{name} {_version(name)}" for name in ("numba", "llvmlite"))
    return f"{versions} bounds {target.sanitizer}" if target.sanitizer else versions


def _version(package: str) -> str:
    """The version of a package that a build needs; another Numba than the one that is known is refused."""
    try:
        found = version(package)
    except PackageNotFoundError:
        raise BuildError(f"{package} is missing, with which kernels are compiled: pip install numba=={NUMBA}") from None
    if package == "numba" and found != NUMBA:
        raise BuildError(f"Numba {found} is not the version that kernels are compiled with: pip install numba=={NUMBA}")
    return found


def _digest_of(parts: Sequence[str]) -> str:
    return hashlib.blake2b("\n".join(parts).encode(), digest_size=12).hexdigest()


def _digest_of_kernels() -> str:
    with _environment():  # in which no library is asked for
        from gapgram.kernels.compiled import digest_of_kernels
    return digest_of_kernels()


def _sources_of_c() -> list[str]:
    return [path.read_text("utf-8") for pattern in ("*.c", "*.h") for path in sorted(HERE.glob(pattern))]


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Wait until no other process builds here."""
    if sys.platform == "win32":
        yield
        return
    import fcntl

    with open(lock, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _make_objects(wanted: Sequence[tuple[Group, str]], target: Platform, progress: TextIO | None) -> None:
    """The object files of some groups, the ones that take longest first."""
    if not wanted:
        return
    began = time.monotonic()
    order = sorted(wanted, key=lambda each: -each[0].weight())
    n_steps = len(wanted) + sum(len(processors_of(group, target)) for group, _ in wanted)
    say, n_done = _progress(progress, n_steps), 0
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with _environment(bounds=bool(target.sanitizer)), ProcessPoolExecutor(
        min(cores, n_steps), multiprocessing.get_context("spawn"), initializer=_begin_worker
    ) as pool:
        say(0, "")
        waiting: dict[Future[None], tuple[Group, str, Processor | None]] = {
            pool.submit(translated, group, name): (group, name, None) for group, name in order
        }
        try:
            while waiting:
                for done in wait(waiting, return_when=FIRST_COMPLETED).done:
                    group, name, processor = waiting.pop(done)
                    done.result()
                    n_done += 1
                    say(n_done, group.name)
                    for each in processors_of(group, target) if processor is None else ():
                        waiting[pool.submit(optimised, name, each, target.sanitizer)] = group, name, each
        except BrokenProcessPool:
            raise BuildError(
                "a process that compiled kernels was ended, most likely for want of memory: each takes some 700 MB; "
                "close other programs, or build with fewer cores (taskset -c 0)"
            ) from None
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    if progress:
        print(f"kernels compiled in {time.monotonic() - began:.0f} s", file=progress, flush=True)


@contextmanager
def _environment(*, bounds: bool = False) -> Iterator[None]:
    """What processes that compile are to find: kernels as Numba has them, and no settings of somebody else's."""
    wanted = {"GAPGRAM_KERNELS": "numba", "NUMBA_DISABLE_JIT": "0", "NUMBA_OPT": "3"}
    wanted["NUMBA_BOUNDSCHECK"] = str(int(bounds))
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _progress(out: TextIO | None, n: int) -> Callable[[int, str], None]:
    if out is None:
        return lambda i, name: None
    if not out.isatty():
        return lambda i, name: None if i else print(f"compiling kernels in {n} steps …", file=out, flush=True)

    def say(i: int, name: str) -> None:
        print(f"\rcompiling kernels: {i} of {n} {name:<24}", end="" if i < n else "\n", file=out, flush=True)

    return say


def _begin_worker() -> None:
    sys.path[:0] = [path for path in (str(ROOT), str(ROOT / "src")) if path not in sys.path]
    import compiler.target  # noqa: F401  kernels that are imported from now on are for this target


def translated(group: Group, name: str) -> None:
    """What kernels of a group are in LLVM's language, and their part of the table."""
    from compiler.groups import translate

    bitcode, forms = translate(group)
    _write_aside(OBJECTS / f"{name}.bc", bitcode)
    _write_aside(OBJECTS / f"{name}.json", json.dumps(forms, indent=1).encode())


def optimised(name: str, processor: Processor, sanitizer: str = "") -> None:
    """The object file of a group for a processor."""
    from compiler import optimise, sanitize

    symbols = {Form(*row).symbol for row in json.loads((OBJECTS / f"{name}.json").read_bytes())}
    bitcode = (OBJECTS / f"{name}.bc").read_bytes()
    if sanitizer:
        made = sanitize.object_file(bitcode, symbols, processor, sanitizer)
    else:
        made = optimise.object_file(bitcode, symbols, processor)
    _write_aside(_object_path(name, processor), made)


def _object_path(name: str, processor: Processor) -> Path:
    return OBJECTS / f"{name}.{processor.triple}.{processor.name}.o"


def processors_of(group: Group, target: Platform) -> tuple[Processor, ...]:
    """What an object file is made for: hot ones for a newer processor, too, where the platform names one."""
    return target.processors if group.name in HOT else target.processors[:1]


def _write_aside(path: Path, content: bytes) -> None:
    aside = path.with_name(f"{path.name}.{os.getpid()}")
    aside.write_bytes(content)
    aside.replace(path)


def _table(forms: Sequence[tuple[Group, Form]], target: Platform, digest: str) -> str:
    """The table that `module.c` reads, in C."""
    classes: list[str] = []

    def number(found: re.Match[str]) -> str:
        if found[1] not in classes:
            classes.append(found[1])
        return "[" + chr(ord("0") + classes.index(found[1]))

    lines, symbols = [], []
    for group, form in forms:
        results = re.sub(r"\[([^;\[]+);", number, form.results)
        functions = [f"{form.symbol}{processor.ending}" for processor in processors_of(group, target)]
        symbols += functions
        texts = ", ".join(f'"{each}"' for each in (form.kernel, form.text, form.arguments, results))
        lines.append(f"    {{{texts}, {int(form.is_brief)}, {', '.join((*functions, '0')[:2])}}},")
    first, second = target.processors[0].name, target.processors[-1].name
    names = "".join(f'"{each}", ' for each in classes)
    return "\n".join([
        '#include "module.h"', *(f"code {symbol};" for symbol in symbols),
        "const struct form forms[] = {", *lines, "    {0},", "};", f"const char *const class_names[] = {{{names}0}};",
        f'const char sources[] = "{digest}", kernel_sources[] = "{_digest_of_kernels()}";',
        f'const char processor[] = "{first}", second_processor[] = "{second}";', "",
    ])  # fmt: skip


def _link(
    wanted: Sequence[tuple[Group, str]], target: Platform, out: Path, digest: str, *, native: bool
) -> None:
    """The library, written aside and renamed."""
    folder = OBJECTS / target.tag / _digest_of([str(out)])
    folder.mkdir(parents=True, exist_ok=True)
    forms = [
        (group, Form(*row)) for group, name in wanted for row in json.loads((OBJECTS / f"{name}.json").read_bytes())
    ]
    forms.sort(key=lambda each: each[1].kernel)  # the forms of a kernel follow each other
    table = folder / "table.c"
    table.write_text(_table(forms, target, digest), "utf-8")
    compiler = compiler_for(target, native=native)
    flags = [*_FLAGS, *target.flags, *(f"-I{path}" for path in (HERE, *include_folders()))]
    if native and sysconfig.get_config_var("Py_GIL_DISABLED"):
        flags.append("-DPy_GIL_DISABLED=1")  # asked for before Python.h is read, which defines it
    objects = []
    for source in (HERE / "module.c", HERE / "runtime.c", table):
        made = folder / f"{source.stem}.o"
        _run([*compiler, *flags, "-c", str(source), "-o", str(made)])
        objects.append(str(made))
    for group, name in wanted:
        objects += [str(_object_path(name, processor)) for processor in processors_of(group, target)]
    if target.library.endswith(".pyd"):
        objects.append(_import_library(folder))
    aside = out.with_name(f"{out.name}.{os.getpid()}")
    _run([*compiler, "-shared", "-o", str(aside), *objects, *target.libraries])
    aside.replace(out)


def _import_library(folder: Path) -> str:
    """What a library for Windows is linked with: the names in python3.dll that `module.c` asks for."""
    names = sorted(set(re.findall(rb"__imp_(\w+)", (folder / "module.o").read_bytes())))
    definitions, made = folder / "python3.def", folder / "python3.lib"
    definitions.write_bytes(b"\n".join([b"LIBRARY python3.dll", b"EXPORTS", *names, b""]))
    zig = [sys.executable, "-m", "ziglang", "dlltool"]
    _run([*zig, "-m", "i386:x86-64", "-d", str(definitions), "-l", str(made)])
    return str(made)


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"{command[0]} failed, and the kernels were not linked:\n{done.stderr.strip()[-3000:]}")


def _forget_old(kept: set[str]) -> None:
    """Remove object files that nothing was linked from for a month."""
    long_ago = time.time() - 30 * 24 * 3600
    for path in OBJECTS.glob("*-*.*"):
        if path.is_file() and path.name.split(".")[0] not in kept and path.stat().st_mtime < long_ago:
            path.unlink(missing_ok=True)


def build_here(progress: TextIO | None = None) -> bool:
    """Build the library for this machine into the source tree; whether it was out of date."""
    target = this_platform()
    return build(target, PACKAGE / library_of(target, native=True), native=True, progress=progress)


def build_checked(sanitizer: str, progress: TextIO | None = None) -> Path:
    """Build a library with bounds checks and a sanitizer, for `fuzz`; its place."""
    target = checked_platform(sanitizer)
    out = OBJECTS.parent / f"checked-{sanitizer}" / library_of(target, native=True)
    out.parent.mkdir(parents=True, exist_ok=True)
    build(target, out, native=True, progress=progress)
    return out
