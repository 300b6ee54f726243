"""Options and habits that several commands share, and options that are described where a function is."""

from __future__ import annotations

import ast
import json
import os
import re
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

model_argument = click.argument("model", type=click.Path())


def option(*names: str, choices: Sequence[str] = (), **settings: Any) -> Callable[[Command], Command]:
    """An option of a command, whose help names its default, if it has one; `choices`: the only values it takes."""
    if choices:
        settings["type"] = click.Choice(choices)
    settings.setdefault("show_default", settings.get("default") not in (None, "", True, False))
    return click.option(*names, **settings)


def _special(default: str) -> Callable[[Command], Command]:
    does = "Treatment of <s>, </s> and <unk> in the text: stop, skip them, or read <unk> as an unknown word."
    return option("--special", choices=["error", "skip", "unk"], default=default, help=does)


_SHARED: dict[str, Callable[[Any], Any]] = {
    "json": option("--json", "as_json", is_flag=True, help="Print the result as JSON."),
    "quiet": option("-q", "--quiet", is_flag=True, help="Hide progress and messages."),
    "threads": option("--threads", type=int, metavar="N", help="Number of threads.  [default: all cores]"),
    "device": option(
        "--device", choices=["cpu", "cuda", "auto"], default="cpu",
        help="Score on the CPU, on a graphics card, or on a card if there is one.",
    ),
    "memory": option(
        "--memory", metavar="SIZE",
        help="Memory to use beside the program itself, such as 4G.  [default: half of the machine's]",
    ),
    "tokens": option(
        "--tokens", is_flag=True,
        help="Read text that is cut into the model's tokens already, with blanks between them.",
    ),
    "special": _special("unk"),
    "training special": _special("error"),
    "invalid": option(
        "--invalid", choices=["error", "replace"], default="error",
        help="Treatment of bytes that are not UTF-8: stop, or replace them by U+FFFD.",
    ),
    "learn": option("--learn", is_flag=True, help="Learn each word once it was predicted."),
    "history": option("--history", multiple=True, metavar="TEXT", help="Learn this text first, without scoring it."),
    "documents": option(
        "--documents", is_flag=True, help="Learn each document by itself; an empty line begins one."
    ),
}  # fmt: skip


def shared(*names: str) -> Callable[[Command], Command]:
    """Options that several commands have, by their names, in the order in which help lists them."""

    def add(command: Command) -> Command:
        for name in reversed(names):
            command = _SHARED[name](command)
        return command

    return add


class Described:
    """Makes options of what the docstring of a function says of its arguments: `Described("module:function")`.

    The docstring is read from the source, so that help needs none of what the function imports.
    """

    def __init__(self, where: str) -> None:
        module, _, name = where.partition(":")
        spec = find_spec(module)
        assert spec is not None and spec.origin is not None, module
        tree = ast.parse(Path(spec.origin).read_text("utf-8"))
        functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == name)
        entries = re.findall(r"^(\w+): (.*(?:\n +.*)*)", ast.get_docstring(next(functions)) or "", re.MULTILINE)
        self._told = {argument: " ".join(words.split()).replace("`", "") for argument, words in entries}

    def __call__(self, argument: str, *names: str, **settings: Any) -> Callable[[Command], Command]:
        """The option of an argument, called as that is where `names` have no long name."""
        text, _, usual = self._told[argument].partition("; by default ")
        usual = f"  [default: {usual.rstrip('.')}]" if usual else ""
        last = argument if any(name.startswith("--") for name in names) else f"--{argument.replace('_', '-')}"
        return option(*names, last, help=f"{text[0].upper()}{text[1:].rstrip('.')}.{usual}", **settings)


def open_reader(
    model: Any, *, learn: bool, history: tuple[str, ...], documents: bool = False, rules: Any = None
) -> Any:
    """A session of a model that has read a history; None where the model is to be asked as it is."""
    from gapgram.errors import UsageError

    if documents and not learn:
        raise UsageError("--documents says where learning begins anew: add --learn")
    if not learn and not history:
        return None
    session = model.session()
    if history:
        session.read_files(list(history), rules=rules)
    return session


def opened(path: str, *, device: str = "cpu", tokens: bool = False, quiet: bool = False) -> Any:
    """The model of a file, on a graphics card where one is asked for; `auto` says why it stays on the CPU.

    tokens: whether it is asked about text that is cut into its tokens already, which needs a tokeniser.
    """
    from gapgram.errors import GapgramError, UsageError
    from gapgram.models.open import load

    model = load(path, progress=not quiet)
    try:
        asked = model if device == "cpu" else model.on("cuda")
    except GapgramError as missing:
        if device == "cuda":
            raise
        talk(f"{missing}; the CPU does the work", quiet)
        asked = model
    if tokens and model.tokeniser is None:
        raise UsageError("--tokens is for models that hold a tokeniser; this one takes words, as they are")
    return asked


def talk(message: str, quiet: bool = False) -> None:
    """Say something on stderr; where that cannot be written to, the work goes on without a word."""
    if not quiet:
        try:
            print(message, file=sys.stderr, flush=True)
        except OSError:
            sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - until the program ends


def print_json(value: Any, *, err: bool = False) -> None:
    """Print a value as JSON; on stderr where a text takes standard output."""
    print(json.dumps(value, ensure_ascii=False, indent=2), file=sys.stderr if err else sys.stdout)


