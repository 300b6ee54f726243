"""The `gapgram` command: finds commands by name, loads them when used, turns errors into sentences."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from importlib import import_module
from types import FrameType

import click

from gapgram.errors import GapgramError
from gapgram.signature import __version__

COMMANDS = ("demo", "train", "score", "perplexity", "compare", "info", "verify", "prepare", "split", "sample")


class LazyGroup(click.Group):
    """A group whose commands are the modules of this package, imported when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All commands, in the order a newcomer meets them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a module."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"gapgram.cli.{cmd_name}").command
        return command


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="gapgram")
def group() -> None:
    """n-gram language models that may skip words.

    Train a model on text with one sentence a line, then score text with it:

    \b
        gapgram train TEXT -o MODEL
        gapgram perplexity MODEL OTHER_TEXT
    """


def main() -> None:
    """Run a command; a user's mistake is one to three lines on stderr and exit code 2."""
    signal.signal(signal.SIGTERM, _stop)
    warnings.showwarning = _show_warning
    try:
        group(standalone_mode=False)
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except GapgramError as error:
        _say(str(error))
        sys.exit(2)
    except (KeyboardInterrupt, click.Abort):
        _say("interrupted; nothing half-written was left behind")
        sys.exit(130)
    except MemoryError:
        _say("out of memory: use a smaller text, a lower order or a vocabulary limit")
        sys.exit(2)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)


def _say(message: str) -> None:
    print(f"gapgram: {message}", file=sys.stderr)


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    _say(f"warning: {message}")


def _stop(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
