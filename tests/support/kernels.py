"""Kernels: which ones Python calls, as the sources have it, and as it is when something runs as plain Python."""

from __future__ import annotations

import ast
from pathlib import Path

import gapgram

COUNTING = {
    "build_tables.build_tables", "build_tables.place_piece", "distinct_rows.numbered",
    "gate.context_buckets", "keys.key_bits_of", "read_tables.counts_of_counts", "sorting.begins_of_spans",
    "sorting.count_left", "sorting.count_words", "sorting.newest_words",
    "sorting.place_words", "sorting.refine", "sorting.window_reach", "sorting.windows_at",
    "utf8.is_utf8", "word_order.first_bytes", "word_order.gathered", "word_order.order_of", "word_order.renumber",
    "word_order.sort_ties", "words.fill_slots", "words.learn_lines",
}  # fmt: skip
LEARNING = {
    "fitting.copy_sentences",
    "fitting.kept_positions", "fitting.leave_all_out", "fitting.log_prior_of", "fitting.sentence_hashes",
    "fitting.statistics_of", "descent.fit_batches", "descent.follow", "gradient.report_on",
    "lookup.availability", "build_tables.count_marked",
}  # fmt: skip

# A program's first lines: it then has the kernels that Python called in `called`. NUMBA_DISABLE_JIT must be set.
NOTE_CALLS = """
import sys
from functools import wraps
from gapgram.kernels import jit

called, own_kernel, own_bind = set(), jit.kernel, jit.BoundKernel.bind

def noting(function):
    made = own_kernel(function)

    @wraps(function)
    def call(*arguments):
        if not sys._getframe(1).f_globals["__name__"].startswith("gapgram.kernels."):
            called.add(f"{function.__module__.rpartition('.')[2]}.{function.__name__}")
        return made(*arguments)

    return call

def noting_bind(self, *arguments):
    called.add(self.name)
    return own_bind(self, *arguments)

jit.kernel, jit.BoundKernel.bind = noting, noting_bind
"""

_DECORATORS = {"kernel", "training_kernel", "apart", "inlined", "bound_first"}
_SOURCES = Path(gapgram.__file__).parent


def named_outside() -> set[str]:
    """The kernels that modules beside them name, but for those of graphics cards, which have kernels of their own."""
    kernels = {path.stem: _kernels_in(path) for path in (_SOURCES / "kernels").glob("*.py")}
    found = set()
    for path in _SOURCES.rglob("*.py"):
        if not {"kernels", "cuda"} & set(path.relative_to(_SOURCES).parts):
            found |= {f"{module}.{name}" for module, name in _named_in(path) if name in kernels.get(module, ())}
    return found


def _kernels_in(path: Path) -> set[str]:
    functions = [node for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, ast.FunctionDef)]
    return {node.name for node in functions if _DECORATORS & {_name_of(each) for each in node.decorator_list}}


def _name_of(decorator: ast.expr) -> str:
    named = decorator.func if isinstance(decorator, ast.Call) else decorator
    return named.id if isinstance(named, ast.Name) else ""


def _named_in(path: Path) -> set[tuple[str, str]]:
    """(module of kernels, name) of all that a source names of such modules."""
    nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    modules, found = {}, set()
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("gapgram.kernels"):
            within = (node.module or "").split(".")[2:]
            for each in node.names:
                if within:
                    found.add((within[0], each.name))
                else:
                    modules[each.asname or each.name] = each.name
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
            found.add((modules[node.value.id], node.attr))
    return found
