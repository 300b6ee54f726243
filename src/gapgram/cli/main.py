"""The `gapgram` command: finds a command by its name, runs it, and turns errors into sentences."""

from __future__ import annotations

import gc
import io
import os
import signal
import sys
import warnings
from difflib import get_close_matches
from importlib import import_module
from types import FrameType

import click

from gapgram.cli.commands import COMMANDS, GROUPS, MOVED
from gapgram.cli.options import talk
from gapgram.errors import GapgramError, UsageError
from gapgram.signature import __version__


class LazyGroup(click.Group):
    """A group whose commands are the modules of this package, imported when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All commands, in the order of their groups."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a module."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"gapgram.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Print the groups, each with its commands."""
        width = max(map(len, COMMANDS))
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), summary) for name, summary in commands.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is asked for; a name that is none is answered with the nearest ones."""
        name = args[0]
        if name in MOVED:
            raise click.UsageError(f"{name}: {MOVED[name]}", ctx)
        if name not in COMMANDS and not name.startswith("-"):
            nearest = get_close_matches(name, COMMANDS, n=3, cutoff=0.6)
            meant = f"; did you mean {' or '.join(nearest)}?" if nearest else ""
            raise click.UsageError(f"no such command {name!r}{meant}", ctx)
        return super().resolve_command(ctx, args)


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="gapgram")
@click.pass_context
def group(ctx: click.Context) -> None:
    """Train and use n-gram language models that may skip words.

    \b
        gapgram train TEXT -o MODEL
        gapgram perplexity MODEL OTHER_TEXT

    TEXT holds one sentence a line, its words separated by spaces. gapgram COMMAND --help explains a command.
    """
    if ctx.invoked_subcommand is None:
        print(ctx.get_help())


class _ClosedOutput(io.TextIOBase):
    """In the place of a standard output that is closed: takes what is printed, and remembers that there was any."""

    was_needed = False

    def write(self, text: str) -> int:
        """Take a text."""
        self.was_needed = True
        return len(text)


class _Stopped(BaseException):
    """Ctrl-C or another signal that ends the program, its number as argument; what is open is cleaned up."""


def main() -> None:
    """Run a command; a user's mistake is one to three lines on stderr and exit code 2."""
    for number in (signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
        if signal.getsignal(number) != signal.SIG_IGN:  # as under nohup
            signal.signal(number, _stop)
    warnings.showwarning = _show_warning
    _start_lightly()
    _open_closed_streams()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # words that the terminal cannot show
    try:
        group(prog_name="gapgram", standalone_mode=False)
        sys.stdout.flush()
        if isinstance(sys.stdout, _ClosedOutput) and sys.stdout.was_needed:
            raise UsageError("standard output is closed: what was to be printed is lost")
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)  # as click does where it meets a closed pipe first
    except BaseException as error:
        number, mistake = _signal_behind(error), _mistake(error)
        if number:
            _say(f"interrupted; {_kept(error) or 'nothing half-written was left behind'}")
            sys.exit(128 + number)
        if mistake is None:
            raise
        _say(mistake)
        sys.exit(2)


def _start_lightly() -> None:
    """Spend no time on what a command does not need.

    The library that NumPy multiplies matrices with starts a thread for each core, and these run in circles for a while;
    Python looks for garbage many times while modules are imported, and there is none.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.set_threshold(50_000, 20, 20)


def _open_closed_streams() -> None:
    """Let no later file take the place of standard streams that whoever started the program has closed."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free, which is this one
    if sys.stdout is None:
        sys.stdout = _ClosedOutput()
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - until the program ends


def _signal_behind(error: BaseException | None) -> int:
    """The signal that stopped the program, also where an import has wrapped it into an error of its own."""
    while error is not None and not isinstance(error, _Stopped):
        error = error.__cause__ or error.__context__
    return int(error.args[0]) if error is not None else 0


def _kept(error: BaseException | None) -> str | None:
    """What a run that was stopped has left for another to go on with."""
    while error is not None and not hasattr(error, "kept"):
        error = error.__cause__ or error.__context__
    return str(error.kept) if error is not None else None


def _mistake(error: BaseException) -> str | None:
    """What to tell the user; None where the mistake is ours."""
    if isinstance(error, click.ClickException):
        return _usage(error)
    if isinstance(error, GapgramError):
        return str(error)
    if isinstance(error, MemoryError):
        return "out of memory: use a smaller text, a lower order or a vocabulary limit"
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename else str(error)
    return None


def _usage(error: click.ClickException) -> str:
    message, ctx = error.format_message(), getattr(error, "ctx", None)
    asked = sys.argv[1] if len(sys.argv) > 1 and sys.argv[1] in COMMANDS else ""
    path = f"gapgram {asked}".strip() if ctx is None or ctx.parent is None else ctx.command_path
    return f"{message[:1].lower()}{message[1:]}\ntry: {path} --help"


def _say(message: str) -> None:
    talk(f"gapgram: {message}")


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    _say(f"warning: {message}")


def _stop(number: int, frame: FrameType | None) -> None:
    raise _Stopped(number)
