"""The library for C, and for WebAssembly: the kernels of queries and sessions, without Python.

    python -m compiler.library [PLATFORM …]    build/library/PLATFORM: shared, static, header; else of this machine
    python -m compiler.library wasm            build/library/wasm: gapgram.wasm, and one with numbers side by side
    python -m compiler.library address         build/library/address: with a sanitizer, for fuzzers; or thread

The page without a server has the latter in it, and the modules beside it: `python -m compiler` puts both into the
source tree where ziglang, which compiles C for WebAssembly, is installed.

`library/` has its sources. What Python has in tables, the rules of sections and what may be wrong with a file, becomes
a header here, with the table of kernels, so that both are written once.
"""

from __future__ import annotations

import json
import math
import shutil
import sys
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias

from llvmlite import binding as llvm

from compiler import build, optimise
from compiler.build import HERE, OBJECTS, ensure_objects
from compiler.groups import HOT, ROOT, Form, Group, groups
from compiler.memory import memory_module
from compiler.optimise import Processor
from compiler.platforms import (
    PLATFORMS,
    BuildError,
    Platform,
    checked_platform,
    compiler_for,
    library_name,
    this_platform,
)

SOURCES = ROOT / "library"
OUT = ROOT / "build" / "library"
WASM = {"gapgram": "", "gapgram-simd": "+simd128,+bulk-memory,+nontrapping-fptoint,+sign-ext"}  # what each may use
OF_PAGE = build.PACKAGE / "web" / "wasm"

# The kernels that the library calls, by what it calls them, and the kinds of arguments that choose among their forms.
_SMALL, _WIDE = "int32[]", "int64[]"
_BACKOFF = {1: _SMALL}
KERNELS: dict[str, tuple[str, dict[int, str]]] = {
    "fill_slots": ("text.words.fill_slots", {}),
    "find_word": ("text.words.find_word", {}),
    "fault_of_structure": ("tables.structure.fault_of_structure", {}),
    "fault_of_numbers": ("probability.soundness.fault_of_numbers", {}),
    "plan_of": ("probability.plan.plan_of", {}),
    "is_quick": ("probability.plan.is_quick", {}),
    "score_line": ("probability.query.score_line", {}),
    "score_sequences": ("probability.query.score_sequences", {}),
    "extend_32": ("probability.stepping.extend", {0: "int32[,]"}),
    "extend_64": ("probability.stepping.extend", {0: "int64[,]"}),
    "extend_one_32": ("probability.stepping.extend_one", {2: _SMALL}),
    "extend_one_64": ("probability.stepping.extend_one", {2: _WIDE}),
    "extend_chain_32": ("probability.stepping.extend_chain", {3: _SMALL}),
    "extend_chain_64": ("probability.stepping.extend_chain", {3: _WIDE}),
    "distribution": ("probability.successors.distribution", {}),
    "most_probable": ("topk.exact.most_probable", {}),
    "n_blocks": ("topk.exact.n_blocks", {}),
    "prefix_range": ("topk.completions.prefix_range", {}),
    "probabilities_of_range": ("topk.completions.probabilities_of_range", {}),
    "mix": ("probability.scores.mix", {}),
    "shares_of_last": ("probability.successors.shares_of_last", {}),
    "score_backoff_line": ("backoff.score.score_line", _BACKOFF),
    "score_positions": ("backoff.score.score_positions", {3: _SMALL}),
    "extend_backoff_32": ("backoff.grams.extend_one", _BACKOFF | {5: _SMALL}),
    "extend_backoff_64": ("backoff.grams.extend_one", _BACKOFF | {5: _WIDE}),
    "backoff_distribution": ("backoff.grams.distribution", {3: _SMALL}),
    "score_history": ("sessions.history.score_history", {}),
    "read_history": ("sessions.history.read_history", {}),
    "weigh_context": ("sessions.history.weigh_context", {}),
    "list_words": ("sessions.history.list_words", {}),
    "move_table": ("sessions.count_table.move_table", {}),
}


Chosen: TypeAlias = Sequence[tuple[str, list[tuple[Group, Form]]]]


def _chosen() -> Iterator[tuple[str, list[tuple[Group, Form]]]]:
    """Each name with its forms: for the fast layout and the compact one; or for children of 64 bits and of 32, with
    figures of 64 bits and then of 32."""
    from compiler.signatures import signatures, text_of

    forms = {(each.kernel, each.symbol): each for each in signatures()}
    all_groups = groups()
    for name, (kernel, wanted) in KERNELS.items():
        found = []
        for group in all_groups:
            for each in group.signatures:
                texts = [text_of(kind) for kind in forms[each.kernel, each.symbol].kinds]
                if each.kernel == kernel and all(texts[i] == kind for i, kind in wanted.items()):
                    found.append((group, Form(kernel, "", "", "", each.is_brief, each.symbol)))
        assert len(found) in (1, 2, 4), f"{name}: {len(found)} forms of {kernel}"
        yield name, found


def _groups_of(chosen: Chosen) -> list[Group]:
    return list({group.name: group for _, forms in chosen for group, _ in forms}.values())


def _table(chosen: Chosen, processors: Sequence[Processor]) -> str:
    """The table of kernels, [processor][layout], in C."""
    rows, symbols = [], set()
    for processor in range(2):
        for layout in range(4):
            row = []
            for _, forms in chosen:
                group, form = forms[min(layout, len(forms) - 1)]
                own = processors if group.name in HOT else processors[:1]
                row.append(f"{form.symbol}{own[min(processor, len(own) - 1)].ending}")
            symbols.update(row)
            rows.append(f"{{{', '.join(row)}}}")
    declared = "\n".join(f"code {symbol};" for symbol in sorted(symbols))
    two = (", ".join(rows[i : i + 4]) for i in (0, 4))
    return f"{declared}\nconst struct kernels gapgram_kernels[2][4] = {{{', '.join(f'{{{row}}}' for row in two)}}};\n"


def _header(names: Sequence[str]) -> str:
    """What the library takes from Python's tables."""
    from gapgram import sections
    from gapgram.estimation.history_weights import MOST_DISTANCE, VIEWS, VIEWS_OF_WORDS
    from gapgram.kernels.probability.soundness import FAULTS as OF_NUMBERS
    from gapgram.kernels.sessions import history_gate
    from gapgram.kernels.sessions.count_table import AGO
    from gapgram.kernels.sessions.history import MOST_OFFSETS, MOST_TIED
    from gapgram.kernels.tables import arrays
    from gapgram.kernels.tables.model_arrays import SECTIONS
    from gapgram.kernels.tables.structure import FAULTS as OF_STRUCTURE
    from gapgram.queries.history import MAX_WORDS, SENTENCES_PER_CALL
    from gapgram.queries.sequences import MOST_SEEN
    from gapgram.system import array_file

    model, backoff, mixture = list(sections.MODEL), list(sections.BACKOFF), list(sections.MIXTURE)
    of_model = [*arrays.Tables._fields, *SECTIONS]
    shapes = [sections.MODEL[name].shapes.split("|")[-1].split() for name in arrays.Tables._fields]
    n_table_words = sum(1 + len(shape) for shape in shapes)
    constants = {
        "FORMAT_VERSION": array_file.VERSION,
        **{f"KIND_{name}": getattr(array_file, name) for name in ("COUNTS", "MODEL", "BACKOFF", "SESSION", "MIXTURE")},
        **{name: getattr(arrays, name) for name in ("N_GRAMS", "N_COLUMNS", "NEAREST", "N_PACKED_COLUMNS")},
        "N_SECTIONS": len(model), "N_BACKOFF_SECTIONS": len(backoff),
        "N_MIXTURE_SECTIONS": len(mixture), "N_MODEL_SECTIONS": len(of_model),
        "N_TABLE_WORDS": n_table_words, "AGO": AGO, "MOST_OFFSETS": MOST_OFFSETS, "MOST_DISTANCE": MOST_DISTANCE,
        "MOST_HISTORY": MAX_WORDS, "MOST_SEEN": MOST_SEEN, "MOST_TIED": MOST_TIED,
        "SENTENCES_PER_CALL": SENTENCES_PER_CALL,
        "ROWS_OF_NO_VIEW": history_gate.n_history_rows(0), "ROWS_OF_VIEW": history_gate.SUMS + history_gate.FOLLOWERS,
        **{f"SECTION_{name}": i for i, name in enumerate(model)},
        **{f"BACKOFF_{name}": i for i, name in enumerate(backoff)},
        **{f"MIXTURE_{name}": i for i, name in enumerate(mixture)},
    }  # fmt: skip
    lines = [
        "/* Made by compiler/library.py from the tables of the Python package. */", "#ifndef GAPGRAM_GENERATED_H",
        "#define GAPGRAM_GENERATED_H", "#include <stdint.h>", "#include <math.h>",
        f"enum {{ {', '.join(f'{name} = {value}' for name, value in constants.items())} }};",
        "typedef int32_t code(const int64_t *arguments, int64_t *results);",
        f"struct kernels {{ code {', '.join(f'*{name}' for name in names)}; }};",
        "extern const struct kernels gapgram_kernels[2][4];",
        "struct rule { const char *name, *types, *shapes, *high_size, *rises_to;",
        "    double low, high; int optional, large; };",
        *(f"static const struct rule {name}_rules[] = {{{', '.join(_rules(rules))}}};" for name, rules in
          (("model", sections.MODEL), ("backoff", sections.BACKOFF), ("mixture", sections.MIXTURE))),
        f"static const int model_sections[] = {{{', '.join(f'SECTION_{name}' for name in of_model)}}};",
        *(f"static const char *const {name}_faults[] = {{{', '.join(map(json.dumps, faults))}}};" for name, faults in
          (("structure", OF_STRUCTURE), ("number", OF_NUMBERS))),
        "struct view { int32_t offsets[3], of_classes; double decay, boost; int32_t longest; };",
        *(f"static const struct view {name}[] = {{{', '.join(map(_view, views))}}};" for name, views in
          (("views_of_words", VIEWS_OF_WORDS), ("views_of_classes", VIEWS))),
        f"enum {{ N_VIEWS_OF_WORDS = {len(VIEWS_OF_WORDS)}, N_VIEWS_OF_CLASSES = {len(VIEWS)} }};",
        "extern const float gapgram_gate_of_words[], gapgram_gate_of_classes[];", "#endif", "",
    ]  # fmt: skip
    return "\n".join(lines)


def _rules(rules: object) -> Iterator[str]:
    from gapgram.system.section_rules import Rule

    assert isinstance(rules, dict)
    for name, rule in rules.items():
        assert isinstance(rule, Rule)
        low = "-INFINITY" if rule.low is None else repr(float(rule.low))
        high = repr(float(rule.high)) if isinstance(rule.high, int | float) else "INFINITY"
        texts = name, rule.types, rule.shapes, rule.high if isinstance(rule.high, str) else "", rule.rises_to or ""
        yield f"{{{', '.join(map(json.dumps, texts))}, {low}, {high}, {int(rule.optional)}, {int(rule.large)}}}"


def _view(view: object) -> str:
    from gapgram.estimation.history_weights import View

    assert isinstance(view, View)
    offsets = [*view.offsets, 0, 0, 0][:3]
    kept = f"{int(view.of_classes)}, {view.decay!r}, {view.boost!r}, {int(view.longest)}"
    return f"{{{{{', '.join(map(str, offsets))}}}, {kept}}}"


def _gates() -> str:
    """The weights that come with the program, of sessions of models that have none of their own."""
    import numpy as np

    lines = []
    for name in ("words", "classes"):
        numbers = np.load(ROOT / "src" / "gapgram" / "estimation" / f"history_{name}.npy").ravel()
        lines.append(f"const float gapgram_gate_of_{name}[] = {{{','.join(float(x).hex() + 'f' for x in numbers)}}};")
    return "\n".join([*lines, ""])


def _generate(folder: Path, chosen: Chosen, processors: Sequence[Processor]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "generated.h").write_text(_header([name for name, _ in chosen]), "utf-8")
    table = folder / "generated.c"
    table.write_text(f'#include "generated.h"\n{_table(chosen, processors)}{_gates()}', "utf-8")
    return table


def _flags(folder: Path) -> list[str]:
    warnings = ["-Wall", "-Wextra", "-Wno-unused-parameter", "-Wno-parentheses", "-Wno-unused-const-variable"]
    includes = [f"-I{path}" for path in (folder, SOURCES, HERE)]
    return ["-std=c11", "-g0", "-fvisibility=hidden", "-ffp-contract=off", *warnings, *includes]


def _sources(table: Path) -> list[Path]:
    return [*sorted(SOURCES.glob("*.c")), HERE / "runtime.c", table]


def build_library(target: Platform, *, native: bool) -> Path:
    """The library of a platform, shared and static, beside its header; returns its folder."""
    folder = OUT / (target.sanitizer or target.tag)
    chosen = list(_chosen())
    names = ensure_objects(target, _groups_of(chosen), sys.stderr)
    table = _generate(folder, chosen, target.processors)
    compiler, objects = compiler_for(target, native=native), []
    for source in _sources(table):
        made = folder / f"{source.stem}.o"
        flags = [*_flags(folder), "-O1" if target.sanitizer else "-O3", "-fPIC", *target.flags_of_c]
        build._run([*compiler, *flags, "-c", str(source), "-o", str(made)])
        objects.append(made)
    for group, name in names:
        objects += [build._object_path(name, each) for each in build.processors_of(group, target)]
    shared, static = folder / library_name(target), folder / "libgapgram.a"
    shared.unlink(missing_ok=True)
    static.unlink(missing_ok=True)
    build._run([*compiler, "-shared", "-o", str(shared), *map(str, objects), *target.libraries_of_c])
    archiver = ["ar"] if native and shutil.which("ar") else [sys.executable, "-m", "ziglang", "ar"]
    build._run([*archiver, "rcs", str(static), *map(str, objects)])
    shutil.copy(SOURCES / "gapgram.h", folder)
    return folder


def wasm_object(bitcode: bytes, symbols: set[str], features: str) -> bytes:
    """Code for WebAssembly of the functions named, and of what they call; few bytes matter more than speed."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    triple = "wasm32-unknown-wasi"
    target = llvm.Target.from_triple(triple)
    machine = target.create_target_machine(cpu="generic", features=features, opt=2, reloc="static")
    module = llvm.parse_bitcode(bitcode)
    module.triple, module.data_layout = triple, str(machine.target_data)
    for is_last in (False, True):
        if is_last:
            module.link_in(llvm.parse_assembly(memory_module()))
        optimise._hide_all_but(symbols, module)
        options = llvm.create_pipeline_tuning_options(2)
        options.slp_vectorization = options.loop_vectorization = options.loop_unrolling = False
        builder = llvm.create_pass_builder(machine, options)
        manager = builder.getModulePassManager()
        if not is_last:
            manager.add_refprune_pass()
        manager.run(module, builder)
    module.verify()
    made: bytes = machine.emit_object(module)
    return made


def build_wasm(modules: Sequence[str] = tuple(WASM)) -> Path:
    """Modules for WebAssembly, and what an npm package has beside them; returns their folder."""
    folder = OUT / "wasm"
    chosen = list(_chosen())
    names = ensure_objects(this_platform(), _groups_of(chosen), sys.stderr)
    table = _generate(folder, chosen, [Processor("", "")])
    zig = [*compiler_for(PLATFORMS["win_amd64"], native=False)[:-1], "wasm32-wasi"]
    for module in modules:
        features, objects = WASM[module], []
        for group, name in names:
            symbols = {form.symbol for _, forms in chosen for own, form in forms if own.name == group.name}
            made = OBJECTS / f"{name}.{module}.o"
            if not made.exists():
                build._write_aside(made, wasm_object((OBJECTS / f"{name}.bc").read_bytes(), symbols, features))
            objects.append(str(made))
        flags = [*_flags(folder), "-Oz", "-flto", "-mexec-model=reactor", *(["-msimd128"] if features else [])]
        exports = [f"-Wl,--export={name}" for name in ("malloc", "free", *_exported())]
        linked = ["-Wl,--no-entry", "-Wl,--gc-sections", "-Wl,--strip-all", "-Wl,-z,stack-size=262144", *exports]
        sources = [str(path) for path in _sources(table)]
        build._run([*zig, *flags, *sources, *objects, *linked, "-o", str(folder / f"{module}.wasm")])
    for path in (*(SOURCES / "wasm").iterdir(), ROOT / "LICENSE"):
        shutil.copy(path, folder)
    return folder


def build_for_page() -> bool:
    """Put what the page without a server has in it into the source tree; whether it was out of date and could be."""
    sources = [path for path in sorted([*SOURCES.rglob("*"), *HERE.glob("*.[chp]*")]) if path.is_file()]
    parts = [build._digest_of_kernels(), *(path.read_text("utf-8") for path in sources)]
    stamp, digest = OBJECTS / "page.built", build._digest_of(parts)
    made = ("gapgram.wasm", *(path.name for path in (SOURCES / "wasm").glob("*.mjs")))
    if all((OF_PAGE / name).exists() for name in made) and stamp.exists() and stamp.read_text() == digest:
        return False
    shutil.rmtree(OF_PAGE, ignore_errors=True)
    if find_spec("ziglang") is None:
        return False
    with build._alone(OBJECTS / "wasm.lock"):
        folder = build_wasm(["gapgram-simd"])
        OF_PAGE.mkdir(exist_ok=True)
        for name in made:
            source = folder / name.replace("gapgram.wasm", "gapgram-simd.wasm")
            build._write_aside(OF_PAGE / name, source.read_bytes())
        stamp.write_text(digest)
    return True


def _exported() -> list[str]:
    """The functions of the header but the one that opens a path."""
    import re

    found = re.findall(r"GAPGRAM_API [^;(]*?(gapgram_\w+)\(", (SOURCES / "gapgram.h").read_text("utf-8"))
    return [name for name in found if name != "gapgram_open"]


def main(wanted: Sequence[str]) -> None:
    """Build what is named."""
    for name in wanted or (this_platform().tag,):
        if name == "wasm":
            made = build_wasm()
        elif name in ("address", "thread"):
            made = build_library(checked_platform(name), native=True)
        elif name in PLATFORMS:
            made = build_library(PLATFORMS[name], native=name == this_platform().tag)
        else:
            raise BuildError(f"{name}: expected wasm, address, thread, or one of {', '.join(PLATFORMS)}")
        sys.stdout.write(f"{made.relative_to(ROOT)}: {_sizes(made)}\n")


def _sizes(folder: Path) -> str:
    files = (path for path in sorted(folder.iterdir()) if path.suffix in (".a", ".so", ".dylib", ".dll", ".wasm"))
    return ", ".join(f"{path.name} {math.ceil(path.stat().st_size / 1000):,} kB" for path in files)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (BuildError, OSError) as error:
        sys.exit(f"error: {error}")
