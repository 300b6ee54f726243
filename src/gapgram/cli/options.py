"""Options and habits that several commands share."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
IS_QUIET = "gapgram.is_quiet"  # among what click's contexts hold: whether the command was told to be quiet
quiet_option = click.option(
    "-q", "--quiet", is_flag=True, help="Hide progress and messages.",
    callback=lambda ctx, _, quiet: ctx.meta.setdefault(IS_QUIET, quiet),
)  # fmt: skip
threads_option = click.option("--threads", type=int, metavar="N", help="Number of threads.  [default: all cores]")


def _device_option(does: str) -> Callable[[Command], Command]:
    return click.option(
        "--device",
        type=click.Choice(["cpu", "cuda", "auto"]),
        default="cpu",
        show_default=True,
        help=f"{does} on the CPU, on a graphics card, or on a card if there is one.",
    )


device_option, training_device_option = _device_option("Score"), _device_option("Count, find classes and fit")
memory_option = click.option(
    "--memory",
    metavar="SIZE",
    help="Memory to use beside the program itself, such as 4G.  [default: half of the machine's]",
)
COMPILING = "compiling kernels for this machine (once, up to a minute) …"
model_argument = click.argument("model", type=click.Path())


tokens_option = click.option(
    "--tokens", is_flag=True, help="Read text that is cut into the model's tokens already, with blanks between them."
)


def text_options(training: bool) -> Callable[[Command], Command]:
    """--special and --invalid, with the default of training or of querying."""

    def add(command: Command) -> Command:
        command = click.option(
            "--invalid",
            type=click.Choice(["error", "replace"]),
            default="error",
            show_default=True,
            help="Treatment of bytes that are not UTF-8: stop, or replace them by U+FFFD.",
        )(command)
        return click.option(
            "--special",
            type=click.Choice(["error", "skip", "unk"]),
            default="error" if training else "unk",
            show_default=True,
            help="Treatment of <s>, </s> and <unk> in the text: stop, skip them, or read <unk> as an unknown word.",
        )(command)

    return add


def session_options(*, documents: bool = True) -> Callable[[Command], Command]:
    """--learn, --history and, if asked for, --documents: what makes a session of a model."""

    def add(command: Command) -> Command:
        if documents:
            command = click.option(
                "--documents", is_flag=True, help="Learn each document by itself; an empty line begins one."
            )(command)
        command = click.option(
            "--history", multiple=True, metavar="TEXT", help="Learn this text first, without scoring it."
        )(command)
        return click.option("--learn", is_flag=True, help="Learn each word once it was predicted.")(command)

    return add


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


def check_tokens(model: Any) -> None:
    """Refuse --tokens for a model that takes words."""
    from gapgram.errors import UsageError

    if model.tokeniser is None:
        raise UsageError("--tokens is for models that hold a tokeniser; this one takes words, as they are")


def on_card(model: Any, device: str, quiet: bool) -> Any:
    """The model on a graphics card; with `auto` on the CPU, and a line that says why, where there is none."""
    from gapgram.errors import GapgramError

    if device == "cuda":
        return model.on("cuda")
    try:
        return model.on("cuda")
    except GapgramError as missing:
        talk(f"{missing}; the CPU does the work", quiet)
        return model


def talk(message: str, quiet: bool = False) -> None:
    """Say something on stderr; where that cannot be written to, the work goes on without a word."""
    if not quiet:
        try:
            print(message, file=sys.stderr, flush=True)
        except OSError:
            sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - until the program ends


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    print(json.dumps(value, ensure_ascii=False, indent=2))


